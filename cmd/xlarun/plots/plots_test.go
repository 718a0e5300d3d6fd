package plots

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/cmd/xlarun/console"
	"xlarun/rollout/run"
)

const config = "kind = 'evolve'\nenv = 'CartPole-v1'\nseed = %d\npop = 8\ndevices = 2\n[strategy]\nname = " +
	"'openes'\nsigma = 0.1\n"

// saveRun makes the folder of a run.
func saveRun(t *testing.T, dir, name, config string, rows ...string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	require.NoError(t, os.MkdirAll(path, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(path, "config.toml"), []byte(config), 0o644))
	if rows != nil {
		require.NoError(t, os.WriteFile(filepath.Join(path, "metrics.jsonl"), []byte(strings.Join(rows, "\n")+"\n"),
			0o644))
	}
	return path
}

func plot(args ...string) error {
	cmd := Command(console.Streams{Out: io.Discard, Err: io.Discard})
	cmd.SetArgs(args)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	return cmd.Execute()
}

// limited is a config with more settings.
func limited(seed, more string) string { return more + seeded(seed) }

func init() {
	run.MustRegister(run.Kind{Name: "evolve", Unit: "generation", Length: "generations", Version: 1,
		New: func() run.Experiment { return nil }})
}

func seeded(seed string) string { return strings.Replace(config, "%d", seed, 1) }

func TestRunsAreRead(t *testing.T) {
	dir := t.TempDir()
	path := saveRun(t, dir, "a", seeded("3"), `{"generation":1,"best":2,"mean":null}`,
		`{"generation":4,"best":-1.5e3,"mean":7,"late":5}`)
	f, err := os.OpenFile(filepath.Join(path, "metrics.jsonl"), os.O_APPEND|os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = f.WriteString(`{"generation":5,"be`) // the run is at work
	require.NoError(t, err)
	require.NoError(t, f.Close())
	r, err := readRun(path)
	require.NoError(t, err)
	require.Equal(t, []string{"evolve", "generation", "0.1", "openes", "3"},
		[]string{r.kind, r.unit, r.settings["strategy.sigma"], r.settings["strategy"], r.settings["seed"]})
	require.Equal(t, []string{"best", "mean", "late"}, r.metrics)
	require.Equal(t, []float64{1, 4}, r.steps)
	x, y := r.points("generation", "mean")
	require.Equal(t, [][]float64{{4}, {7}}, [][]float64{x, y}, "null is no point")
	x, y = r.points("generation", "late")
	require.Equal(t, [][]float64{{4}, {5}}, [][]float64{x, y})
	x, y = r.points("best", "generation")
	require.Equal(t, [][]float64{{2}, {1}}, [][]float64{x, y}, "over what falls there is no curve")
}

func TestBadRuns(t *testing.T) {
	dir := t.TempDir()
	good := saveRun(t, dir, "good", seeded("1"), `{"generation":1,"best":2,"mean_fitness":3}`)
	for _, c := range []struct {
		number int
		what   string
		args   []string
		want   string
	}{
		{1, "nothing", nil, "got no argument, wants the folders of runs"},
		{2, "no folder", []string{filepath.Join(dir, "none")}, "is no folder of a run"},
		{3, "no rows yet", []string{saveRun(t, dir, "young", seeded("1"))}, "metrics.jsonl cannot be read"},
		{4, "an empty log", []string{saveRun(t, dir, "empty", seeded("1"), "")}, "row 1 of metrics.jsonl is damaged"},
		{5, "steps that fall", []string{saveRun(t, dir, "falls", seeded("1"), `{"generation":2,"best":1}`,
			`{"generation":2,"best":1}`)}, "row 2 of metrics.jsonl is damaged (its generation is not above"},
		{6, "words", []string{saveRun(t, dir, "words", seeded("1"), `{"generation":1,"best":"high"}`)},
			`row 1 of metrics.jsonl is damaged ("best" is no number)`},
		{7, "a config that is none", []string{saveRun(t, dir, "config", "kind", `{"generation":1,"best":1}`)},
			"config.toml is no TOML"},
		{8, "two kinds without one environment", []string{good, saveRun(t, dir, "sparse", "kind = 'sparse'\n",
			`{"epoch":1,"mean_fitness":1}`)}, "is a run of sparse in MNIST, " + good + " one of evolve in " +
			"CartPole-v1: kinds are drawn together in one environment"},
		{9, "an unknown metric", []string{good, "--metric", "bst"}, `--metric got "bst", wants a number that ` + good +
			` has, did you mean best?: generation, best, mean_fitness`},
		{10, "over an unknown one", []string{good, "--x", "time"}, `--x got "time"`},
		{11, "an unknown setting", []string{good, "--by", "strategy.sgma"},
			`--by got "strategy.sgma", wants settings of the runs, did you mean strategy.sigma?`},
		{12, "a format that is none", []string{good, "--out", "a.gif"},
			`--out got "a.gif", wants a file that ends in .png`},
		{13, "a file in no folder", []string{good, "--out", filepath.Join(dir, "no", "a.png")},
			"cannot be written: no such file or directory"},
		{14, "no number at all", []string{saveRun(t, dir, "nan", seeded("1"), `{"generation":1,"mean_fitness":null}`)},
			"there is no number of mean_fitness to draw"},
		{15, "two kinds without environment steps", []string{good, saveRun(t, dir, "ppo",
			"kind = 'ppo'\nenv = 'CartPole-v1'\n", `{"update":1,"recent_return":1}`)},
			good + " has no env_steps, and the runs do not all count in generations"},
	} {
		err := plot(c.args...)
		require.ErrorContains(t, err, c.want, "case %d: %s", c.number, c.what)
		var usage console.UsageError
		require.ErrorAs(t, err, &usage, "case %d: %s", c.number, c.what)
	}
}

func TestGroups(t *testing.T) {
	dir := t.TempDir()
	row := `{"generation":1,"mean_fitness":1}`
	other := strings.Replace(seeded("1"), "openes", "pgpe", 1)
	for _, c := range []struct {
		number  int
		what    string
		configs []string
		by      []string
		labels  []string
		sizes   []int
	}{
		{1, "one run", []string{seeded("1")}, nil, []string{""}, []int{1}},
		{2, "seeds", []string{seeded("1"), seeded("2"), seeded("3")}, nil, []string{""}, []int{3}},
		{3, "machines", []string{seeded("1"), strings.Replace(seeded("1"), "devices = 2", "devices = 64", 1)}, nil,
			[]string{""}, []int{1}},
		{4, "strategies", []string{seeded("1"), other, seeded("2")}, nil, []string{"strategy openes", "strategy pgpe"},
			[]int{2, 1}},
		{5, "a setting that one has alone goes without saying", []string{seeded("1"), other + "std = 1\n"}, nil,
			[]string{"strategy openes", "strategy pgpe"}, []int{1, 1}},
		{6, "unless it is all that differs", []string{seeded("1"), seeded("1") + "std = 1\n"}, nil,
			[]string{"", "strategy.std 1"}, []int{1, 1}},
		{7, "by one of two that differ", []string{seeded("1"), other, strings.Replace(other, "pop = 8", "pop = 9", 1)},
			[]string{"strategy"}, []string{"strategy openes", "strategy pgpe"}, []int{1, 2}},
		{8, "by the seed", []string{seeded("1"), seeded("2")}, []string{"seed"}, []string{"seed 1", "seed 2"},
			[]int{1, 1}},
		{9, "lengths of different seeds", []string{limited("1", "generations = 30\nrounds = 0\nfor = ''\n"),
			limited("2", "rounds = 30\nfor = '5s'\ntarget = '0'\n")}, nil, []string{""}, []int{2}},
		{10, "lengths and strategies", []string{limited("1", "rounds = 30\n"), limited("2", "rounds = 9\n"),
			"rounds = 9\n" + other}, nil, []string{"strategy openes", "strategy pgpe"}, []int{2, 1}},
		{11, "by a length, which is not set in one", []string{limited("1", "rounds = 0\n"),
			limited("2", "rounds = 9\n")}, []string{"rounds"}, []string{"", "rounds 9"}, []int{1, 1}},
		{12, "evaluations", []string{limited("1", "eval-episodes = 3\n"), limited("2", "eval-every = 9\n")}, nil,
			[]string{""}, []int{2}},
		{13, "an empty value", []string{limited("1", "policy = ''\n"), limited("2", "policy = 'linear'\n")}, nil,
			[]string{"", "policy linear"}, []int{1, 1}},
	} {
		var runs []*savedRun
		for _, config := range c.configs {
			r, err := readRun(saveRun(t, dir, "run", config, row))
			require.NoError(t, err)
			runs = append(runs, r)
		}
		all, _, err := groups(runs, c.by)
		require.NoError(t, err)
		var labels []string
		var sizes []int
		for _, g := range all {
			labels, sizes = append(labels, g.label), append(sizes, len(g.runs))
		}
		require.Equal(t, c.labels, labels, "case %d: %s", c.number, c.what)
		require.Equal(t, c.sizes, sizes, "case %d: %s", c.number, c.what)
	}
}

// The band against its definition: the interquartile mean and, of eight runs and more, its bootstrap interval. Fewer
// runs have a line each. It was the mean with an interval by Student's t, which a run that fails moves far.
func TestBand(t *testing.T) {
	line := func(x, y []float64) *savedRun {
		r := &savedRun{unit: "step", steps: x, metrics: []string{"y"}, columns: map[string]*column{"y": {values: y}}}
		for row := range y {
			r.columns["y"].rows = append(r.columns["y"].rows, row)
		}
		return r
	}
	several := func(first []float64, last ...float64) (runs []*savedRun) {
		for i, y := range last {
			runs = append(runs, line([]float64{1, 2}, []float64{first[i%len(first)], y}))
		}
		return runs
	}
	nan := math.NaN()
	late := append(several([]float64{3}, 1, 2, 3, 4, 5, 6, 7), line([]float64{2}, []float64{8}))
	for _, c := range []struct {
		number    int
		what      string
		runs      []*savedRun
		x, center []float64
		low, high []float64
		lines     int
	}{
		{1, "one run has no band", []*savedRun{line([]float64{1, 2, 5}, []float64{3, nan, 4})}, []float64{1, 5},
			[]float64{3, 4}, nil, nil, 0},
		{2, "two", several([]float64{1, 3}, 5, 5), []float64{1, 2}, []float64{2, 5}, nil, nil, 2},
		{3, "straight between rows, on with the last one, nothing before the first of both",
			[]*savedRun{line([]float64{1, 3}, []float64{0, 4}), line([]float64{2, 4}, []float64{6, 8})}, []float64{
				2, 3, 4}, []float64{4, 5.5, 6}, nil, nil, 2},
		{4, "four: without the lowest and the highest", several([]float64{0}, 1, 2, 4, 1000), []float64{1, 2},
			[]float64{0, 3}, nil, nil, 4},
		{5, "eight", several([]float64{7}, 9, 9, 9, 9, 9, 9, 9, 1), []float64{1, 2}, []float64{7, 9},
			[]float64{7, 7}, []float64{7, 9}, 0},
		{6, "of which one begins late", late, []float64{2}, []float64{4.5}, []float64{2.5}, []float64{6.5}, 0},
		{7, "no number", []*savedRun{line([]float64{1}, []float64{nan})}, nil, nil, nil, nil, 0},
	} {
		b := group{runs: c.runs}.curve("step", "y")
		require.Equal(t, c.x, b.x, "case %d: %s", c.number, c.what)
		require.Equal(t, c.center, b.center, "case %d: %s", c.number, c.what)
		require.Len(t, b.runs, c.lines, "case %d: %s", c.number, c.what)
		require.Len(t, b.low, len(c.low), "case %d: %s", c.number, c.what)
		for i := range c.low {
			require.InDelta(t, c.low[i], b.low[i], .5, "case %d: %s", c.number, c.what)
			require.InDelta(t, c.high[i], b.high[i], .5, "case %d: %s", c.number, c.what)
		}
	}
	many := make([]float64, 1000)
	for i := range many {
		many[i] = float64(i)
	}
	b := group{runs: []*savedRun{line(many, many), line(many, many)}}.curve("step", "y")
	require.Len(t, b.x, maxBand)
	require.Equal(t, []float64{0, 999}, []float64{b.x[0], b.x[maxBand-1]})
}

// What is drawn is there: both curves in their colors, and a band between the edges of one of them.
func TestPicture(t *testing.T) {
	dir := t.TempDir()
	out := filepath.Join(dir, "curves.png")
	args := []string{"--out", out}
	for seed := range 8 {
		y := seed % 2
		args = append(args, saveRun(t, dir, fmt.Sprint("a", seed), seeded(fmt.Sprint(seed)),
			fmt.Sprintf(`{"generation":1,"mean_fitness":%d}`, y), fmt.Sprintf(`{"generation":9,"mean_fitness":%d}`, y)))
	}
	args = append(args, saveRun(t, dir, "b", strings.Replace(seeded("1"), "openes", "pgpe", 1),
		`{"generation":1,"mean_fitness":-3}`, `{"generation":9,"mean_fitness":5}`))
	require.NoError(t, plot(args...))
	data, err := os.ReadFile(out)
	require.NoError(t, err)
	img, format, err := image.Decode(bytes.NewReader(data))
	require.NoError(t, err)
	require.Equal(t, "png", format)
	seen := map[color.RGBA]int{}
	for y := range img.Bounds().Dy() {
		for x := range img.Bounds().Dx() {
			seen[color.RGBAModel.Convert(img.At(x, y)).(color.RGBA)]++
		}
	}
	require.Greater(t, seen[colors[0]], 400, "the first curve")
	require.Greater(t, seen[colors[1]], 400, "the second")
	share := func(c uint8) uint8 { return uint8((50*int(c) + 205*255) / 255) }
	found := 0
	for c, n := range seen {
		if math.Abs(float64(c.R)-float64(share(colors[0].R))) < 3 &&
			math.Abs(float64(c.B)-float64(share(colors[0].B))) < 3 {
			found += n
		}
	}
	require.Greater(t, found, 25_000, "its band")
	for _, ending := range endings() {
		path := strings.TrimSuffix(out, ".png") + ending
		require.NoError(t, plot(args[2], "--out", path), ending)
		info, err := os.Stat(path)
		require.NoError(t, err)
		require.Greater(t, info.Size(), int64(1000), ending)
	}
}

// What cannot be written stays as it was, and what is drawn takes its place whole.
func TestNothingIsLost(t *testing.T) {
	dir := t.TempDir()
	good := saveRun(t, dir, "good", seeded("1"), `{"generation":1,"mean_fitness":3}`,
		`{"generation":2,"mean_fitness":4}`)
	kept := filepath.Join(dir, "kept.png")
	require.NoError(t, os.WriteFile(kept, []byte("kept"), 0o444))
	require.ErrorContains(t, plot(good, "--out", kept), "cannot be written: it may not be written to",
		"a file without permission")
	text, err := os.ReadFile(kept)
	require.NoError(t, err)
	require.Equal(t, "kept", string(text))
	folder := filepath.Join(dir, "folder.png")
	require.NoError(t, os.Mkdir(folder, 0o755))
	require.ErrorContains(t, plot(good, "--out", folder), "it is no file", "a folder")
	require.DirExists(t, folder)
	old := filepath.Join(dir, "old.png")
	require.NoError(t, os.WriteFile(old, []byte("old"), 0o644))
	require.NoError(t, plot(good, "--out", old), "an old picture")
	left, err := filepath.Glob(filepath.Join(dir, ".xlarun-part-*"))
	require.NoError(t, err)
	require.Empty(t, left)
}

// Axes along which nothing changes, at any magnitude, and the longest that there are.
func TestFlatCurves(t *testing.T) {
	dir := t.TempDir()
	for i, rows := range [][]string{
		{`{"generation":1,"mean_fitness":0}`},
		{`{"generation":1,"mean_fitness":1e17}`, `{"generation":2,"mean_fitness":1e17}`},
		{`{"generation":1,"mean_fitness":-1e-300}`},
		{`{"generation":1,"mean_fitness":1e300}`, `{"generation":2,"mean_fitness":-1e300}`},
		{`{"generation":1e300,"mean_fitness":1}`},
	} {
		require.NoError(t, plot(saveRun(t, dir, "flat", seeded("1"), rows...)), "case %d", i+1)
	}
}

// Curves are drawn of any rows that have a number, and of none that have not; every generation's numbers may be
// missing.
func TestCurves(t *testing.T) {
	row := func(g int, best, mean string) string {
		return fmt.Sprintf(`{"generation":%d,"best_fitness":%s,"mean_fitness":%s,"std_fitness":0,"best_ever":%s}`+"\n",
			g, best, mean, best)
	}
	many := ""
	for g := range 5000 {
		many += row(g+1, fmt.Sprint(g%7), fmt.Sprint(g%5))
	}
	for _, c := range []struct {
		number int
		rows   string
		want   string // of the error
	}{
		{1, row(1, "3", "2"), ""},
		{2, row(1, "3", "2") + row(2, "null", "null") + row(3, "3", "2"), ""},
		{3, row(1, "null", "null"), "the run has no numbers to draw"},
		{4, row(1, "null", "null") + row(2, "null", "null") + row(3, "-1e-9", "null"), ""},
		{5, row(1, "3e38", "-3e38") + row(2, "1e300", "0"), ""},
		{6, many, ""}, // took a minute: a jagged line of many points was painted as one
		{7, "", "metrics.jsonl has no rows"},
	} {
		dir := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(dir, "config.toml"),
			[]byte("kind = 'evolve'\nenv = 'CartPole-v1'\nseed = 3\n"), 0o644))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "metrics.jsonl"), []byte(c.rows), 0o644))
		data, err := Curves(dir, []string{"mean_fitness", "gone"})
		if c.want != "" {
			require.ErrorContains(t, err, c.want, "case %d", c.number)
			continue
		}
		require.NoError(t, err, "case %d", c.number)
		picture, err := png.Decode(bytes.NewReader(data))
		require.NoError(t, err, "case %d", c.number)
		blue := 0 // of the curve that was asked for
		r, g, b, _ := colors[0].RGBA()
		for y := range picture.Bounds().Dy() {
			for x := range picture.Bounds().Dx() {
				if pr, pg, pb, _ := picture.At(x, y).RGBA(); pr == r && pg == g && pb == b {
					blue++
				}
			}
		}
		require.Equal(t, c.number == 4, blue == 0, "case %d: %d dots", c.number, blue)
	}
}
