package cli

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/cmd/xlarun/console"
	"xlarun/rollout/run"
	"xlarun/rollout/settings"
)

func TestParseConfig(t *testing.T) {
	for i, c := range []struct {
		what, text string
		want       map[string]any
	}{
		{"nothing", "", map[string]any{}},
		{"a mark of byte order, as editors of Windows leave", "\ufeffpop = 3\n", map[string]any{"pop": int64(3)}},
		{"lines of Windows", "pop = 3\r\nlr = 1e-3\r\n", map[string]any{"pop": int64(3), "lr": 1e-3}},
		{"underscores", "checkpoint_every = 5\n", map[string]any{"checkpoint-every": int64(5)}},
		{"a part's table", "[strategy]\nname = 'openes'\nlearning_rate = 1\n", map[string]any{"strategy": "openes",
			"strategy.learning-rate": int64(1)}},
		{"an inline table", "policy = {name = 'mlp', hidden = [3, 4]}\n", map[string]any{
			"policy": "mlp", "policy.hidden": []any{int64(3), int64(4)}}},
		{"a dotted key", "strategy.sigma = .5\n", nil},
		{"a dotted key, right", "strategy.sigma = 0.5\n", map[string]any{"strategy.sigma": .5}},
		{"head", "kind = 'sparse'\nkind_version = 1\nxlarun = '0'\n", map[string]any{}},
	} {
		got, err := parseConfig("file.toml", []byte(c.text))
		if c.want == nil {
			require.Error(t, err, "%d: %s", i, c.what)
			continue
		}
		require.NoError(t, err, "%d: %s", i, c.what)
		require.Equal(t, c.want, got.values, "%d: %s", i, c.what)
	}
}

// What is no config is refused in one sentence that names the file and is short, whatever stands in it.
func TestConfigsThatAreNone(t *testing.T) {
	long := strings.Repeat("a", 100000)
	for i, c := range []struct{ what, text, want string }{
		{"no TOML", "pop = = 3\n", "file.toml:1:"},
		{"one key twice", "pop = 3\npop = 4\n", "file.toml"},
		{"one key twice, written in two ways", "mutate_every = 1\nmutate-every = 2\n",
			`key "mutate_every" stands twice, as "mutate-every" too: keep one`},
		{"twice in a table", "[strategy]\nstd_learning_rate = 1\nstd-learning-rate = 2\n",
			`key "std_learning_rate" stands twice in [strategy]: keep one`},
		{"a key of a table beside it", "'strategy.sigma' = 1\n[strategy]\nsigma = 2\n",
			`key "strategy.sigma" stands twice, in its table too: keep one`},
		{"a table in a table", "[strategy.adam]\nb1 = 1\n",
			`key "strategy.adam" got a table, wants a number, a text or a list of numbers`},
		{"tables in a list", "[[strategy]]\nsigma = 1\n", `key "strategy" got a list with`},
		{"a date", "seed = 2026-01-02\n",
			`key "seed" got the date or time 2026-01-02, wants a number, a text or a list of numbers`},
		{"a time", "[strategy]\nsigma = 10:00:00\n", `key "strategy.sigma" got the date or time 10:00:00`},
		{"a moment", "seed = 2026-01-02T10:00:00Z\n", `key "seed" got the date or time`},
		{"texts in a list", "hidden = ['3']\n", `key "hidden" got a list with 3, wants a list of numbers`},
		{"a long text in a list", "hidden = ['" + long + "']\n", `key "hidden" got a list with aaa`},
		{"a long key", long + " = 3\n", `there is no key "aaa`},
		{"a long key of a part", "[strategy]\n" + long + " = 3\n", `strategy.aaa`},
		{"a long key twice", long + " = 3\n" + long + " = 4\n", "file.toml"},
		{"a long key in two ways", long + "_ = 3\n" + long + "- = 4\n", "stands twice"},
		{"a long key with a table", "[" + long + ".x]\n[" + long + ".x.y]\n", "got a table"},
		{"a long text for a number", "pop = '" + long + "'\n", `key "pop" got "aaa`},
		{"a long text for a name", "env = '" + long + "'\n", `key "env" got "aaa`},
		{"a long text for a part", "policy = '" + long + "'\n", `"policy" got "aaa`},
		{"a long text for a part's argument", "policy = 'mlp:" + long + "'\n", `"policy`},
		{"bytes that are no text", "pop = '\xff\xfe'\n", "file.toml"},
		{"a zero byte", "pop = 3\x00\n", "file.toml"},
		{"a number beyond 64 bits", "pop = 99999999999999999999\n", "file.toml"},
		{"no number", "lr = nan\nkind = 'sparse'\n", `key "lr" got NaN, wants`},
		{"an infinite number", "kind = 'sparse'\nlr = inf\n", `key "lr" got +Inf, wants`},
		{"an unknown kind", "kind = 'evolv'\n",
			`key "kind" got evolv, wants one of drift, evolve, islands, ppo, pqn, qd, selfplay, sparse, did you mean ` +
				`evolve?`},
		{"a kind that is no text", "kind = 3\n", `key "kind" got 3, wants one of`},
		{"a long kind", "kind = '" + long + "'\n", `key "kind" got aaa`},
		{"another version of the kind", "kind = 'evolve'\nkind_version = 999\nxlarun = '9.9'\n",
			"file.toml is of version 999 of evolve, this xlarun (" + console.Version() +
				") has version 4: run it with the xlarun that wrote it (9.9)"},
		{"a version of no kind", "kind_version = 99\n",
			"key \"kind_version\" got 99, a version of no kind: give the key \"kind\" too, or take it out"},
		{"a version that is no number", "kind = 'evolve'\nkind_version = '1'\n",
			"key \"kind_version\" got \"1\", wants a whole number"},
	} {
		b := newBed(t)
		b.write(t, "file.toml", c.text)
		b.refused(t, c.want, "profile file.toml")
		require.Contains(t, b.err.String(), "file.toml", "%d: %s", i, c.what)
		require.Equal(t, 1, strings.Count(b.err.String(), "\n"), "%d: %s", i, c.what)
		require.Less(t, len(b.err.String()), 1500, "%d: %s: %.300s", i, c.what, b.err.String())
		require.Zero(t, b.opened)
	}
}

// What is no file that can be read does not hang and is not read.
func TestConfigFilesThatAreNone(t *testing.T) {
	b := newBed(t)
	require.NoError(t, syscall.Mkfifo("pipe.toml", 0o600))
	require.NoError(t, os.Mkdir("folder.toml", 0o755))
	require.NoError(t, os.Symlink("nowhere", "link.toml"))
	require.NoError(t, os.Symlink("loop.toml", "loop.toml"))
	b.write(t, "large.toml", "")
	require.NoError(t, os.Truncate("large.toml", 1<<40)) // with holes: it takes no room
	require.NoError(t, os.Mkdir("run", 0o755))
	require.NoError(t, syscall.Mkfifo(filepath.Join("run", "config.toml"), 0o600))
	for _, c := range []struct{ args, want string }{
		{"evolve --config pipe.toml", "--config pipe.toml is no regular file: give the path of a TOML file"},
		{"profile pipe.toml", "the config pipe.toml is no regular file"},
		{"evolve --config folder.toml", "--config folder.toml is a folder: give the path of a TOML file"},
		{"evolve --config link.toml", "--config link.toml cannot be read (no such file or directory)"},
		{"evolve --config loop.toml", "--config loop.toml cannot be read (too many levels of symbolic links)"},
		{"evolve --config large.toml", "--config large.toml has 1099511627776 bytes, more than a config can have"},
		{"evolve --config /dev/zero", "--config /dev/zero is no regular file"},
		{"evolve --resume run", "config.toml is no regular file"},
	} {
		b.refused(t, c.want, c.args)
	}
	require.Zero(t, b.opened)
}

// 1: ppo took bf16 and selfplay bfloat16, and each refused the other's word. Every kind has the short names of dtypes,
// and takes the long ones as well.
func TestOneVocabularyOfDtypes(t *testing.T) {
	long := map[string]string{"f32": "float32", "bf16": "bfloat16", "f16": "float16"}
	seen := 0
	for _, kind := range run.Kinds() {
		e := kind.New()
		for _, f := range settings.Fields(e) {
			for _, word := range strings.Split(strings.TrimPrefix(f.Wants, "one of "), ", ") {
				require.NotContains(t, slices.Collect(maps.Values(long)), word, "%s --%s", kind.Name, f.Name)
				if name, ok := long[word]; ok && f.Type == "text" {
					require.NoError(t, f.Set(name), "%s --%s %s", kind.Name, f.Name, name)
					set, _ := settings.Lookup(e, f.Name)
					require.Equal(t, word, set.Text())
					seen++
				}
			}
		}
	}
	require.GreaterOrEqual(t, seen, 8)
}
