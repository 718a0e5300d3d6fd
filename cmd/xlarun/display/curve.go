package display

import (
	"math"
	"strings"

	"xlarun/rollout/run"
)

// history holds a metric's values over a run in bounded memory. When it is full, each pair of neighbors becomes its
// mean, and each later entry averages twice as many values.
type history struct {
	kept  []float64
	every int // number of values in each entry of kept; 0 means 1
	sum   float64
	count int // number of values in sum
}

// maxHistory is the largest number of entries: more than a terminal has columns.
const maxHistory = 1024

func (h *history) add(x float64) {
	h.every = max(1, h.every)
	h.sum += x
	h.count++
	if h.count < h.every {
		return
	}
	h.kept = append(h.kept, h.sum/float64(h.count))
	h.sum, h.count = 0, 0
	if len(h.kept) < maxHistory {
		return
	}
	for i := range maxHistory / 2 {
		h.kept[i] = (h.kept[2*i] + h.kept[2*i+1]) / 2
	}
	h.kept = h.kept[:maxHistory/2]
	h.every *= 2
}

// values returns the entries, and the mean of the values after the last entry.
func (h *history) values() []float64 {
	if h.count == 0 {
		return h.kept
	}
	return append(h.kept[:len(h.kept):len(h.kept)], h.sum/float64(h.count))
}

// columns averages values into at most width means. lo and hi are the smallest and largest finite mean; lo > hi if
// there is none.
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

// Sparkline draws values as a row of at most width columns. If there are more values, each column is a mean. Values
// that are not finite leave a gap.
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
			// Halves, because hi-lo may overflow.
			part := (m/2 - lo/2) / (hi/2 - lo/2)
			b.WriteRune(levels[max(0, min(len(levels)-1, int(part*float64(len(levels)))))])
		}
	}
	return b.String()
}

// axis returns the values at the bottom and the top of a curve of a width: "9.2 to 484.2".
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
