package plots

import (
	"maps"
	"math"
	"slices"
	"sort"
	"strings"

	"xlarun/cmd/xlarun/console"
)

// group holds the runs of one experiment, which differ only in their seeds. It is drawn as one curve.
type group struct {
	label string
	runs  []*savedRun
}

// incidental lists the seed and the settings of how and where a run is computed. By default they do not separate
// curves.
var incidental = []string{"seed", "xlarun", "kind_version", "devices", "memory", "tune", "tile", "batch-last", "unroll",
	"episode-batch", "vector-width", "backend", "plugin", "jit", "checkpoint-every", "keep", "tensorboard-axis"}

// groups groups the runs that have the same settings: the settings in by, or all except the incidental ones. A label
// lists the settings in which the groups differ.
func groups(runs []*savedRun, by []string) ([]group, error) {
	names := map[string]bool{}
	for _, r := range runs {
		for name := range r.settings {
			names[name] = len(by) == 0 && !slices.Contains(incidental, name)
		}
	}
	for _, name := range by {
		if _, ok := names[name]; !ok {
			known := slices.Sorted(maps.Keys(names))
			return nil, console.BadInput("--by got %q, wants settings of the runs%s: they have %s", name,
				console.DidYouMean(name, known), strings.Join(known, ", "))
		}
		names[name] = true
	}
	var differ []string
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if names[name] && slices.ContainsFunc(runs, func(r *savedRun) bool {
			return r.settings[name] != runs[0].settings[name]
		}) {
			differ = append(differ, name)
		}
	}
	var out []group
	for _, r := range runs {
		key := words(r, differ)
		i := slices.IndexFunc(out, func(g group) bool { return words(g.runs[0], differ) == key })
		if i < 0 {
			i, out = len(out), append(out, group{})
		}
		out[i].runs = withRun(out[i].runs, r)
	}
	// A setting that only some runs have usually follows from another one. It is in the labels only if they would be
	// equal without it.
	shared := slices.DeleteFunc(slices.Clone(differ), func(name string) bool {
		return slices.ContainsFunc(runs, func(r *savedRun) bool { _, found := r.settings[name]; return !found })
	})
	seen := map[string]bool{}
	for i, g := range out {
		out[i].label = words(g.runs[0], shared)
		seen[out[i].label] = true
	}
	if len(seen) < len(out) {
		for i, g := range out {
			out[i].label = words(g.runs[0], differ)
		}
	}
	return out, nil
}

// withRun adds a run to a group. Of two runs with equal results only the longer one is kept: counted twice, it would
// make the mean look more certain than it is.
func withRun(runs []*savedRun, r *savedRun) []*savedRun {
	for i, other := range runs {
		if maps.Equal(other.experiment(), r.experiment()) {
			if r.last() > other.last() {
				runs[i] = r
			}
			return runs
		}
	}
	return append(runs, r)
}

// experiment returns the settings that determine a run's results.
func (r *savedRun) experiment() map[string]string {
	kept := maps.Clone(r.settings)
	maps.DeleteFunc(kept, func(name, _ string) bool { return name != "seed" && slices.Contains(incidental, name) })
	return kept
}

// words returns a run's values of settings as text.
func words(r *savedRun, names []string) string {
	var words []string
	for _, name := range names {
		if value, ok := r.settings[name]; ok {
			words = append(words, name+" "+value)
		}
	}
	return strings.Join(words, ", ")
}

// band is a mean over x and its confidence interval.
type band struct {
	x, mean   []float64
	low, high []float64 // nil for a single run
}

// confidence is the level of the band around a mean.
const confidence = .95

// curve returns the mean over a group's runs, and its confidence interval by Student's t, at every x of any run. A run
// is interpolated between its rows, keeps its last value after its last row, and does not count before its first row.
func (g group) curve(x, y string) band {
	var b band
	type line struct{ x, y []float64 }
	var lines []line
	seen := map[float64]bool{}
	for _, r := range g.runs {
		xs, ys := r.points(x, y)
		if len(xs) == 0 {
			continue
		}
		lines = append(lines, line{xs, ys})
		for _, position := range xs {
			seen[position] = true
		}
	}
	for _, position := range slices.Sorted(maps.Keys(seen)) {
		var values []float64
		for _, l := range lines {
			if v := between(l.x, l.y, position); !math.IsNaN(v) {
				values = append(values, v)
			}
		}
		mean, half := interval(values)
		b.x, b.mean = append(b.x, position), append(b.mean, mean)
		if len(lines) > 1 {
			b.low, b.high = append(b.low, mean-half), append(b.high, mean+half)
		}
	}
	return b
}

// interval returns the mean of values and half the width of its confidence interval, which is 0 for a single value.
func interval(values []float64) (mean, half float64) {
	if len(values) == 1 {
		return values[0], 0
	}
	n := float64(len(values))
	for _, v := range values {
		mean += v / n
	}
	squares := 0.
	for _, v := range values {
		squares += (v - mean) * (v - mean)
	}
	deviation := math.Sqrt(squares / (n - 1))
	return mean, studentQuantile((1+confidence)/2, len(values)-1) * deviation / math.Sqrt(n)
}

// studentQuantile returns the quantile of Student's t distribution for a probability of at least one half.
func studentQuantile(probability float64, freedom int) float64 {
	low, high := 0., 1.
	for studentCDF(high, freedom) < probability {
		high *= 2
	}
	for range 60 { // to the precision of a float64
		if middle := (low + high) / 2; studentCDF(middle, freedom) < probability {
			low = middle
		} else {
			high = middle
		}
	}
	return high
}

// studentCDF returns the distribution function of Student's t at t >= 0: Abramowitz and Stegun, "Handbook of
// Mathematical Functions", 26.7.3 and 26.7.4.
func studentCDF(t float64, freedom int) float64 {
	angle := math.Atan(t / math.Sqrt(float64(freedom)))
	sin, cos := math.Sincos(angle)
	term, sum := 1., 0. // of the series in cos²
	if freedom%2 == 1 {
		term = cos
	}
	for k := 1 + freedom%2; k <= freedom; k += 2 {
		sum += term
		term *= cos * cos * float64(k) / float64(k+1)
	}
	inside := sin * sum // the probability of -t to t
	if freedom%2 == 1 {
		inside = 2 / math.Pi * (angle + sin*sum)
	}
	return (1 + inside) / 2
}

// between interpolates a line at x. It returns NaN before the first point, and the last value after the last point.
func between(xs, ys []float64, x float64) float64 {
	i := sort.SearchFloat64s(xs, x)
	switch {
	case i == len(xs):
		return ys[i-1]
	case xs[i] == x:
		return ys[i]
	case i == 0:
		return math.NaN()
	}
	part := (x - xs[i-1]) / (xs[i] - xs[i-1])
	return ys[i-1] + part*(ys[i]-ys[i-1])
}
