package web

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/studies"
)

// TestShowsIslands: the page is sent the folder's rows, thinned where there are many, and what each island has come to;
// a row that is being written is left for the next time.
func TestShowsIslands(t *testing.T) {
	dir := t.TempDir()
	_, err := OpenRun(loopback, dir)
	require.ErrorContains(t, err, "is no folder of a run: it has no config.toml")
	put := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666))
	}
	// A file without a kind is of no run.
	for _, text := range []string{"", "oh", "kind = 3\n"} {
		put("config.toml", text)
		_, err = OpenRun(loopback, dir)
		require.ErrorContains(t, err, "is no folder of a run: its config.toml names no kind; give one, or a study")
	}
	put("config.toml", "kind = \"islands\"\n")
	_, err = OpenRun(studies.Listen{Address: "0.0.0.0:0"}, dir)
	require.ErrorContains(t, err, "give a token")
	look := func() (status int, text string, s islands) {
		p, err := OpenRun(loopback, dir) // nothing is remembered
		require.NoError(t, err)
		defer func() { require.NoError(t, p.Close()) }()
		status, text, _ = get(t, http.DefaultClient, p.URL()+"data")
		if status == 200 {
			require.NoError(t, json.Unmarshal([]byte(text), &s))
		}
		return status, text, s
	}
	_, text, s := look()
	require.Contains(t, text, `"rows":[],"standing":null`)
	require.Equal(t, filepath.Base(dir), s.Name)

	put("metrics.jsonl", "{\"generation\":1,\"mean_0\":2.5,\"mean_1\":null}\n{\"generation\":2,\"mea")
	put("islands.json", `{"topology":"ring","islands":[{"mean_fitness":2.5}]}`)
	_, _, s = look()
	require.Equal(t, []map[string]any{{"generation": 1., "mean_0": 2.5, "mean_1": nil}}, s.Rows)
	require.JSONEq(t, `{"topology":"ring","islands":[{"mean_fitness":2.5}]}`, string(s.Standing))

	var many strings.Builder
	for i := range 1001 {
		fmt.Fprintf(&many, "{\"generation\":%d}\n", i+1)
	}
	put("metrics.jsonl", many.String())
	_, _, s = look()
	require.LessOrEqual(t, len(s.Rows), mostRows+1)
	require.EqualValues(t, 1, s.Rows[0]["generation"])
	require.EqualValues(t, 1001, s.Rows[len(s.Rows)-1]["generation"])

	put("metrics.jsonl", "oh\n")
	status, text, _ := look()
	require.Equal(t, 503, status)
	require.Contains(t, text, "metrics.jsonl: line 1")

	p, err := OpenRun(loopback, dir)
	require.NoError(t, err)
	defer func() { require.NoError(t, p.Close()) }()
	for file, want := range map[string]string{"": "<title>xlarun islands</title>", "islands.js": "poll(draw",
		"plots.js": "svgNS", "live.js": "If-None-Match"} {
		status, text, _ := get(t, http.DefaultClient, p.URL()+file)
		require.Equal(t, 200, status, file)
		require.Contains(t, text, want)
	}
	_, text, _ = get(t, http.DefaultClient, p.URL()+"workers")
	require.Equal(t, "null\n", text)
}
