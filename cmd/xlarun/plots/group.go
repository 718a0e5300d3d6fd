package plots

import (
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"xlarun/cmd/xlarun/console"
	"xlarun/internal/chart"
	"xlarun/rollout/aggregate"
	"xlarun/rollout/run"
)

// group holds the runs of one experiment, which differ only in their seeds. It is drawn as one curve.
type group struct {
	label string
	runs  []*savedRun
}

// incidental lists the seed and the settings of how and where a run is computed and evaluated. By default they do not
// separate curves.
var incidental = []string{"seed", agentSetting, "xlarun", "kind_version", "devices", "memory", "tune", "tile",
	"batch-last", "unroll", "episode-batch", "vector-width", "backend", "plugin", "jit", "checkpoint-every", "keep",
	"tensorboard-axis", "eval-envs", "eval-every", "eval-episodes", "test-every"}

// lengths lists the settings that only end a run; so does run.Kind.Length. They separate runs that have the same
// settings and seed, if no run has other settings.
var lengths = []string{"for", "rounds", "total-steps", "target"}

// isLength reports whether a setting of a run only ends it.
func (r *savedRun) isLength(name string) bool {
	kind, ok := run.Lookup(r.kind)
	return slices.Contains(lengths, name) || ok && name == kind.Length
}

// value returns a setting that is set: neither empty nor a limit that is 0.
func (r *savedRun) value(name string) (value string, ok bool) {
	value = r.settings[name]
	if value == "0" && r.isLength(name) {
		value = ""
	}
	return value, value != ""
}

// groups groups the runs of a kind that have the same settings: the settings in by, or all except the incidental ones
// and the lengths. A label lists the settings in which the groups of a kind differ, after the kind if there are
// several. leftOut says of each run that does not count, why.
func groups(runs []*savedRun, by []string) (all []group, leftOut []string, err error) {
	names, kinds := map[string]bool{}, []string{}
	for _, r := range runs {
		for name := range r.settings {
			names[name] = len(by) == 0 && !slices.Contains(incidental, name) && !r.isLength(name)
		}
		if !slices.Contains(kinds, r.kind) {
			kinds = append(kinds, r.kind)
		}
	}
	for _, name := range by {
		if _, ok := names[name]; !ok {
			known := slices.Sorted(maps.Keys(names))
			return nil, nil, console.BadInput("--by got %q, wants settings of the runs%s: they have %s", name,
				console.DidYouMean(name, known), strings.Join(known, ", "))
		}
		names[name] = true
	}
	for _, kind := range kinds {
		some := slices.DeleteFunc(slices.Clone(runs), func(r *savedRun) bool { return r.kind != kind })
		found, out := groupsOf(some, names)
		if len(by) == 0 && len(found) == 1 && lengthsDiffer(some) {
			withLengths := maps.Clone(names)
			for name := range names {
				withLengths[name] = names[name] || some[0].isLength(name)
			}
			found, out = groupsOf(some, withLengths)
		}
		for _, g := range found {
			if len(kinds) > 1 {
				g.label = strings.TrimSuffix(kind+", "+g.label, ", ")
			}
			all = append(all, g)
		}
		for _, line := range out {
			if !slices.Contains(leftOut, line) { // another agent of the same run
				leftOut = append(leftOut, line)
			}
		}
	}
	return all, leftOut, nil
}

// kept returns the runs that count.
func kept(all []group) (runs []*savedRun) {
	for _, g := range all {
		runs = append(runs, g.runs...)
	}
	return runs
}

// lengthsDiffer reports whether two runs with the same settings and seed were given other lengths and ended at other
// steps.
func lengthsDiffer(runs []*savedRun) bool {
	for i, a := range runs {
		for _, b := range runs[:i] {
			if maps.Equal(a.experiment(), b.experiment()) && a.last() != b.last() &&
				slices.ContainsFunc(a.otherSettings(b), a.isLength) {
				return true
			}
		}
	}
	return false
}

// groupsOf groups runs of one kind by the settings whose names are true.
func groupsOf(runs []*savedRun, names map[string]bool) (out []group, leftOut []string) {
	differs := func(name string) bool {
		first, _ := runs[0].value(name)
		return slices.ContainsFunc(runs, func(r *savedRun) bool {
			value, _ := r.value(name)
			return value != first
		})
	}
	var differ []string
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if names[name] && differs(name) {
			differ = append(differ, name)
		}
	}
	for _, r := range runs {
		key := words(r, differ)
		i := slices.IndexFunc(out, func(g group) bool { return words(g.runs[0], differ) == key })
		if i < 0 {
			i, out = len(out), append(out, group{})
		}
		if line := out[i].add(r); line != "" {
			leftOut = append(leftOut, line)
		}
	}
	// A setting that only some runs have, or that belongs to another strategy, usually follows from another setting. It
	// is in the labels only if they would be equal without it.
	shared := slices.DeleteFunc(slices.Clone(differ), func(name string) bool {
		return slices.ContainsFunc(runs, func(r *savedRun) bool { _, found := r.value(name); return !found })
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
	return out, leftOut
}

// add adds a run. Of two runs of one experiment only the longer one is kept: counted twice, it would make the mean look
// more certain than it is. add says which one is left out.
func (g *group) add(r *savedRun) (leftOut string) {
	for i, other := range g.runs {
		if maps.Equal(other.experiment(), r.experiment()) {
			if r.last() > other.last() {
				g.runs[i], r, other = r, other, r
			}
			return r.leftOutFor(other)
		}
	}
	g.runs = append(g.runs, r)
	return ""
}

// leftOutFor says why a run is left out beside another one of the same experiment.
func (r *savedRun) leftOutFor(kept *savedRun) string {
	if filepath.Clean(r.dir) == filepath.Clean(kept.dir) {
		return r.dir + " is given twice and counts once"
	}
	text := fmt.Sprintf("%s left out: same settings and seed as %s", r.dir, kept.dir)
	if others := r.otherSettings(kept); len(others) > 0 {
		text += " except " + strings.Join(others, ", ")
	}
	if r.last() < kept.last() {
		text += fmt.Sprintf(", but only %g of %g %ss", r.last(), kept.last(), r.unit)
	}
	if metric := r.otherResult(kept); metric != "" {
		text += ", but other results (" + metric + ")"
	}
	return text
}

// otherSettings returns the settings in which two runs differ.
func (r *savedRun) otherSettings(other *savedRun) (names []string) {
	all := maps.Clone(r.settings)
	maps.Copy(all, other.settings)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		a, _ := r.value(name)
		if b, _ := other.value(name); a != b {
			names = append(names, name)
		}
	}
	return names
}

// otherResult returns the first metric of which two runs have different numbers at the same step; "" if none.
// Evaluations on other numbers of episodes are no different results.
func (r *savedRun) otherResult(other *savedRun) string {
	otherEpisodes := slices.ContainsFunc(r.otherSettings(other), func(name string) bool {
		return strings.HasPrefix(name, "eval-")
	})
	for _, metric := range r.metrics {
		theirs := other.columns[metric]
		if theirs == nil || otherEpisodes && strings.HasPrefix(metric, "eval_") {
			continue
		}
		at := map[float64]float64{}
		for i, row := range theirs.rows {
			at[other.steps[row]] = theirs.values[i]
		}
		for i, row := range r.columns[metric].rows {
			a := r.columns[metric].values[i]
			if b, ok := at[r.steps[row]]; ok && a != b && !(math.IsNaN(a) && math.IsNaN(b)) {
				return metric
			}
		}
	}
	return ""
}

// experiment returns the settings that determine a run's results, except how long it is.
func (r *savedRun) experiment() map[string]string {
	kept := map[string]string{}
	for name := range r.settings {
		value, ok := r.value(name)
		counts := name == "seed" || name == agentSetting || !slices.Contains(incidental, name)
		if ok && counts && !r.isLength(name) {
			kept[name] = value
		}
	}
	return kept
}

// words returns a run's values of settings as text.
func words(r *savedRun, names []string) string {
	var words []string
	for _, name := range names {
		if value, ok := r.value(name); ok {
			words = append(words, name+" "+value)
		}
	}
	return strings.Join(words, ", ")
}

// band is the interquartile mean of several runs over x, with its confidence interval where there are enough runs.
type band struct {
	x, center []float64
	low, high []float64       // nil of too few runs
	runs      [][]chart.Point // each run's own line, if there are too few for an interval
}

// maxBand is the largest number of points of a band.
const maxBand = 300

// curve returns the band of a group's runs at every x of any run from where all of them have begun, or at up to maxBand
// of them: a mean of those that have begun would jump where another one joins. A run is interpolated between its rows
// and keeps its last value after its last row.
func (g group) curve(x, y string) band {
	var b band
	type line struct{ x, y []float64 }
	var lines []line
	seen, begin := map[float64]bool{}, math.Inf(-1)
	for _, r := range g.runs {
		xs, ys := r.points(x, y)
		if len(xs) == 0 {
			continue
		}
		begin = max(begin, xs[0])
		lines = append(lines, line{xs, ys})
		for _, position := range xs {
			seen[position] = true
		}
	}
	maps.DeleteFunc(seen, func(position float64, _ bool) bool { return position < begin })
	positions := slices.Sorted(maps.Keys(seen))
	if len(lines) > 1 {
		positions = thinned(positions, maxBand)
	}
	for _, position := range positions {
		var values []float64
		for _, l := range lines {
			values = append(values, between(l.x, l.y, position))
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
