package cli

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/cmd/internal/runtest"
	"xlarun/cmd/internal/shelltest"
	"xlarun/internal/long"
	"xlarun/rollout/run"
)

// little makes a command line of selfplay small; later flags win.
var little = strings.Fields("selfplay --num_simulations 2 --num_iterations 1 --num-episodes 6 --game_batch_size 4 " +
	"--training_batch_size 8 --epochs 1 --network mlp:4 --arena-every 0 --devices 1")

// The known command lines run, with small numbers of games, and mean what they say.
func TestKnownCommandLinesOfSelfplay(t *testing.T) {
	shelltest.ShareCache(t)
	t.Chdir(t.TempDir())
	compiled := runtest.Small(t, "selfplay", "--num_iterations", "1") // by TestGolden
	for _, c := range []struct {
		number int
		args   []string
		line   string
		want   map[string]any
		long   bool
	}{
		{1, compiled, "--vertices 5 --k 3", map[string]any{"vertices": 5., "use_true_mctx": true,
			"optimized_training": true}, false},
		{2, compiled, "--use_true_mctx --game_batch_size 64", map[string]any{"use_true_mctx": true,
			"game_batch_size": 64.}, false},
		{3, little, "--vertices 4 --k 3 --optimized_training false --backend reference",
			map[string]any{"optimized_training": false, "vertices": 4.}, false},
		{4, little, "--vertices 4 --k 3 --use-true-mctx false --search puct --backend reference",
			map[string]any{"use_true_mctx": false}, false},
		{5, little, "--vertices 14 --k 4", map[string]any{"vertices": 14., "use_true_mctx": true}, true},
		{6, little, "--vertices 4 --k 3 --optimized_training false", map[string]any{"optimized_training": false}, true},
		{7, little, "--vertices 4 --k 3 --use-true-mctx false --search puct", map[string]any{"use_true_mctx": false},
			true},
	} {
		if c.long && !long.On() {
			continue
		}
		args := append(append(slices.Clip(c.args), strings.Fields(c.line)...), "--out", "none")
		got := onCPU.Result(t, args...)
		require.Equal(t, "selfplay", got["kind"], "case %d", c.number)
		for name, want := range c.want {
			require.Equal(t, want, got[name], "case %d, %s", c.number, name)
		}
		require.Positive(t, got["positions"], "case %d", c.number)
		require.Positive(t, got["games_per_second"], "case %d", c.number)
	}
}

// A run, whose programs TestGolden compiles, leaves its folder; it goes on, its network is played by the commands that
// play members, and a person plays it.
func TestSelfplayFolder(t *testing.T) {
	shelltest.ShareCache(t)
	dir := t.TempDir()
	t.Chdir(dir)
	onCPU.Do(t, runtest.Small(t, "selfplay", "--num-iterations", "1", "--out", "run")...)
	onCPU.Do(t, "selfplay", "--resume", "run", "--num-iterations", "2")
	for _, name := range []string{"config.toml", "metrics.jsonl", "profile.json", "best.safetensors", "game.gif",
		"root.png", "root.svg", "tree.json"} {
		require.FileExists(t, filepath.Join(dir, "run", name))
	}
	require.Equal(t, 2, strings.Count(read(t, dir, "run", "metrics.jsonl"), "\n"))
	require.Contains(t, read(t, dir, "run", "timings.jsonl"), "simulations_per_second")
	require.NotContains(t, read(t, dir, "run", "metrics.jsonl"), "per_second", "metrics follow from the config alone")

	got := onCPU.Result(t, "play", "run", "--episodes", "3", "--backend", "reference")
	require.EqualValues(t, 3, got["games"])
	require.EqualValues(t, 3, got["won"].(float64)+got["lost"].(float64)+got["drawn"].(float64))
	require.FileExists(t, filepath.Join(dir, "run", "play.gif"))
	onCPU.Do(t, "render", "run", "--backend", "reference")
	require.FileExists(t, filepath.Join(dir, "run", "render.gif"))
	onCPU.Do(t, "export", "run", "--out", "network.safetensors")
	refused := newBed(t)
	for _, c := range [][2]string{
		{"x.onnx", "--out x.onnx: a member of a run of selfplay has no ONNX model, since it acts in no environment"},
		{"x.safetensors --actions greedy",
			"--actions got greedy, but a member of a run of selfplay acts in no environment"},
	} {
		args := append([]string{"export", filepath.Join(dir, "run"), "--out"}, strings.Fields(c[0])...)
		refused.refused(t, c[1], args...)
	}
	for _, c := range []string{"play --member foo", "play --steps 1", "play --actions greedy", "render --png p",
		"render --size 9x9", "render --frames 3", "play --env-param a=3"} {
		words := strings.Fields(c)
		args := append([]string{words[0], filepath.Join(dir, "run")}, words[1:]...)
		refused.refused(t, words[1]+" means nothing to a network of selfplay", args...)
	}
	t.Chdir(dir)
	text := onCPU.Told(t, "?\n0-9\n1-0\nquit\n", "selfplay", "play", "network.safetensors",
		"--backend", "reference")
	for _, want := range []string{"your move: worth", `"0-9" is no legal move; the legal moves are 0-1 0-2`,
		"the network plays"} {
		require.Contains(t, text, want)
	}
}

// Bad input is refused in a sentence.
func TestSelfplayRefuses(t *testing.T) {
	b := newBed(t)
	for _, c := range []struct {
		number int
		args   string
		want   string
	}{
		{4, "--training_batch_size 1048576 --memory 10M", "--training-batch-size got 1048576, wants a smaller batch, " +
			"or a larger --accumulate: the run takes about"},
		{5, "--optimized_training maybe", `got the argument "maybe", wants none`},
		{6, "--num_episodes", "--num-episodes got no value"},
		{7, "--game hex --k 4", "xlarun selfplay: --k got 4, wants --game clique beside it"},
		{12, "--game_batch_size 300 --num-episodes 10", "xlarun selfplay: --game-batch-size got 300, wants at most " +
			"the 10 games of an iteration, --num-episodes\n"},
		{13, "--variant ramsey --pool 3", "xlarun selfplay: --pool got 3, wants --variant other than ramsey " +
			"beside it"},
		{14, "--search puct --sampled-moves 0 --temperature 2", "xlarun selfplay: --temperature got 2, wants " +
			"--sampled-moves other than 0 beside it"},
		{15, "--arena-every 0 --sampled-moves 2", "xlarun selfplay: --sampled-moves got 2, wants --search puct or " +
			"--arena-every other than 0 beside it"},
		{16, "--rotation 4", "xlarun selfplay: --rotation got 4, wants --variant ramsey beside it"},
		{18, "--variant ramsey --sampled-moves 2", "xlarun selfplay: --sampled-moves got 2, wants --search puct or " +
			"--variant other than ramsey beside it"},
		{19, "--variant ramsey --arena-every 2", "xlarun selfplay: --arena-every got 2, wants --variant other than"},
		{21, "--game hex --rotation 2", "xlarun selfplay: --rotation got 2, wants --game clique beside it"},
		{23, "--temperature 2", "xlarun selfplay: --temperature got 2, wants --search puct beside it"},
	} {
		b.err, b.opened = &buffer{}, 0
		b.Err = b.err
		b.refused(t, c.want, append([]string{"selfplay"}, strings.Fields(c.args)...)...)
		require.Zero(t, b.opened)
	}
}

func TestJoinBools(t *testing.T) {
	for _, c := range []struct {
		number   int
		in, want string
	}{
		{1, "selfplay --a_b false --c", "selfplay --a_b=false --c"}, {2, "x --jit true", "x --jit=true"},
		{3, "true --a=b false", "true --a=b false"},
		{4, "x -- --a false", "x -- --a false"}, {5, "x --a false true", "x --a=false true"},
	} {
		require.Equal(t, strings.Fields(c.want), joinBools(strings.Fields(c.in)), "case %d", c.number)
	}
}

// A file may have settings that mean nothing where another game is played, as the config of a run has all of them.
func TestConfigsOfOtherGamesThanTheCliqueGame(t *testing.T) {
	kind, ok := run.Lookup("selfplay")
	require.True(t, ok)
	of := func(flags map[string]string, text string) (*task, error) {
		c, err := parseConfig("a.toml", []byte(text))
		require.NoError(t, err)
		return (&flagValues{values: flags}).resolve(kind, "", c)
	}
	first, err := of(map[string]string{"game": "hex"}, "")
	require.NoError(t, err)
	require.Contains(t, first.text, "vertices = 6")
	again, err := of(nil, first.text)
	require.NoError(t, err)
	require.Equal(t, first.text, again.text)
	_, err = of(map[string]string{"vertices": "6"}, first.text)
	require.ErrorContains(t, err, "--vertices got 6, wants --game clique beside it")
	_, err = of(nil, "game = \"hex\"\nvertices = 7")
	require.ErrorContains(t, err, `a.toml: key "vertices" got 7, wants --game clique beside it`)
}
