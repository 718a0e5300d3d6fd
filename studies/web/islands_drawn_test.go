package web

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	_ "xlarun/envs/classic"
	archipelagos "xlarun/rollout/islands"
	"xlarun/rollout/run"
	"xlarun/rollout/run/runfolder"
	"xlarun/rollout/run/session"
	"xlarun/rollout/settings"
	"xlarun/xlabridge"
)

// archipelago is a page of a run of islands with these rows and this islands.json.
func archipelago(t *testing.T, standing string, rows ...map[string]any) *Page {
	t.Helper()
	dir := t.TempDir()
	var text []byte
	for i, row := range rows {
		row["generation"] = i + 1
		line, err := json.Marshal(row)
		require.NoError(t, err)
		text = append(append(text, line...), '\n')
	}
	for name, text := range map[string]string{"config.toml": "kind = 'islands'", "metrics.jsonl": string(text),
		"islands.json": standing} {
		if text != "" {
			require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666))
		}
	}
	p, err := OpenRun(loopback, dir)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	return p
}

// generations are rows of a run of three islands.
func generations(n int) (rows []map[string]any) {
	for i := range n {
		x := float64(i)
		rows = append(rows, map[string]any{"best_mean": 3 * x, "mean_fitness": 2 * x, "best_ever": 4 * x,
			"diversity": 1 / (x + 1), "diversity_within": .5 / (x + 1), "foreign": min(x/100, .5),
			"immigrants": i / 5, "mean_0": x, "mean_1": 2 * x, "mean_2": 3 * x})
	}
	return rows
}

// TestIslandsAreDrawn runs the scripts of the page of islands.
func TestIslandsAreDrawn(t *testing.T) {
	standing := `{"topology":"ring","descent":[0.25,0.4987,0.2513],"islands":[
		{"mean_fitness":29,"best_ever":40,"settings":{"strategy.sigma":0.05},
			"descent":[0.5,0.496,0.004],"immigrants":[0,1,2]},
		{"mean_fitness":null,"best_ever":41,"settings":{"strategy.sigma":0.1},
			"descent":[0,1,0],"immigrants":[0,0,0]},
		{"mean_fitness":30.25,"best_ever":1e7,"settings":{"strategy.sigma":0.2},
			"descent":[0.25,0,0.75],"immigrants":[5,0,0]}]}`
	for _, n := range []int{1, 2, 30, mostRows + 1, 1000, 1001} {
		page := load(t, archipelago(t, standing, generations(n)...)).good()
		require.Equal(t, []string{fmt.Sprint(n, "generations"), "3islands",
			shortly(3*n-3) + "mean of the best island", shortly(2*n-2) + "mean of all",
			shortly(4*n-4) + "best member ever", fmt.Sprint((n-1)/5, "immigrants taken in"),
			fmt.Sprint(min(n-1, 50), " %from other islands")}, texts(page.class("tile")))
		means := page.id(t, "means")
		require.Equal(t, []string{"best of them", "all", "island 0", "island 1", "island 2"},
			texts(means.class("key")[0].all("span")))
		for id, want := range map[string]int{"means": 5, "diversity": 2, "foreign": 1} {
			plot := page.id(t, id).plot(t)
			lines := slices.DeleteFunc(plot.all("path"), func(e *element) bool { return e.Attrs["d"] == "" })
			require.Len(t, lines, want, id)
			end := 1100. - 14
			if id != "means" {
				end = 560 - 14
			}
			for _, line := range lines {
				at := points(line.Attrs["d"])
				require.LessOrEqual(t, len(at), mostRows+1)
				require.InDelta(t, 62, at[0][0], .1, "generation 1")
				require.Equal(t, n == 1, strings.HasSuffix(line.Attrs["d"], "h4"))
				if n > 1 {
					require.InDelta(t, end, at[len(at)-1][0], .1, "generation %d, the last", n)
				}
			}
		}
		x, _ := means.plot(t).ticks()
		if n <= 2 {
			require.Equal(t, []string{"1", "2"}, x)
		}
		require.Equal(t, [][]string{
			{"island", "mean", "best ever", "taken in", "strategy.sigma", "from 0", "from 1", "from 2"},
			{"0", "29", "40", "3", "0.05", "50 %", "50 %", ""}, {"1", "", "41", "0", "0.1", "", "100 %", ""},
			{"2", "30.25", "1e+7", "5", "0.2", "25 %", "", "75 %"},
			{"all", "", "", "", "", "25 %", "50 %", "25 %"}}, page.id(t, "descent").rows())
	}
}

// shortly is a whole number as a page shows it beside its name.
func shortly(n int) string { return strconv.FormatFloat(float64(n), 'g', 4, 64) }

// TestRealIslandsAreDrawn: the page draws what a run of islands writes.
func TestRealIslandsAreDrawn(t *testing.T) {
	c := archipelagos.DefaultIslands()
	c.Policy, c.Population, c.Steps, c.Target, c.Tune, c.Generations = "linear", 8, 3, "0", "off", 3
	c.Islands, c.MigrateEvery, c.Migrants, c.Tile = 2, 1, 1, 8
	c = c.With("strategy.sigma", "0.05..0.5")
	folder, err := runfolder.Create(filepath.Join(t.TempDir(), "run"), runfolder.Options{})
	require.NoError(t, err)
	_, err = session.Run(t.Context(), session.Options{
		Kind:       run.Kind{Name: "islands", Unit: "generation", Round: "generation", Version: 1},
		Experiment: &c, Folder: folder, Observer: silent{},
		Config: func(settings.Values, bool) (string, error) { return `kind = "islands"`, nil },
		Open: func(context.Context, run.Progress) (xlabridge.Backend, error) {
			return &xlabridge.Reference{}, nil
		}})
	require.NoError(t, err)
	p, err := OpenRun(loopback, folder.Dir())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	page := load(t, p).good()
	require.Equal(t, []string{"3generations", "2islands"}, texts(page.class("tile"))[:2])
	for id, want := range map[string]int{"means": 4, "diversity": 2, "foreign": 1} {
		lines := page.id(t, id).plot(t).all("path")
		require.Len(t, lines, want, id)
		for _, line := range lines {
			require.Len(t, points(line.Attrs["d"]), 3, id)
		}
	}
	rows := page.id(t, "descent").rows()
	require.Equal(t, []string{"island", "mean", "best ever", "taken in", "strategy.sigma", "from 0", "from 1"}, rows[0])
	require.Len(t, rows, 4)
	require.Equal(t, "all", rows[3][0])
}

// silent is an observer that tells nobody.
type silent struct{}

func (silent) Download(int64, int64)        {}
func (silent) Notice(string)                {}
func (silent) Phase(string)                 {}
func (silent) Progress(session.Progress)    {}
func (silent) Moved(string)                 {}
func (silent) Report(session.RoundReport)   {}
func (silent) Close(*session.Outcome) error { return nil }

// TestDamagedIslands: the status line says what is wrong, and that it was well before.
func TestDamagedIslands(t *testing.T) {
	p := archipelago(t, "", generations(2)...)
	w := load(t, p)
	w.good()
	for _, c := range []struct{ text, class, want string }{
		{"oh\n", "lost", "metrics.jsonl: line 1"}, {"", "", "as of "}} {
		require.NoError(t, os.WriteFile(filepath.Join(w.run("", "data.folder").String(), "metrics.jsonl"),
			[]byte(c.text), 0o666))
		p.mu.Lock()
		p.made = time.Time{} // as if some time had gone by
		p.mu.Unlock()
		w.run("", "wake()")
		live := w.page().id(t, "live")
		require.Equal(t, c.class, live.Attrs["class"])
		require.Contains(t, live.text(), c.want)
	}
	require.Equal(t, []string{"No generation yet."}, notes(w.good().id(t, "means")))
}

// TestIslandsThatBegin: before the first checkpoint and before the first generation the page says so; of a generation
// in which all members of an island failed there is a gap, and a point alone is a dash.
func TestIslandsThatBegin(t *testing.T) {
	page := load(t, archipelago(t, "")).good()
	for _, id := range []string{"means", "diversity", "foreign"} {
		require.Equal(t, []string{"No generation yet."}, notes(page.id(t, id)))
	}
	require.Equal(t, []string{"Known from the first checkpoint on."}, notes(page.id(t, "descent")))
	require.Empty(t, page.class("tile"))

	rows := generations(9)
	for i, gone := range []bool{true, false, true, false, false, true, true, true, false} {
		if gone {
			rows[i]["mean_1"] = nil
		}
	}
	rows[8]["foreign"] = nil
	page = load(t, archipelago(t, "", rows...)).good()
	for _, line := range page.id(t, "means").plot(t).all("path") {
		switch d := line.Attrs["d"]; {
		case strings.HasPrefix(line.text(), "island 1"):
			require.Len(t, points(d), 4, d)
			require.Equal(t, 2, strings.Count(d, "h4"), d)
		default:
			require.Len(t, points(d), 9, d)
			require.NotContains(t, d, "h4")
		}
	}
	require.Contains(t, texts(page.class("tile")), "3islands")
	require.Contains(t, texts(page.class("tile")), "from other islands", "it is not known")
}
