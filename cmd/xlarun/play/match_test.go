package play

import (
	"bytes"
	"context"
	"encoding/json"
	"image/gif"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/cmd/xlarun/console"
)

// A match's line adds up, the same seed is the same match, and its picture has a frame for each position of the first
// game.
func TestMatchAgainstChance(t *testing.T) {
	saved, ok := gameNetwork(tictactoe)
	require.True(t, ok)
	dir := t.TempDir()
	match := func(name string) (r MatchResult) {
		o, v := opened(t, saved, 8)
		o.games, o.json, o.seed, o.gif = 6, true, 3, filepath.Join(dir, name)
		var out bytes.Buffer
		require.NoError(t, o.match(t.Context(), console.Streams{Out: &out}, v, false))
		rows := strings.Split(strings.TrimSpace(out.String()), "\n")
		require.NoError(t, json.Unmarshal([]byte(rows[len(rows)-1]), &r))
		return r
	}
	first, again := match("a.gif"), match("b.gif")
	require.Equal(t, 6, first.Won+first.Drawn+first.Lost)
	require.InDelta(t, (float64(first.Won)+float64(first.Drawn)/2)/6, float64(first.Score), 1e-12)
	require.Zero(t, first.Lost)
	again.Gif = first.Gif
	require.Equal(t, first, again)
	data, err := os.ReadFile(first.Gif)
	require.NoError(t, err)
	film, err := gif.DecodeAll(bytes.NewReader(data))
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(film.Image), 6, "five moves at least, and the empty board")
	require.LessOrEqual(t, len(film.Image), 10)
}

// What cannot be done is said, and an interrupted match ends.
func TestMatchRefusals(t *testing.T) {
	saved := untrained(t, 4, "maker")
	o := gameOptions{saved: saved, simulations: -1}
	o.Backend = "cpu"
	_, _, err := o.open(t.Context(), console.Streams{Out: &bytes.Buffer{}}, interpreter)
	require.EqualError(t, err, "--num-simulations got -1, wants 1 or more, or 0 for as many as in the run")

	saved.Metadata["setting.network"] = "mlp:5" // another one than the arrays are of
	o.simulations = 1
	_, _, err = o.open(t.Context(), console.Streams{Out: &bytes.Buffer{}}, interpreter)
	require.ErrorContains(t, err, "untrained.safetensors: ")
	require.ErrorContains(t, err, "as the network mlp:5 wants")

	_, ok := gameNetwork(filepath.Join(t.TempDir(), "none"))
	require.False(t, ok)

	p, v := opened(t, untrained(t, 4, "maker"), 2)
	p.games = 1
	ctx, stop := context.WithCancel(t.Context())
	stop()
	require.ErrorIs(t, p.match(ctx, console.Streams{Out: &bytes.Buffer{}}, v, false), console.ErrInterrupted)
	p.gif = filepath.Join(t.TempDir(), "none", "a.gif")
	require.ErrorContains(t, p.match(t.Context(), console.Streams{Out: &bytes.Buffer{}}, v, true),
		"a.gif cannot be written")
}
