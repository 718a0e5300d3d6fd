package plots

import (
	"maps"
	"math"
	"slices"
	"sort"
	"strings"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"xlarun/cmd/xlarun/console"
)

// group is the runs of one experiment, which differ in their seeds: one curve.
type group struct {
	label string
	runs  []*savedRun
}

// besides are settings that say how or where a run is computed, and which of several equal ones it is.
var besides = []string{"seed", "xlarun", "kind_version", "devices", "memory", "tune", "tile", "lanes-last", "unroll", "vector-width", "backend", "plugin", "jit",
	"checkpoint-every", "keep"}

// groups puts the runs together that have the same settings: those named by, or all but besides. A label says in which
// settings the groups differ.
func groups(runs []*savedRun, by []string) ([]group, error) {
	names := map[string]bool{}
	for _, r := range runs {
		for name := range r.settings {
			names[name] = len(by) == 0 && !slices.Contains(besides, name)
		}
	}
	for _, name := range by {
		if _, ok := names[name]; !ok {
			known := slices.Sorted(maps.Keys(names))
			return nil, console.BadInput("--by got %q, wants settings of the runs%s: they have %s", name, console.DidYouMean(name, known), strings.Join(known, ", "))
		}
		names[name] = true
	}
	var differ []string
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if names[name] && slices.ContainsFunc(runs, func(r *savedRun) bool { return r.settings[name] != runs[0].settings[name] }) {
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
	// What only some of the runs have goes with another setting: it is named only where that does not tell them apart.
	shared := slices.DeleteFunc(slices.Clone(differ), func(name string) bool {
		return slices.ContainsFunc(runs, func(r *savedRun) bool { _, has := r.settings[name]; return !has })
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

// withRun adds a run to those of a group. Of two that differ in nothing but where they were computed the longer one counts: twice it
// would make the mean look more certain than it is.
func withRun(runs []*savedRun, r *savedRun) []*savedRun {
	for i, other := range runs {
		if maps.Equal(other.itself(), r.itself()) {
			if r.last() > other.last() {
				runs[i] = r
			}
			return runs
		}
	}
	return append(runs, r)
}

// itself are the settings that a run's numbers follow from.
func (r *savedRun) itself() map[string]string {
	own := maps.Clone(r.settings)
	maps.DeleteFunc(own, func(name, _ string) bool { return name != "seed" && slices.Contains(besides, name) })
	return own
}

// words are a run's values of settings, for people.
func words(r *savedRun, names []string) string {
	var words []string
	for _, name := range names {
		if value, ok := r.settings[name]; ok {
			words = append(words, name+" "+value)
		}
	}
	return strings.Join(words, ", ")
}

// band is a curve with what its mean is uncertain by.
type band struct {
	x, mean   []float64
	low, high []float64 // the mean's confidence interval; nil of a single run
}

// confidence of the band around a mean.
const confidence = .95

// curve is the mean over a group's runs, and its interval of confidence by Student's t, at every x that one of them has. Between
// its rows a run is taken for straight; one that ended earlier counts on with its last value, as one that reached its goal
// would; before its first row it does not count.
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
		for _, at := range xs {
			seen[at] = true
		}
	}
	for _, at := range slices.Sorted(maps.Keys(seen)) {
		var values []float64
		for _, l := range lines {
			if v := between(l.x, l.y, at); !math.IsNaN(v) {
				values = append(values, v)
			}
		}
		mean, half := interval(values)
		b.x, b.mean = append(b.x, at), append(b.mean, mean)
		if len(lines) > 1 {
			b.low, b.high = append(b.low, mean-half), append(b.high, mean+half)
		}
	}
	return b
}

// interval is the mean of values and half the width of its interval of confidence; 0 for a single value.
func interval(values []float64) (mean, half float64) {
	if len(values) == 1 {
		return values[0], 0
	}
	mean, deviation := stat.MeanStdDev(values, nil)
	n := float64(len(values))
	t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: n - 1}.Quantile((1 + confidence) / 2)
	return mean, t * deviation / math.Sqrt(n)
}

// between is the value of a line at x: NaN before its first point, the last value behind its last.
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
