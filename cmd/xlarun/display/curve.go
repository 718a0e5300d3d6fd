package display

import (
	"math"
	"strings"

	"xlarun/rollout/run"
)

// history is a metric's course, of bounded length however long the run: once it is full, neighbours become their mean,
// and from then on twice as many values become one.
type history struct {
	kept  []float64
	every int // values that become one of kept; 0 is 1
	sum   float64
	count int // of the values in sum
}

// most is the number of kept values: more than a terminal has columns.
const most = 1024

func (h *history) add(x float64) {
	h.every = max(1, h.every)
	h.sum += x
	h.count++
	if h.count < h.every {
		return
	}
	h.kept = append(h.kept, h.sum/float64(h.count))
	h.sum, h.count = 0, 0
	if len(h.kept) < most {
		return
	}
	for i := range most / 2 {
		h.kept[i] = (h.kept[2*i] + h.kept[2*i+1]) / 2
	}
	h.kept = h.kept[:most/2]
	h.every *= 2
}

// values are the kept ones and the mean of those that came since.
func (h *history) values() []float64 {
	if h.count == 0 {
		return h.kept
	}
	return append(h.kept[:len(h.kept):len(h.kept)], h.sum/float64(h.count))
}

// columns averages values into at most width of them, and gives the least and the greatest that is a number; lo > hi
// where none is.
func columns(values []float64, width int) (means []float64, lo, hi float64) {
	lo, hi = math.Inf(1), math.Inf(-1)
	means = make([]float64, max(0, min(width, len(values))))
	for c := range means {
		from, to := c*len(values)/len(means), (c+1)*len(values)/len(means)
		sum := 0.
		for _, v := range values[from:to] {
			sum += v
		}
		means[c] = sum / float64(to-from)
		if finite(means[c]) {
			lo, hi = min(lo, means[c]), max(hi, means[c])
		}
	}
	return means, lo, hi
}

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

// Sparkline draws values as a row of at most width columns; more values are averaged into fewer columns. Values that
// are not numbers leave a gap.
func Sparkline(values []float64, width int, style Style) string {
	levels := []rune("▁▂▃▄▅▆▇█")
	if !style.Unicode {
		levels = []rune("_.-=*#")
	}
	means, lo, hi := columns(values, width)
	var b strings.Builder
	for _, m := range means {
		switch {
		case !finite(m):
			b.WriteByte(' ')
		case hi == lo:
			b.WriteRune(levels[0])
		default:
			// Halves, because hi-lo may be more than a number can be.
			part := (m/2 - lo/2) / (hi/2 - lo/2)
			b.WriteRune(levels[max(0, min(len(levels)-1, int(part*float64(len(levels)))))])
		}
	}
	return b.String()
}

// axis says what the bottom and the top of a curve of that width stand for: "9.2 to 484.2".
func axis(values []float64, width int, f run.Format) string {
	_, lo, hi := columns(values, width)
	switch {
	case lo > hi:
		return ""
	case lo == hi:
		return number(lo, f)
	}
	from, to := number(lo, f), number(hi, f)
	if from == to {
		return to
	}
	return strings.TrimSuffix(from, " %") + " to " + to
}
