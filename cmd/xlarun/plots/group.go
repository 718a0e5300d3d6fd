package plots

import (
	"maps"
	"math"
	"slices"
	"sort"
	"strings"

	"xlarun/cmd/xlarun/console"
	"xlarun/internal/chart"
	"xlarun/rollout/aggregate"
)

// group holds the runs of one experiment, which differ only in their seeds. It is drawn as one curve.
type group struct {
	label string
	runs  []*savedRun
}

// incidental lists the seed and the settings of how and where a run is computed. By default they do not separate
// curves.
var incidental = []string{"seed", agentSetting, "xlarun", "kind_version", "devices", "memory", "tune", "tile",
	"batch-last", "unroll", "episode-batch", "vector-width", "backend", "plugin", "jit", "checkpoint-every", "keep",
	"tensorboard-axis", "eval-envs", "eval-every"}

// groups groups the runs of a kind that have the same settings: the settings in by, or all except the incidental ones.
// A label lists the settings in which the groups of a kind differ, after the kind if there are several.
func groups(runs []*savedRun, by []string) (all []group, err error) {
	names, kinds := map[string]bool{}, []string{}
	for _, r := range runs {
		for name := range r.settings {
			names[name] = len(by) == 0 && !slices.Contains(incidental, name)
		}
		if !slices.Contains(kinds, r.kind) {
			kinds = append(kinds, r.kind)
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
	for _, kind := range kinds {
		some := slices.DeleteFunc(slices.Clone(runs), func(r *savedRun) bool { return r.kind != kind })
		for _, g := range groupsOf(some, names) {
			if len(kinds) > 1 {
				g.label = strings.TrimSuffix(kind+", "+g.label, ", ")
			}
			all = append(all, g)
		}
	}
	return all, nil
}

// groupsOf groups runs of one kind by the settings whose names are true.
func groupsOf(runs []*savedRun, names map[string]bool) (out []group) {
	var differ []string
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if names[name] && slices.ContainsFunc(runs, func(r *savedRun) bool {
			return r.settings[name] != runs[0].settings[name]
		}) {
			differ = append(differ, name)
		}
	}
	for _, r := range runs {
		key := words(r, differ)
		i := slices.IndexFunc(out, func(g group) bool { return words(g.runs[0], differ) == key })
		if i < 0 {
			i, out = len(out), append(out, group{})
		}
		out[i].runs = withRun(out[i].runs, r)
	}
	// A setting that only some runs have, or that belongs to another strategy, usually follows from another setting. It
	// is in the labels only if they would be equal without it.
	shared := slices.DeleteFunc(slices.Clone(differ), func(name string) bool {
		return slices.ContainsFunc(runs, func(r *savedRun) bool { _, found := r.settings[name]; return !found })
	})
	first := slices.DeleteFunc(slices.Clone(shared), func(name string) bool {
		part, _, found := strings.Cut(name, ".")
		return found && slices.Contains(differ, part)
	})
	for _, names := range [][]string{first, shared, differ} {
		seen := map[string]bool{}
		for i, g := range out {
			out[i].label = words(g.runs[0], names)
			seen[out[i].label] = true
		}
		if len(seen) == len(out) {
			break
		}
	}
	return out
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
	maps.DeleteFunc(kept, func(name, _ string) bool {
		return name != "seed" && name != agentSetting && slices.Contains(incidental, name)
	})
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

// band is the interquartile mean of several runs over x, with its confidence interval where there are enough runs.
type band struct {
	x, center []float64
	low, high []float64       // at the last len(low) of x: once enough runs have begun
	runs      [][]chart.Point // each run's own line, if there are too few for an interval
}

// maxBand is the largest number of points of a band.
const maxBand = 300

// curve returns the band of a group's runs at every x of any run, or at up to maxBand of them. A run is interpolated
// between its rows, keeps its last value after its last row, and does not count before its first row.
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
	positions := slices.Sorted(maps.Keys(seen))
	if len(lines) > 1 {
		positions = thinned(positions, maxBand)
	}
	for _, position := range positions {
		var values []float64
		for _, l := range lines {
			if v := between(l.x, l.y, position); !math.IsNaN(v) {
				values = append(values, v)
			}
		}
		if len(values) == 0 { // the first point of the run is left out
			continue
		}
		all, err := aggregate.Intervals(aggregate.Of(values), aggregate.Options{}, aggregate.IQM)
		if err != nil { // no values
			continue
		}
		b.x, b.center = append(b.x, position), append(b.center, all[0].Point)
		if !math.IsNaN(all[0].Low) {
			b.low, b.high = append(b.low, all[0].Low), append(b.high, all[0].High)
		}
	}
	if len(lines) > 1 && len(lines) < aggregate.LeastRuns {
		for _, l := range lines {
			b.runs = append(b.runs, xys(l.x, l.y))
		}
	}
	return b
}

// thinned returns at most n of sorted numbers, evenly, the first and the last among them.
func thinned(x []float64, n int) []float64 {
	if len(x) <= n {
		return x
	}
	out := make([]float64, n)
	for i := range out {
		out[i] = x[i*(len(x)-1)/(n-1)]
	}
	return out
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
