package web

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/rollout/run/runfolder"
)

// The page of a run draws curves of what changes, the map of an archive and the pictures of the best member.
func TestRunIsDrawn(t *testing.T) {
	dir := t.TempDir()
	put := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666))
	}
	put("config.toml", "kind = 'qd'\n")
	open := func() *Page {
		p, err := OpenRun(loopback, dir)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, p.Close()) })
		return p
	}
	page := load(t, open()).good()
	require.Equal(t, "Nothing was measured yet.", page.id(t, "curves").text(), "before the first row")
	require.Contains(t, page.id(t, "map-section").Attrs, "hidden")

	put("metrics.jsonl", `{"generation":1,"coverage":0.25,"qd_score":3,"dropped":0,"seconds":1}
{"generation":2,"coverage":0.5,"qd_score":null,"dropped":0,"seconds":2}
{"generation":3,"coverage":0.75,"qd_score":9,"dropped":0,"seconds":3}
`)
	put(runfolder.MapFile, `{"generation":3,"names":["distance","speed"],"low":[0,-1],"high":[2,1],
		"rows":[[null,4,null],[1.5,null,2]],"cells":[[-1,0,-1],[7,-1,3]]}`)
	put("best.svg", "<svg xmlns='http://www.w3.org/2000/svg'/>")
	put("play.gif", "GIF89a")
	p := open()
	page = load(t, p).good()
	require.Equal(t, []string{"3generations", "75 %coverage", "9qd score"}, texts(page.class("tile")))
	require.Len(t, page.id(t, "curves").all("svg"), 2, "without what never changes, and timings")
	cells := page.id(t, "map").class("cell")
	require.Equal(t, []string{"cell 0: 4", "cell 7: 1.5", "cell 3: 2"}, texts(cells), "a square for each elite")
	require.Equal(t, cells[1].Attrs["x"], page.id(t, "map").class("axis")[0].Attrs["x1"]+".0", "first column")
	require.NotEqual(t, cells[0].Attrs["fill"], cells[1].Attrs["fill"])
	images := page.id(t, "pictures").all("img")
	require.Len(t, images, 2)
	require.Equal(t, "the episode that was played last", images[1].Attrs["alt"], "such as that of a cell")
	status, text, _ := get(t, http.DefaultClient, p.URL()+"best.svg")
	require.Equal(t, 200, status)
	require.Contains(t, text, "<svg")
	for _, name := range []string{"config.toml", "metrics.jsonl", "best.gif", "best.svg/../config.toml"} {
		status, _, _ = get(t, http.DefaultClient, p.URL()+name)
		require.Equal(t, 404, status, "no other file: %s", name)
	}
	put(runfolder.MapFile, "{half")
	put("metrics.jsonl", "{\"epoch\":1,\"loss\":2}\n{\"epoch\":2,\"loss\":1}\n")
	data, err := runOf(dir, "qd")
	require.NoError(t, err)
	require.Equal(t, json.RawMessage(nil), data.Map, "a damaged map")
	require.Equal(t, "epoch", data.Unit, "the unit of a kind of one's own")
}

// The return of evaluations comes first among the tiles and the curves. It is there where only few rows have it, and
// where those rows are left out: of 1,000 generations every third is sent, and each tenth has an evaluation.
func TestRunShowsItsEvaluations(t *testing.T) {
	dir := t.TempDir()
	var text strings.Builder
	for i := 1; i <= 1001; i++ {
		fmt.Fprintf(&text, `{"generation":%d,"best_fitness":%d`, i, i)
		if i%10 == 0 {
			fmt.Fprintf(&text, `,"eval_return":%d`, 2*i)
		}
		text.WriteString("}\n")
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "config.toml"), []byte("kind = 'evolve'\n"), 0o666))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "metrics.jsonl"), []byte(text.String()), 0o666))
	p, err := OpenRun(loopback, dir)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	page := load(t, p).good()
	require.Equal(t, []string{"1001generations", "2000eval return", "1001best fitness"}, texts(page.class("tile")))
	curves := page.id(t, "curves").all("svg")
	require.Len(t, curves, 2)
	line := slices.DeleteFunc(curves[0].all("path"), func(e *element) bool { return e.Attrs["class"] != "best" })[0]
	require.Len(t, points(line.Attrs["d"]), 100, "a point for each evaluation")
	require.Equal(t, 1, strings.Count(line.Attrs["d"], "M"), "one line")
}
