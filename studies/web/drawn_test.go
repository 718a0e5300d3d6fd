package web

import (
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"xlarun/studies"
	"xlarun/studies/rdb"
	"xlarun/studies/study"
)

// optunas is a page of a study that Optuna wrote (third_party/oracles/optuna_study.py).
func optunas(t *testing.T, name string) *Page {
	t.Helper()
	packed, err := os.Open("../rdb/testdata/optuna.db.gz")
	require.NoError(t, err)
	z, err := gzip.NewReader(packed)
	require.NoError(t, err)
	data, err := io.ReadAll(z)
	require.NoError(t, errors.Join(err, packed.Close()))
	path := filepath.Join(t.TempDir(), "optuna.db")
	require.NoError(t, os.WriteFile(path, data, 0o666))
	return opened(t, path, name, study.Options{}, nil)
}

// opened is a page of a study in a database, after more is done to it.
func opened(t *testing.T, path, name string, o study.Options, more func(*study.Study)) *Page {
	t.Helper()
	d, err := rdb.Open(path)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, d.Close()) })
	if o.Directions == nil {
		_, all, err := d.Studies()
		require.NoError(t, err)
		o.Directions = all[name]
	}
	if o.Storage = d; o.Sampler == nil {
		o.Sampler = study.Random{}
	}
	st, err := study.New(name, o)
	require.NoError(t, err)
	if more != nil {
		more(st)
	}
	p, err := Open(loopback, d, st, nil, nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	return p
}

// with is a page of a study of finished trials.
func with(t *testing.T, d study.Direction, trials ...*study.FrozenTrial) *Page {
	t.Helper()
	return opened(t, filepath.Join(t.TempDir(), "a.db"), "a study", study.Options{Directions: []study.Direction{d}},
		func(st *study.Study) {
			require.NoError(t, st.Storage().(*rdb.DB).Add(st.ID(), -1, trials...))
		})
}

// marks counts what is drawn in a picture, by class.
func (e *element) marks() map[string]int {
	counts := map[string]int{}
	for _, x := range e.all("") {
		if class := x.Attrs["class"]; class != "" && class != "axis" && class != "name" {
			counts[class]++
		}
	}
	return counts
}

// points returns the points of a path: those of M and L.
func points(d string) (all [][2]float64) {
	for _, at := range strings.FieldsFunc(d, func(r rune) bool { return r == 'M' || r == 'L' }) {
		var p [2]float64
		if n, _ := fmt.Sscanf(at, "%g %g", &p[0], &p[1]); n == 2 {
			all = append(all, p)
		}
	}
	return all
}

// notes returns the notes below a picture.
func notes(e *element) []string { return append(texts(e.class("note")), texts(e.class("empty"))...) }

// TestOptunasStudyIsDrawn runs the page's scripts on a study that Optuna wrote.
func TestOptunasStudyIsDrawn(t *testing.T) {
	w := load(t, optunas(t, "all kinds"))
	page := w.good()
	require.Equal(t, "all kinds · xlarun", page.all("title")[0].text())
	require.Equal(t, []string{"8trials", "4complete", "1pruned", "1failed", "1under way", "1waiting",
		"+infbest objective 0, trial 4", "369 msa trial, on average", "7by other programs"},
		texts(page.class("tile")))
	history := page.id(t, "history")
	require.Equal(t, map[string]int{"complete": 4, "pruned": 1, "failed": 1, "running": 1, "best": 1},
		history.plot(t).marks())
	x, y := history.plot(t).ticks()
	require.Equal(t, []string{"0", "1", "2", "3", "4", "5", "6", "7"}, x)
	require.Equal(t, []string{"-1", "-0.8", "-0.6", "-0.4", "-0.2"}, y)
	require.Equal(t, []string{"1 value lies far out and is drawn at the border."}, notes(history))

	curves := page.id(t, "curves").plot(t)
	require.Equal(t, map[string]int{"trial": 3, "trial first": 1, "trial off": 2}, curves.marks())
	x, y = curves.ticks()
	require.Equal(t, []string{"0", "1", "2", "3"}, x)
	require.Equal(t, []string{"-1", "-0.5", "0", "0.5", "1"}, y)
	require.Equal(t, []string{"From 10 complete trials on."}, notes(page.id(t, "importances")))

	parallel := page.id(t, "parallel")
	require.Equal(t, map[string]int{"trial": 3, "trial first": 1, "trial off": 1}, parallel.plot(t).marks())
	require.Equal(t, []string{"drop", "even", "kind", "rate", "units", "x", "objective 0"}, names(parallel.plot(t)))
	for _, trial := range parallel.class("trial") {
		want := 7
		if strings.Contains(trial.Attrs["class"], "off") {
			want = 6
		}
		if d := trial.Attrs["d"]; d != "M0 6H14" {
			require.Len(t, points(d), want, trial.text())
		}
	}
	require.NotNil(t, page.id(t, "workers-section").Attrs["hidden"])

	head := []string{"trial", "state", "objective 0", "seconds", "drop", "even", "kind", "rate", "units", "x"}
	require.Equal(t, [][]string{head,
		{"4 *", "complete", "+inf", "0.33", "0.9", "2", "null", "2.52e-4", "19", "0.9777"},
		{"1 *", "complete", "-0.1616", "0.39", "0.9", "2", "a", "1.05e-4", "14", "-0.1616"},
		{"0 *", "complete", "-0.166", "0.39", "0.3", "2", "2.5", "1e-5", "17", "-0.166"},
		{"5 *", "complete", "-0.9613", "0.38", "0.3", "6", "2.5", "1.14e-4", "14", "-0.9613"},
	}, page.id(t, "trials").rows())
	for _, list := range []struct {
		button string
		trials []string
	}{{"newest", []string{"7", "6 *", "5 *", "4 *", "3 *", "2 *", "1 *", "0 *"}}, {"under way", []string{"6 *", "7"}},
		{"failed", []string{"3 *"}}, {"best", []string{"4 *", "1 *", "0 *", "5 *"}}} {
		w.run("", "click('button', "+strconv.Quote(list.button)+")")
		page = w.good()
		var got []string
		for _, row := range page.id(t, "trials").rows()[1:] {
			got = append(got, row[0])
		}
		require.Equal(t, list.trials, got, list.button)
		for _, b := range page.all("button") {
			require.Equal(t, strconv.FormatBool(b.text() == list.button), b.Attrs["aria-selected"])
		}
	}
}

// names returns the names of the axes of parallel coordinates.
func names(plot *element) (all []string) {
	for _, e := range plot.class("name") {
		all = append(all, e.all("title")[0].text())
	}
	return all
}

// TestObjectivesAreDrawn: of a study with two objectives one is drawn, the other after it was chosen.
func TestObjectivesAreDrawn(t *testing.T) {
	w := load(t, optunas(t, "two"))
	page := w.good()
	require.NotContains(t, page.id(t, "which-label").Attrs, "hidden")
	require.Equal(t, []string{"objective 0 (minimize)", "objective 1 (maximize)"},
		texts(page.id(t, "which").all("option")))
	require.Contains(t, texts(page.id(t, "history").all("text")), "objective 0")
	_, y := page.id(t, "history").plot(t).ticks()
	w.run("", "choose('which', '1')")
	page = w.good()
	require.Contains(t, texts(page.id(t, "history").all("text")), "objective 1")
	_, other := page.id(t, "history").plot(t).ticks()
	require.NotEqual(t, y, other)
	require.Equal(t, []string{"0.95", "1", "1.05"}, other, "both trials have 1")
}

// TestOwnStudyIsDrawn runs the page's scripts on a study of ours while it goes on.
func TestOwnStudyIsDrawn(t *testing.T) {
	var st *study.Study
	more := func(trials int) func(*study.Study) {
		return func(s *study.Study) {
			st = s
			require.NoError(t, st.Optimize(t.Context(), trials, 1, func(x *study.Trial) ([]float64, error) {
				rate, err := x.SuggestLog("rate", 1e-4, 1)
				units, other := x.SuggestInt("units", 2, 9)
				_, last := x.SuggestCategorical("how", "a<b", nil, true)
				if err := errors.Join(err, other, last); err != nil {
					return nil, err
				}
				value := math.Abs(math.Log10(rate)) + float64(units)
				for step := range 5 {
					if err := x.Report(int64(step+1), value+10/float64(step+1)); err != nil {
						return nil, err
					}
					if stop, err := x.ShouldPrune(); err != nil || stop {
						return nil, errors.Join(err, study.ErrPruned)
					}
				}
				if x.Number() == 3 {
					return nil, errors.New("it <broke>")
				}
				return []float64{value}, nil
			}))
		}
	}
	p := opened(t, filepath.Join(t.TempDir(), "own.db"), "own", study.Options{Directions: []study.Direction{
		study.Minimize}, Pruner: study.Median{}, Seed: 3}, more(40))
	w := load(t, p)
	check := func() {
		trials, err := st.Trials()
		require.NoError(t, err)
		page := w.good()
		states, steps := map[study.State]int{}, 0
		for _, x := range trials {
			states[x.State]++
			steps += len(x.Intermediate)
		}
		require.Greater(t, states[study.Complete], 10)
		require.NotZero(t, states[study.Pruned])
		require.Equal(t, map[string]int{"best": 1, "complete": states[study.Complete], "pruned": states[study.Pruned],
			"failed": 1}, page.id(t, "history").plot(t).marks())
		drawn := 0
		for _, path := range page.id(t, "curves").plot(t).class("trial") {
			drawn += len(points(path.Attrs["d"]))
		}
		require.Equal(t, steps, drawn, "each report is a point of a curve")
		x, _ := page.id(t, "curves").plot(t).ticks()
		require.Equal(t, []string{"1", "2", "3", "4", "5"}, x)
		require.Len(t, page.id(t, "importances").class("bar"), 3)
		require.Equal(t, []string{"how", "rate", "units", "objective 0"}, names(page.id(t, "parallel").plot(t)))
		require.Subset(t, labels(page.id(t, "parallel").all("text")), []string{"a<b", "null", "true", "log"})
		rows := page.id(t, "trials").rows()[1:]
		require.Len(t, rows, states[study.Complete])
		best, err := st.Best()
		require.NoError(t, err)
		require.Equal(t, fmt.Sprint(best[0].Number), rows[0][0])
	}
	check()
	w.run("", "wake()")
	require.Equal(t, []int{200, 200, 304, 200}, w.statuses, "the data, the workers")
	check()
	more(10)(st)
	p.mu.Lock()
	p.made = time.Time{} // as if some time had gone by
	p.mu.Unlock()
	w.run("", "wake()")
	check()

	require.NoError(t, p.Close())
	w.run("", "wake()")
	live := w.page().id(t, "live")
	require.Equal(t, "lost", live.Attrs["class"])
	require.Contains(t, live.text(), "the page's process does not answer, since ")
}

// TestWorkersAreDrawn: a row for each worker.
func TestWorkersAreDrawn(t *testing.T) {
	seen := func() studies.Status { // at the time of the look, however long the page takes
		return studies.Status{Workers: []studies.WorkerStatus{{ID: "host:7:1", Threads: 3, Done: 2,
			LastSeen: time.Now().Add(-5500 * time.Millisecond), Leased: []int64{5, 6}},
			{ID: "a:b:6:1", LastSeen: time.Now()}}}
	}
	page := load(t, shown(t, loopback, 12, seen)).good()
	require.NotContains(t, page.id(t, "workers-section").Attrs, "hidden")
	require.Equal(t, [][]string{{"worker", "machine", "process", "trials under way", "lanes", "trials done", "threads",
		"last heard of"}, {"0", "a:b", "6", "none", "", "0", "", "now"},
		{"1", "host", "7", "4, 5", "2", "2", "3", "5 s ago"}}, page.id(t, "workers").rows())
	page = load(t, shown(t, loopback, 0, func() studies.Status { return studies.Status{} })).good()
	require.Equal(t, []string{"No worker has been heard of yet."}, notes(page.id(t, "workers")))
	for _, id := range []string{"history", "curves", "parallel"} {
		require.Equal(t, []string{"No trial yet."}, notes(page.id(t, id)), id)
	}
}

// TestPointsAloneAreDrawn: a report between two that are no numbers is a dash.
func TestPointsAloneAreDrawn(t *testing.T) {
	for name, c := range map[string]struct {
		values []float64
		points int
		dashes int
	}{
		"one":               {[]float64{2}, 1, 1},
		"two":               {[]float64{2, 3}, 2, 0},
		"alone":             {[]float64{math.NaN(), 2, math.Inf(1)}, 1, 1},
		"first alone":       {[]float64{1, math.Inf(-1), 2, 3}, 3, 1},
		"last alone":        {[]float64{1, 2, math.NaN(), 3}, 3, 1},
		"each of them":      {[]float64{1, math.NaN(), 2, math.NaN(), 3}, 3, 3},
		"nothing but these": {[]float64{math.NaN(), math.Inf(1)}, 0, 0},
	} {
		x := &study.FrozenTrial{State: study.Complete, Values: []float64{1}}
		for i, v := range c.values {
			x.Intermediate = append(x.Intermediate, study.Reported{Step: int64(i), Value: v})
		}
		curves := load(t, with(t, study.Minimize, x)).good().id(t, "curves")
		if c.points == 0 {
			assert.Empty(t, curves.class("trial"), name)
			continue
		}
		paths := curves.plot(t).class("trial")
		if assert.Len(t, paths, 1, name) {
			assert.Len(t, points(paths[0].Attrs["d"]), c.points, name)
			assert.Equal(t, c.dashes, strings.Count(paths[0].Attrs["d"], "h4"), name)
		}
	}
}

// TestLongCurvesReachTheEnd: of many reports not all are drawn, but the first and the last are.
func TestLongCurvesReachTheEnd(t *testing.T) {
	x := &study.FrozenTrial{State: study.Complete, Values: []float64{1}}
	for i := range 1003 {
		x.Intermediate = append(x.Intermediate, study.Reported{Step: int64(i + 1), Value: float64(i % 7)})
	}
	short := &study.FrozenTrial{State: study.Pruned, Intermediate: x.Intermediate[:100]}
	paths := load(t, with(t, study.Minimize, x, short)).good().id(t, "curves").plot(t).class("trial")
	require.Len(t, paths, 2, "the best is drawn last")
	for i, want := range []struct {
		points int
		end    float64
	}{{100, 62 + 99./1002*(560-14-62)}, {curvePoints, 560 - 14}} {
		at := points(paths[i].Attrs["d"])
		require.Len(t, at, want.points)
		require.InDelta(t, 62, at[0][0], .1)
		require.InDelta(t, want.end, at[len(at)-1][0], .1)
	}
}

// TestTicksAreWhole: there is no trial 0.2, no step and no generation 1.5.
func TestTicksAreWhole(t *testing.T) {
	for n, want := range map[int][]string{1: {"0", "1"}, 2: {"0", "1"}, 3: {"0", "1", "2"}, 12: {"0", "2", "4", "6",
		"8", "10"}} {
		x, _ := load(t, shown(t, loopback, n, nil)).good().id(t, "history").plot(t).ticks()
		assert.Equal(t, want, x, n)
	}
}

// TestTicksDiffer: the numbers at an axis have as many digits as tell them apart.
func TestTicksDiffer(t *testing.T) {
	for _, values := range [][2]float64{{484.21, 484.29}, {1e6 + 1, 1e6 + 9}, {-1.00001, -1.00002}, {1e-5, 1.001e-5},
		{0, 1e-9}, {-1e300, 1e300}, {5, 5}, {123456, 123457}} {
		page := load(t, with(t, study.Minimize, &study.FrozenTrial{State: study.Complete, Values: values[:1]},
			&study.FrozenTrial{State: study.Complete, Values: values[1:]})).good()
		_, y := page.id(t, "history").plot(t).ticks()
		assert.GreaterOrEqual(t, len(y), 2, values)
		assert.Len(t, slices.Compact(slices.Clone(y)), len(y), values)
	}
}

// TestInfiniteResultsAreRanked: an infinite result is the best or the worst, as in the server's own order.
func TestInfiniteResultsAreRanked(t *testing.T) {
	inf := math.Inf(1)
	for _, c := range []struct {
		values []float64
		d      study.Direction
		order  []string
	}{
		{[]float64{1, inf, -inf, 2}, study.Maximize, []string{"1", "3", "0", "2"}},
		{[]float64{1, inf, -inf, 2}, study.Minimize, []string{"2", "0", "3", "1"}},
		{[]float64{inf, inf}, study.Maximize, []string{"0", "1"}},
	} {
		var trials []*study.FrozenTrial
		for _, v := range c.values {
			trials = append(trials, &study.FrozenTrial{State: study.Complete, Values: []float64{v}})
		}
		p := with(t, c.d, trials...)
		page := load(t, p).good()
		rows := page.id(t, "trials").rows()[1:]
		var order []string
		for _, row := range rows {
			order = append(order, strings.TrimSuffix(row[0], " *"))
		}
		assert.Equal(t, c.order, order)
		best := study.Best(trials, []study.Direction{c.d})
		assert.Equal(t, fmt.Sprint(best[0].Number), order[0])
		assert.Equal(t, map[string]int{"best": 1, "complete": len(trials)}, page.id(t, "history").plot(t).marks())
	}
}

// TestChoicesAreDrawn: a choice has its place at its axis, whatever its text, be it a list or
// an object.
func TestChoicesAreDrawn(t *testing.T) {
	choices := []any{nil, true, int64(3), 2.5, 1e-7, 1e21, "a<b", `"quoted" & more`, "null", "ä", "",
		"[]", "[64,64]", `[64,"relu"]`, `{"b":true,"a":[null]}`}
	var trials []*study.FrozenTrial
	for i := range choices {
		trials = append(trials, &study.FrozenTrial{State: study.Complete, Values: []float64{1},
			Params: map[string]float64{"how": float64(i)}, Distributions: map[string]study.Distribution{
				"how": {Kind: study.Categorical, Choices: choices}}})
	}
	w := load(t, with(t, study.Minimize, trials...))
	w.good()
	w.run("texts become lists and objects", `
		const structure = (_, v) => typeof v === "string" && /^[[{]/.test(v) ? JSON.parse(v) : v;
		data = JSON.parse(JSON.stringify(data, structure));
		draw();`)
	parallel := w.good().id(t, "parallel").plot(t)
	heights := map[float64]bool{}
	for _, trial := range parallel.class("trial") {
		corners := points(trial.Attrs["d"])
		require.Len(t, corners, 2, trial.text())
		heights[corners[0][1]] = true
	}
	require.Len(t, heights, len(choices))
	require.Subset(t, labels(parallel.all("text")), []string{"null", "true", "3", "2.5", "1e-7", "a<b",
		`"quoted"…`, "ä", "[]", "[64,64]"})
	require.Contains(t, texts(parallel.all("title")), `"quoted" & more`)
}

// TestTrialsOfFewParameters: a pruned trial of one parameter is a dash, and one without any is not drawn.
func TestTrialsOfFewParameters(t *testing.T) {
	space := map[string]study.Distribution{"x": {Kind: study.Float, High: 1}}
	trials := []*study.FrozenTrial{
		{State: study.Complete, Values: []float64{1}, Params: map[string]float64{"x": .5}, Distributions: space},
		{State: study.Pruned, Params: map[string]float64{"x": .2}, Distributions: space},
	}
	parallel := load(t, with(t, study.Minimize, trials...)).good().id(t, "parallel")
	require.Regexp(t, `h6$`, parallel.plot(t).class("off")[0].Attrs["d"])
	require.Equal(t, []string{"Dashed: pruned and under way."}, notes(parallel))

	trials[1].Params, trials[1].Distributions = nil, nil
	parallel = load(t, with(t, study.Minimize, trials...)).good().id(t, "parallel")
	require.Empty(t, parallel.plot(t).class("off"))
	require.Empty(t, notes(parallel))
}

// TestNamesOfAxes: names and choices are cut to what there is room for; their titles are whole.
func TestNamesOfAxes(t *testing.T) {
	for _, n := range []int{1, 3, 12, 40} {
		x := &study.FrozenTrial{State: study.Complete, Values: []float64{1}, Params: map[string]float64{},
			Distributions: map[string]study.Distribution{}}
		var want []string
		for i := range n {
			name := fmt.Sprintf("hyper_parameters_of_network.number_%02d", i)
			want = append(want, name)
			x.Params[name], x.Distributions[name] = 0, study.Distribution{Kind: study.Categorical, Choices: []any{
				"multi-layer perceptron of normalized layers"}}
		}
		parallel := load(t, with(t, study.Minimize, x)).good().id(t, "parallel").plot(t)
		require.Equal(t, append(want, "objective 0"), names(parallel))
		room := float64(1100-140) / float64(n)
		for _, e := range parallel.all("text") {
			most := max(room, 4*6.5)
			if e.Attrs["text-anchor"] == "end" {
				at, err := strconv.ParseFloat(e.Attrs["x"], 64)
				require.NoError(t, err)
				most = min(most, at)
			}
			require.LessOrEqual(t, 6.5*float64(len([]rune(e.label()))), most, "%d axes: %s", n, e.label())
		}
		for i, e := range parallel.class("name")[:n] {
			require.True(t, strings.HasSuffix(want[i], strings.TrimPrefix(e.label(), "…")), e.label())
		}
	}
}

// TestReportOfNaN: the last report of a trial that is no number is called NaN.
func TestReportOfNaN(t *testing.T) {
	w := load(t, with(t, study.Minimize, &study.FrozenTrial{State: study.Pruned, Intermediate: []study.Reported{
		{Step: 7, Value: math.NaN()}}}))
	require.Contains(t, w.good().id(t, "history").plot(t).class("pruned")[0].text(), "pruned NaN at step 7")
	w.run("", "click('button', 'newest')")
	require.Equal(t, "NaN at step 7", w.good().id(t, "trials").rows()[1][2])
}

// TestNamesOfObjectives: the names that Optuna's set_metric_names gave, and numbers without them.
func TestNamesOfObjectives(t *testing.T) {
	for text, want := range map[string][]string{
		`["loss", "speed"]`:      {"loss (minimize)", "speed (maximize)"},
		`["loss"]`:               {"loss (minimize)", "objective 1 (maximize)"},
		`["a", "b", "c"]`:        {"a (minimize)", "b (maximize)"},
		`{"no": "names"}`:        {"objective 0 (minimize)", "objective 1 (maximize)"},
		"":                       {"objective 0 (minimize)", "objective 1 (maximize)"},
		`["0", "", "undefined"]`: {"0 (minimize)", " (maximize)"},
	} {
		page := load(t, opened(t, filepath.Join(t.TempDir(), "a.db"), "two", study.Options{
			Directions: []study.Direction{study.Minimize, study.Maximize}}, func(st *study.Study) {
			if text != "" {
				require.NoError(t, st.Storage().SetAttr(st.ID(), "study:metric_names", json.RawMessage(text)))
			}
		})).good()
		assert.Equal(t, want, texts(page.id(t, "which").all("option")), text)
	}
}
