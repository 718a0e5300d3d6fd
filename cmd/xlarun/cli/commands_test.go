package cli

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"xlarun/cmd/xlarun/console"
	"xlarun/rollout/run"
	"xlarun/rollout/settings"
	"xlarun/xlabridge/cache"
	"xlarun/xlabridge/plugin"
)

func TestHelpNamesTheCommands(t *testing.T) {
	b := newBed(t)
	require.Equal(t, StatusOK, b.do(), "%s", b.err)
	for _, name := range []string{"evolve", "sparse", "profile", "play", "export", "study", "serve", "work", "inspect",
		"warmup", "bench", "plugin", "cache", "doctor", "version", "completion"} {
		require.Contains(t, b.out.String(), "\n  "+name)
	}
	require.Contains(t, b.out.String(), "source <(xlarun completion bash)")
	require.NotContains(t, b.out.String(), "\n  man")
	b.ok(t, "evolve --help")
	require.Contains(t, b.out.String(), "--strategy text")
	require.NotContains(t, b.out.String(), "--strategy.learning-rate")
	require.Empty(t, b.err.String())

	// 1: the help of every command, either way, names no default that is none.
	var walk func(c *cobra.Command, path []string)
	walk = func(c *cobra.Command, path []string) {
		if c.Annotations[handoverKey] != "" { // the other program shows its help
			return
		}
		for _, args := range [][]string{append([]string{"help"}, path...), append(slices.Clone(path), "--help")} {
			b.out.b.Reset()
			require.Equal(t, StatusOK, b.do(args...), "%v: %s", args, b.err)
			require.Contains(t, b.out.String(), "Usage:\n  "+strings.Join(append([]string{"xlarun"}, path...), " "),
				"%v", args)
			require.NotContains(t, b.out.String(), "(default NaN)", "%v", args)
		}
		for _, sub := range c.Commands() {
			walk(sub, append(slices.Clone(path), sub.Name()))
		}
	}
	walk(newRoot(b.App), nil)
}

// run.Reserved are the flags of commands on experiments that are settings of no kind or part, except two that kinds may
// have: --topology, and --generations as another name of --rounds.
func TestReservedFlags(t *testing.T) {
	commands, settled := []string{"inspect", "profile", "warmup"}, []string{topologyFlag, "generations"}
	for _, k := range run.Kinds() {
		commands = append(commands, k.Name)
		settled = append(settled, settings.Names(k.New())...)
	}
	names := map[string]bool{}
	for _, c := range newRoot(newBed(t).App).Commands() {
		if !slices.Contains(commands, c.Name()) {
			continue
		}
		c.InitDefaultHelpFlag()
		c.Flags().VisitAll(func(f *pflag.Flag) {
			part := len(f.Annotations[partKey])+len(f.Annotations[console.ChoicesKey]) > 0
			if !part && !slices.Contains(settled, f.Name) {
				names[f.Name] = true
			}
		})
	}
	require.Equal(t, run.Reserved, slices.Sorted(maps.Keys(names)))
}

// The help of a command is short; the settings of parts come from the registries.
func TestHelpOfParts(t *testing.T) {
	b := newBed(t)
	shown := func(args ...string) string {
		b.out.b.Reset()
		b.ok(t, args...)
		return b.out.String()
	}
	for _, name := range []string{"evolve", "islands", "ppo", "pqn", "selfplay", "sparse", "profile", "inspect",
		"warmup"} {
		lines := strings.Split(strings.TrimSpace(shown(name, "--help")), "\n")
		require.LessOrEqual(t, len(lines), 48, "the help of %s takes more than two screens", name)
		for _, line := range lines {
			require.LessOrEqual(t, utf8.RuneCountInString(line), 120, "%s: %s", name, line)
		}
	}
	// 500 episodes were said to be what is played of a selfplay run, too.
	require.Contains(t, strings.Join(strings.Fields(shown("play", "--help")), " "), "--episodes int new episodes to "+
		"play; of a selfplay run, games against a random player, 20 if not given (default 500)")
	require.NotContains(t, shown("render", "--help"), "--episodes")
	text := shown("evolve", "--help", "--strategy", "pgpe")
	require.True(t, strings.HasPrefix(text, "Settings of the strategy pgpe:\n"), text)
	require.Contains(t, text, "--strategy.max-speed number")
	require.NotContains(t, text, "--pop")
	require.Equal(t, text, shown("help", "strategies", "pgpe"))
	require.Contains(t, shown("evolve", "--policy", "linear", "--help"), "The policy linear has no settings.")
	require.Regexp(t, `(?m)^mlp +hidden 16,16, activation tanh$`, shown("help", "policies"))
	require.Regexp(t, `(?m)^CartPole-v1 +observations f32\[4\] +actions Discrete\(2\) +500 steps, solved at 475$`,
		shown("help", "environments"))
	require.Contains(t, shown("__complete", "evolve", "--strategy.max"), "--strategy.max-speed")
	// The word at the cursor may be empty. Values of choices, and environments.
	require.Contains(t, shown("__complete", ""), "evolve\t")
	require.Contains(t, shown("__complete", "evolve", ""), "CartPole-v1\n")
	require.Contains(t, shown("__complete", "evolve", "--strategy", ""), "openes\n")
	require.Contains(t, shown("__complete", "profile", "--strategy=o"), "openes\n")
	b.refused(t, "did you mean pgpe?", "help strategies pgp")
	b.refused(t, `there is no environment "CartPole", did you mean CartPole-v1? (there are A`,
		"help environments CartPole")
	b.refused(t, `there is no command "envs", did you mean environments?`, "help envs")
	b.refused(t, "did you mean strategies?", "help strategiess")
	require.Regexp(t, `(?m)^CartPole-v1 .*\nDescriptor, .*\n.*--env-param NAME=VALUE:\n`+
		`  gravity +a number +\(default 9\.8\)$`,
		shown("help", "environments", "CartPole-v1"))
	require.Contains(t, shown("help", "environments", "TicTacToe-v1"), "It has no parameters.")
	require.Contains(t, shown("help", "environments", "MultiRastrigin-v0"), "Descriptor, for xlarun qd: x₁ -2 to 4, "+
		"x₂ -2 to 4.\nObjectives, for xlarun qd --front 20: at_0, at_2.2.\n")
	b.err.b.Reset()
	b.out.b.Reset()
	require.Equal(t, StatusUsage, b.do("evolve", "--help", "--strategy", "pgp"))
	require.NotContains(t, b.out.String(), "Flags")
	require.Contains(t, b.err.String(), `there is no strategy "pgp", did you mean pgpe?`)
}

// The help of a command names the flags that are seldom needed, and with --all describes them. The others it describes.
func TestHelpOfAdvancedFlags(t *testing.T) {
	b := newBed(t)
	shown := func(args ...string) string {
		b.out.b.Reset()
		b.ok(t, args...)
		return b.out.String()
	}
	for _, kind := range allKinds() {
		short, all := shown(kind.Name, "--help"), shown("help", kind.Name, "--all")
		require.NotContains(t, all, "More flags")
		require.Equal(t, all, shown(kind.Name, "--help", "--all"), "--help --all of %s", kind.Name)
		require.Contains(t, short, "xlarun "+kind.Name+" --help --all describes", "it is named")
		described, named, found := strings.Cut(short, "More flags")
		require.True(t, found, "the help of %s", kind.Name)
		session := defaultSessionSettings()
		fields := append(settings.Fields(kind.New()), settings.Fields(&session)...)
		for _, name := range []string{"drop-rows", "from-study", "grace", "log", "log-level"} { // of the call
			fields = append(fields, settings.Field{Name: name, Advanced: true})
		}
		for _, x := range fields {
			line := regexp.MustCompile(`(?m)^  (-\w,|   ) --` + x.Name + `\b`)
			assert.Regexp(t, line, all, "the whole help of %s", kind.Name)
			assert.Equal(t, !x.Advanced, line.MatchString(described), "--%s in the help of %s", x.Name, kind.Name)
			assert.Equal(t, x.Advanced, regexp.MustCompile(`--`+x.Name+`(,|\n)`).MatchString(named),
				"--%s among more flags of %s", x.Name, kind.Name)
		}
	}
}

func TestManual(t *testing.T) {
	b := newBed(t)
	dir := filepath.Join(t.TempDir(), "man1")
	// The other programs write the pages of their commands.
	program := filepath.Join(b.dir, "program")
	require.NoError(t, os.WriteFile(program, []byte("#!/bin/sh\necho page of $3 > $2/xlarun-$3.1\n"), 0o755))
	b.find = func(string) (string, error) { return program, nil }
	b.ok(t, "man", dir)
	for _, c := range newRoot(b.App).Commands() {
		page, err := os.ReadFile(filepath.Join(dir, "xlarun-"+c.Name()+".1"))
		if c.Hidden || c.Name() == "help" {
			require.ErrorIs(t, err, os.ErrNotExist, c.Name())
			continue
		}
		require.NoError(t, err)
		if c.Annotations[handoverKey] != "" {
			require.Equal(t, "page of "+c.Name()+"\n", string(page))
			continue
		}
		require.Contains(t, string(page), ".TH \"XLARUN-"+strings.ToUpper(c.Name())+"\" \"1\"")
		require.Contains(t, string(page), c.Short)
	}
	evolve := must(os.ReadFile(filepath.Join(dir, "xlarun-evolve.1")))
	require.Contains(t, string(evolve), `learning-rate`)
	require.Contains(t, string(evolve), "\\fB--memory\\fP=\n\tmemory that", "no default that is none")
	require.Equal(t, StatusUsage, b.do("man"))
	b.write(t, "taken", "")
	require.Equal(t, StatusFailed, b.do("man", "taken"))
	require.Contains(t, b.err.String(), "the manual cannot be written to taken: not a directory")
}

// bench starts processes of evolve and reads these from their last line.
func TestEvolveTellsWhatBenchReads(t *testing.T) {
	b := newBed(t)
	b.ok(t, "evolve --generations 1 --target 0 --eval-episodes 1 --pop 4 --steps 2 --policy linear --out none --json")
	for _, key := range []string{"cache", "time_to_first_generation_seconds", "peak_memory_bytes"} {
		require.Contains(t, result(t, b), key)
	}
}

func TestVersion(t *testing.T) {
	b := newBed(t)
	b.ok(t, "version")
	require.Regexp(t, `^xlarun \d+\.\d+\.\d+\S*, go1\.\S+ \w+/\w+\n$`, b.out.String())
	text := b.out.String()
	b.out.b.Reset()
	b.ok(t, "version", "--json")
	require.Regexp(t, `^{"commit":"[^"]*","go":"go1[^"]+","platform":"\w+/\w+","plugin":(null|{.*"source":"\w+".*}),`+
		`"version":"\d+\.\d+\.\d+[^"]*"}\n$`, b.out.String())
	// What is wrong with the plugin stands beside the rest.
	for said, env := range map[string]map[string]string{
		"set HOME":   {"XLARUN_CACHE": "", "XDG_CACHE_HOME": "", "HOME": ""},
		"/absent.so": {plugin.EnvPath: "/absent.so"},
	} {
		t.Run(said, func(t *testing.T) {
			b.out.b.Reset()
			for name, value := range env {
				t.Setenv(name, value)
			}
			b.ok(t, "version", "--json")
			require.Regexp(t, `^{"commit":.*"plugin":null,"plugin_error":"[^"]*`+said+`.*,"version":"`, b.out.String())
		})
	}
	for _, args := range [][]string{{"--version"}, {"-v"}, {"--version", "evolve"}, {"--version", ""},
		{"-v", "study", "run"}} {
		b.out.b.Reset()
		b.ok(t, args...)
		require.Equal(t, text, b.out.String())
	}
	for args, shown := range map[string]bool{"--help": true, "help": false} {
		b.out.b.Reset()
		b.ok(t, args)
		require.Equal(t, shown, strings.Contains(b.out.String(), "-v, --version"), args)
	}
}

func TestPluginCommands(t *testing.T) {
	b := newBed(t)
	t.Setenv("PJRT_PLUGIN_LIBRARY_PATH", "")
	b.ok(t, "plugin list")
	require.Contains(t, b.out.String(), "not installed")
	b.out.b.Reset()
	b.ok(t, "plugin list --json")
	require.Regexp(t, `^{"plugins":\[{"backend":"cpu","name":"[^}]*"installed":false,.*}\]}\n$`, b.out.String())
	require.Equal(t, StatusFailed, b.do("plugin", "path"), "nothing is installed in an empty cache folder")
	require.Contains(t, b.err.String(), "xlarun plugin path: ")
	require.Contains(t, b.err.String(), "xlarun plugin install cpu")

	file := filepath.Join(b.dir, "my.so")
	b.write(t, "my.so", "anything")
	t.Setenv("PJRT_PLUGIN_LIBRARY_PATH", file)
	b.out.b.Reset()
	b.ok(t, "plugin path --backend cpu")
	require.Equal(t, file+"\n", b.out.String())
}

func TestCacheCommands(t *testing.T) {
	b := newBed(t)
	b.ok(t, "cache list")
	require.Contains(t, b.out.String(), "0 programs, 0 B, in ")

	dir := must(cache.DefaultDir())
	c := cache.New(dir)
	for _, name := range []string{"one", "two"} {
		require.NoError(t, c.Put(cache.NewKey([]byte(name)), cache.Metadata{Name: name, Purpose: "evolve " + name,
			CompileSeconds: 1.5}, make([]byte, 5000)))
	}
	b.out.b.Reset()
	b.ok(t, "cache list")
	require.Contains(t, b.out.String(), "one")
	require.Contains(t, b.out.String(), "evolve two")
	require.Contains(t, b.out.String(), " 1.5 s ")
	require.Contains(t, b.out.String(), "2 programs, 1")
	b.out.b.Reset()
	b.ok(t, "cache verify")
	require.Contains(t, b.out.String(), "; all well, in ")

	plan := cache.NewKey([]byte("plan"))
	require.NoError(t, c.Plans().Put(plan, cache.Metadata{Name: "tiles of 48 (quick)", Purpose: "evolve two",
		CompileSeconds: 2.5}, make([]byte, 500)))
	b.out.b.Reset()
	b.ok(t, "cache list")
	require.Regexp(t, `(?m)^plan +tiles of 48 \(quick\) +\d+ B +2\.5 s .* evolve two$`, b.out.String())
	// List said "all well" of programs that it had not read.
	require.Regexp(t, `2 programs, 10\.\d kB, and 1 plan, \d+ B, in .*cache\n`, b.out.String())

	damage := func(path string) {
		t.Helper()
		text := must(os.ReadFile(path))
		text[len(text)-1] ^= 1
		require.NoError(t, os.WriteFile(path, text, 0o644))
	}
	damage(filepath.Join(dir, cache.NewKey([]byte("one")).String()+".xlaprogram"))
	b.out.b.Reset()
	require.Equal(t, StatusFailed, b.do("cache", "verify", "--json"))
	require.Contains(t, b.err.String(), "xlarun cache verify: 1 entry is damaged")
	var got cacheContent
	require.NoError(t, json.Unmarshal([]byte(b.out.String()), &got))
	require.Equal(t, 1, got.Damaged)
	require.Len(t, got.Entries, 3)
	require.Equal(t, filepath.Dir(dir), got.Folder)

	damage(filepath.Join(c.Plans().Dir(), plan.String()+".xlaplan"))
	b.out.b.Reset()
	require.Equal(t, StatusFailed, b.do("cache", "verify"))
	require.Contains(t, b.err.String(), "xlarun cache verify: 2 entries are damaged")
	require.Regexp(t, `(?m)^plan +\(damaged\) +\d+ B +- +- .* entry is damaged: `, b.out.String())
	require.Contains(t, b.out.String(), "damaged: "+filepath.Join(c.Plans().Dir(), plan.String()+".xlaplan")+
		" (entry is damaged: ", "the file is named")
	require.Contains(t, b.out.String(), "; 2 damaged, in ")

	if os.Geteuid() == 0 { // who alone can give files away
		two := filepath.Join(dir, cache.NewKey([]byte("two")).String()+".xlaprogram")
		require.NoError(t, os.Chown(two, 4242, -1))
		b.out.b.Reset()
		require.Equal(t, StatusFailed, b.do("cache", "verify"))
		require.Contains(t, b.err.String(), "xlarun cache verify: 2 entries are damaged")
		require.Regexp(t, `(?m)^program +\(another user's\) +[0-9.]+ kB +- +- .* not run here$`, b.out.String())
		require.Contains(t, b.out.String(), "; 2 damaged, 1 of other users, in ")
		require.NoError(t, os.Chown(two, 0, -1))
	}

	// Only the damaged entries could not be removed alone.
	damaged := cache.NewKey([]byte("three"))
	require.NoError(t, c.Put(damaged, cache.Metadata{Name: "three"}, make([]byte, 50)))
	damage(filepath.Join(dir, damaged.String()+".xlaprogram"))
	require.NoError(t, c.Put(cache.NewKey([]byte("one")), cache.Metadata{Name: "one"}, make([]byte, 5000)))
	require.NoError(t, c.Plans().Put(plan, cache.Metadata{Name: "tiles of 48 (quick)"}, make([]byte, 500)))
	b.out.b.Reset()
	b.ok(t, "cache clear --damaged")
	require.Regexp(t, `^removed 1 program, \d+ B\n`, b.out.String())
	require.Len(t, must(c.Verify()), 2)

	old := time.Now().Add(-time.Hour) // the plan was used longest ago
	require.NoError(t, os.Chtimes(filepath.Join(c.Plans().Dir(), plan.String()+".xlaplan"), old, old))
	b.out.b.Reset()
	b.ok(t, "cache prune --max 6k")
	require.Regexp(t, `^removed 1 program, .* kB, and 1 plan, `, b.out.String())
	b.out.b.Reset()
	b.ok(t, "cache clear")
	require.Contains(t, b.out.String(), "removed 1 program,")
	require.Empty(t, must(c.List()))
}

func TestDoctor(t *testing.T) {
	b := newBed(t)
	require.Equal(t, StatusOK, b.do("doctor", "--backend", "reference"), "%s%s", b.out, b.err)
	require.Contains(t, b.out.String(), "a small program gave the right result on reference")
	require.NotContains(t, b.out.String(), "PROBLEM")

	t.Setenv("PJRT_PLUGIN_LIBRARY_PATH", "")
	b.out.b.Reset()
	require.Equal(t, StatusFailed, b.do("doctor"), "nothing is installed in an empty cache folder, and doctor "+
		"downloads nothing")
	require.Contains(t, b.out.String(), "PROBLEM backend  the plugin of cpu is not installed: run xlarun plugin "+
		"install cpu")
	require.Equal(t, "xlarun doctor: found 1 problem: see above for what to do\n", b.err.String())
}

// Every setting stands in the resolved config once, those of the chosen parts in their tables, and what belongs to the
// call does not.
func TestResolvedConfigHoldsEveryKey(t *testing.T) {
	for _, kind := range run.Kinds() {
		t.Run(kind.Name, func(t *testing.T) {
			x, err := new(flagValues).resolve(kind, "", nil)
			require.NoError(t, err)
			head, tables, _ := strings.Cut(x.text, "\n[")
			var parts []string
			for _, c := range settings.ChosenParts(x.Experiment) {
				parts = append(parts, c.Name)
				_, table, ok := strings.Cut(x.text, "\n["+c.Name+"]\n")
				require.True(t, ok, c.Name)
				table, _, _ = strings.Cut(table, "\n[")
				require.Equal(t, 1, strings.Count("\n"+table, "\nname = "), c.Name)
				for _, f := range settings.Fields(c.Settings) {
					if !run.InChoice(x.Experiment, c, f) {
						require.Equal(t, 1, strings.Count("\n"+table, "\n"+f.Name+" = "), f.Name)
					}
				}
			}
			for _, name := range append(append(settings.Names(x.Experiment), settings.Names(&x.session)...), "kind",
				"kind_version", "xlarun") {
				count := 1
				f, _ := settings.Lookup(x.Experiment, name)
				if session, found := settings.Lookup(&x.session, name); found {
					f = session
				}
				if f.FlagOnly() != "" {
					require.NotContains(t, "\n"+head, "\n"+name+" = ", "only a command line has it")
					continue
				}
				if slices.Contains(parts, name) || f.Type == "pairs" {
					count = 0 // it has a table
					require.Equal(t, 1, strings.Count("\n["+tables, "\n["+name+"]\n"), name)
				}
				require.Equal(t, count, strings.Count("\n"+head, "\n"+name+" = "), name)
			}
			for _, own := range []string{"config", "out", "json", "mirror", "resume"} {
				require.NotContains(t, "\n"+head+tables, "\n"+own+" = ")
			}

			// It is read back to the same settings, and written as the same text.
			c, err := parseConfig("config.toml", []byte(x.text))
			require.NoError(t, err)
			y, err := new(flagValues).resolve(kind, "", c)
			require.NoError(t, err)
			require.Equal(t, x.text, y.text)
			require.Equal(t, x.programs(), y.programs())
		})
	}
}
