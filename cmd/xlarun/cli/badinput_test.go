package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Every wrong input is one sentence on stderr that says what to do, status 2, nothing opened and nothing written.
func TestBadInput(t *testing.T) {
	cases := []struct {
		name string
		args string
		toml string // of file.toml
		want []string
	}{
		{"command", "evolv", "", []string{"xlarun: there is no command \"evolv\", did you mean evolve?", "doctor"}},
		{"subcommand", "cache lst", "", []string{"xlarun cache: there is no command \"lst\", did you mean list?"}},
		{"help of no command", "help evolv", "", []string{"xlarun help: there is no command \"evolv\", did you mean " +
			"evolve?", "doctor"}},
		{"help of no subcommand", "help cache lst", "", []string{"there is no command \"lst\", did you mean list?"}},
		{"help below a command", "help version more", "", []string{"there is no command \"more\": xlarun version has " +
			"none below it"}},
		{"environment", "evolve CartPol-v1", "", []string{"xlarun evolve: ", "CartPol-v1", "did you mean CartPole-v1?",
			"xlarun help environments"}},
		{"two environments", "evolve CartPole-v1 Acrobot-v1", "", []string{"got 2 arguments", "wants one environment"}},
		{"environment twice", "evolve CartPole-v1 --env Acrobot-v1", "", []string{"CartPole-v1 and --env Acrobot-v1"}},
		{"policy", "evolve --policy mpl:16", "", []string{"mpl", "mlp"}},
		{"policy sizes", "evolve --policy mlp:16,x", "", []string{"16,x", "mlp:16,16"}},
		{"strategy", "evolve --strategy opnes", "", []string{"opnes", "openes"}},
		{"population 0", "evolve --pop 0", "", []string{"--pop got 0, wants"}},
		{"population negative", "evolve --pop -4", "", []string{"--pop got -4, wants"}},
		{"population odd", "evolve --pop 255", "", []string{"--pop got 255", "even"}},
		{"migrants without an island", "evolve --migrants 3", "",
			[]string{"--migrants got 3, wants --island beside it: it has no effect otherwise"}},
		{"migration without an island", "evolve --migrate-every 3", "", []string{"--migrate-every got 3, wants " +
			"--island"}},
		{"an island without a folder", "evolve --pop 8 --island 3", "",
			[]string{`--island got "3", wants `, "--migration-dir with it, the folder that the islands share"}},
		{"more sampled members than there are", "evolve --pop 8 --sample 9", "",
			[]string{"--sample got 9, wants at most 8, the members of the population"}},
		{"islands below 0 with a range", "islands --islands -3 --strategy.sigma 0.02..0.5", "",
			[]string{"--islands got -3, wants a whole number from 2 to 1024"}},
		{"too many islands with a range", "islands --islands 100000000 --strategy.sigma 0.02..0.5", "",
			[]string{"--islands got 100000000, wants a whole number from 2 to 1024"}},
		{"more numbers than islands", "islands --islands 2 --strategy.sigma 0.1,0.2,0.3", "", []string{
			"--strategy.sigma got", "0.1,0.2,0.3", "at most 2 numbers, one for each island, or a range"}},
		{"memory of less than a byte an island", "islands --islands 4 --pop 8 --migrants 1 --memory 3", "",
			[]string{"--memory got 3, wants", "each of the 4 islands has a part of it"}},
		{"epochs beyond int", "selfplay --epochs 1e30", "", []string{"--epochs got 1e+30", "at most 1e6"}},
		{"a study from a variable that is not set", "evolve --from-study=", "", []string{
			"--from-study is empty: leave it out"}},
		{"an island from a variable that is not set", "evolve --island= --migration-dir x --migrate-every 5", "",
			[]string{"--island is empty: leave it out"}},
		{"form of a log", "evolve --log xml", "", []string{`--log got "xml", wants text or json`}},
		{"level of a display", "evolve --log-level debug", "", []string{"--log-level got debug, wants --log json"}},
		{"rows of a new run", "evolve --drop-rows", "",
			[]string{"--drop-rows got true, but it goes with --resume"}},
		{"actions of a random policy", "render CartPole-v1 --actions greedy", "",
			[]string{"--actions got greedy, but the policy random draws all actions alike"}},
		{"population no number", "evolve --pop many", "", []string{`--pop got "many", wants a whole number`}},
		{"population beyond 64 bits", "evolve --pop 99999999999999999999", "",
			[]string{"--pop got \"99999999999999999999\""}},
		{"population beyond memory", "evolve --pop 2000000000 --policy mlp:4096,4096", "", []string{"--pop"}},
		{"generations", "evolve --generations 0", "", []string{"--generations got 0"}},
		{"steps", "evolve --steps -1", "", []string{"--steps got -1"}},
		{"seed", "evolve --seed 1.5", "", []string{`--seed got "1.5", wants a whole number`}},
		{"seed beyond 64 bits", "evolve --seed 99999999999999999999", "", []string{
			`got "99999999999999999999", wants a whole number from -9223372036854775808 to 9223372036854775807`}},
		{"completion of no shell", "completion nosh", "",
			[]string{`there is no completion for the shell "nosh": bash, fish, powershell, zsh have one`}},
		{"devices", "evolve --devices -1", "", []string{"--devices got -1, wants 1 to 256"}},
		{"more devices than XLA's pool has threads", "evolve --devices 257", "",
			[]string{"--devices got 257, wants 1 to 256"}},
		{"another name of cuda", "evolve --backend gpu", "", []string{`--backend got "gpu"`, "did you mean cuda?"}},
		{"another name of cuda, of a plugin", "plugin path GPU", "", []string{`the backend "GPU" has no plugin`,
			"did you mean cuda?"}},
		{"backend", "evolve --backend cpuu", "", []string{`--backend got "cpuu"`, "did you mean cpu?"}},
		{"interpreter on devices", "evolve --jit=false --devices 2", "", []string{"--devices got 2", "reference"}},
		{"interpreter on cuda", "evolve --jit=false --backend cuda", "", []string{"--jit=false", "--backend cuda"}},
		{"flag", "evolve --polcy mlp", "", []string{"there is no flag --polcy, did you mean --policy?"}},
		{"short flag", "evolve -q", "", []string{"there is no flag -q"}},
		{"flag without value", "evolve --pop", "", []string{"--pop got no value, wants a whole number"}},
		{"boolean", "evolve --jit=maybe", "", []string{`--jit got "maybe", wants true or false`}},
		{"config missing", "evolve --config nofile.toml", "", []string{"--config nofile.toml cannot be read (no such " +
			"file or directory)"}},
		{"config is a folder", "evolve --config .", "",
			[]string{"--config . is a folder: give the path of a TOML file"}},
		{"key unknown", "evolve --config file.toml", "popu = 3",
			[]string{`file.toml: there is no key "popu", did you mean pop?; see xlarun evolve --help --all`}},
		{"key of one call", "evolve --config file.toml", `out = "x"`, []string{
			`there is no key "out", which is for the command line only: give --out there`}},
		{"mutations that never are", "sparse --mutate-every 0 --mutate-fraction 0.2", "",
			[]string{"--mutate-fraction got 0.2", "--mutate-every"}},
		{"migrants that never leave", "islands --migrate-every 0 --migrants 3", "",
			[]string{"--migrants got 3", "--migrate-every"}},
		{"a misspelled policy with an argument", "evolve --policy mpl:16", "", []string{"did you mean mlp?"}},
		{"key mistyped", "evolve --config file.toml", `pop = "many"`,
			[]string{`key "pop" got "many", wants a whole number`}},
		{"key a float", "evolve --config file.toml", `pop = 3.5`, []string{`key "pop" got 3.5, wants a whole number`}},
		{"key a table", "evolve --config file.toml", "[pop]\nx = 1",
			[]string{`there is no key "pop.x", did you mean pop?`}},
		{"key an array", "evolve --config file.toml", "policy = [16, 16]",
			[]string{`key "policy" got [16 16], wants a text`}},
		{"key a date", "evolve --config file.toml", "seed = 2026-01-01", []string{`got the date or time 2026-01-01`}},
		{"a long key that is cut within a letter", "evolve --config file.toml",
			`"` + strings.Repeat("a", 39) + strings.Repeat("ü", 20) + `" = 1`,
			[]string{`there is no key "` + strings.Repeat("a", 39) + `…"`}},
		{"key twice", "evolve --config file.toml", "learning-rate = 1\nlearning_rate = 2", []string{"stands twice"}},
		{"value in file", "evolve --config file.toml", `jit = 1`, []string{`key "jit" got 1, wants true or false`}},
		{"no toml", "evolve --config file.toml", "pop = = 3", []string{"file.toml:1:", "is no TOML"}},
		// 1: the config of a stranger made this program load native code.
		{"code in a file", "evolve --config file.toml", "plugin = './x.so'",
			[]string{`file.toml: key "plugin" got ./x.so`, "names code to load", "give --plugin on the command line"}},
		{"a misspelled command and a flag", "evlove --rounds 2", "",
			[]string{`there is no command "evlove", did you mean evolve?`}},
		{"samples without a folder", "evolve --sample 3 --out none", "",
			[]string{"--sample got 3, wants a folder of the run beside it", "--out none writes no files"}},
		{"checkpoints without a folder", "ppo --checkpoint-every 1 --out none", "",
			[]string{"--checkpoint-every got 1, wants a folder"}},
		{"a server in a file", "evolve --config file.toml", "join = 'nats://h:1/x'\ntoken-file = 'id_rsa'",
			[]string{`file.toml: key "join" got nats://h:1/x`, "names a server and files",
				"give --join on the command line"}},
		{"a token in a file", "evolve --config file.toml", "token-file = 'id_rsa'",
			[]string{`file.toml: key "token-file" got id_rsa`, "and a file must not"}},
		{"no token file", "evolve --join nats://h:1/x --token-file nosuch", "",
			[]string{"xlarun evolve: --token-file nosuch cannot be read (no such file or directory)"}},
		{"a token file that others read", "evolve --join nats://h:1/x --token-file open", "",
			[]string{"--token-file open has the permissions -rw-r--r--", "run chmod 600 open"}},
		{"a short token", "evolve --join nats://h:1/x --token-file short", "",
			[]string{"--token-file short has a token of 5 characters, wants 16 or more, as from head -c 24"}},
		{"a folder elsewhere", "evolve --config file.toml", "island = 'a'\nmigration-dir = '/home/x'",
			[]string{`key "migration-dir" got /home/x`, "only a path below the working directory"}},
		{"a folder above", "evolve --config file.toml", "island = 'a'\nmigration-dir = 'a/../../x'",
			[]string{`key "migration-dir" got a/../../x`, "only a path below the working directory"}},
		{"out is a file", "evolve --out taken", "", []string{"--out taken cannot be written", "is a file",
			"--out none"}},
		{"out below a file", "evolve --out taken/run", "", []string{"--out taken/run cannot be written"}},
		{"out where nothing can be", "evolve --out /proc/nothing/here", "",
			[]string{"--out /proc/nothing/here cannot be written"}},
		{"profile of two", "profile CartPole-v1 Acrobot-v1", "",
			[]string{"got 2 experiments", "wants one config file, environment or kind of run"}},
		{"inspect of two", "inspect ppo CartPole-v1 Acrobot-v1", "",
			[]string{"got 2 experiments (ppo, CartPole-v1"}},
		{"profile environment", "profile CartPol-v1", "", []string{"CartPol-v1", "did you mean CartPole-v1?"}},
		{"profile repeats", "profile --repeats 0", "", []string{"--repeats got 0, wants 1 or more"}},
		{"profile folder", "profile --out x", "", []string{"there is no flag --out; see xlarun profile --help"}},
		{"profile key", "profile file.toml", "popu = 3",
			[]string{`file.toml: there is no key "popu", did you mean pop?`}},
		{"profile file twice", "profile file.toml --config file.toml", "pop = 4",
			[]string{"got the config file file.toml and --config file.toml"}},
		{"warmup of nothing", "warmup", "", []string{"got no experiment, wants config files, environments or " +
			"kinds of run"}},
		{"warmup environment", "warmup CartPole-v1 Acrobt-v1", "", []string{"Acrobt-v1", "did you mean Acrobot-v1?"}},
		{"warmup file missing", "warmup nofile.toml", "", []string{"xlarun warmup: the config nofile.toml cannot be " +
			"read (no such file or directory)"}},
		{"warmup second file", "warmup CartPole-v1 file.toml", "pop = 3.5",
			[]string{`key "pop" got 3.5, wants a whole number`}},
		{"warmup jobs", "warmup CartPole-v1 --jobs 0", "", []string{"--jobs got 0, wants 1 or more"}},
		{"warmup interpreter", "warmup CartPole-v1 --backend reference", "", []string{"CartPole-v1 got the backend " +
			"reference, which compiles nothing"}},
		{"topology unknown", "inspect CartPole-v1 --topology h101", "", []string{`--topology got "h101", wants a ` +
			"card (h100, h200, a100"}},
		{"topology without its shape", "warmup CartPole-v1 --topology v5e", "", []string{"wants one such as v5e:2x2"}},
		{"topology of another backend", "inspect --topology h100 --backend tpu", "", []string{"a device of the " +
			"backend cuda, and --backend tpu: leave --backend out"}},
		{"topology smaller", "warmup CartPole-v1 --topology h100x2 --devices 4", "", []string{"--devices got 4, but " +
			"h100x2 has 2"}},
		{"topology as an argument", "warmup h100 CartPole-v1", "", []string{"got the argument h100, which names " +
			"devices: use --topology h100"}},
		{"topology of a file", "warmup file.toml", "topology = 'h100'", []string{`there is no key "topology", it is ` +
			"one of islands; devices to compile for are the flag --topology of inspect and warmup"}},
		{"topology of islands", "inspect CartPole-v1 --topology torus", "", []string{"has no --topology, " +
			"that is one of " +
			"islands; " +
			"devices to compile for, such as h100, are the flag --topology"}},
		{"plugin backend", "plugin install cud", "", []string{`"cud"`, "did you mean cuda?"}},
		{"plugin backends", "plugin path cpu cuda", "", []string{"wants one backend"}},
		{"prune", "cache prune --max lots", "", []string{`--max got "lots", wants a size such as 500M or 2G`}},
		{"1: an environment's parameter out of its range", "evolve --env-param max-steps=-3", "",
			[]string{
				`--env-param got "max-steps=-3", wants a whole number from 1 to 2147483647 for max-steps of ` +
					`CartPole-v1`}},
		{"2: rates in the wrong order", "evolve --strategy samrga --sigma-min 5 --sigma-max 1", "",
			[]string{"--strategy.sigma-min got 5, wants at most strategy.sigma-max, 1"}},
		{"3: a table of parameters with a name", "evolve --config file.toml", "[env-param]\nname = 3",
			[]string{`one of the parameters that CartPole-v1 has`, "name=3"}},
		{"4: measured and given", "evolve --tune full --tile 2", "", []string{"--tune got full, but the plan is " +
			"given (tile), so that there is nothing to measure: leave one of them out"}},
		{"5: measured, and given by the file", "evolve --tune quick --config file.toml",
			"unroll = 2\nbatch-last = true", []string{"--tune got quick, but the plan is given (batch-last, unroll)"}},
		{"arguments", "version x", "", []string{`got the argument "x", wants none`}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			requireBadInput(t, c.args, c.toml, c.want)
		})
	}
}

// requireBadInput runs a command line, with file.toml beside it where toml is not "": it is refused in one line that
// has all of want, before anything is opened or written.
func requireBadInput(t *testing.T, args, toml string, want []string) {
	t.Helper()
	b := newBed(t)
	b.write(t, "taken", "")
	if toml != "" {
		b.write(t, "file.toml", toml)
	}
	b.write(t, "open", "a-token-of-16-or-more")
	b.write(t, "short", "12345")
	require.NoError(t, os.Chmod("open", 0o644))
	require.NoError(t, os.Chmod("short", 0o600))
	before := b.files(t)
	require.Equal(t, StatusUsage, b.do(strings.Fields(args)...), "%s%s", b.err, b.out)
	require.Zero(t, b.opened, "nothing may be opened")
	require.Empty(t, b.out.String())
	require.Equal(t, 1, strings.Count(b.err.String(), "\n"), "one line: %s", b.err)
	require.Regexp(t, `^xlarun( \w+)*: `, b.err.String())
	for _, text := range want {
		require.Contains(t, b.err.String(), text)
	}
	require.Equal(t, before, b.files(t), "nothing may be written")
	require.NoDirExists(t, filepath.Join(b.dir, "runs"))
}

// A plugin that the user named and that cannot be used is found before anything is written.
func TestPluginThatIsNone(t *testing.T) {
	b := newBed(t)
	b.App.OpenBackend = openBackend
	text := filepath.Join(b.dir, "text.so")
	require.NoError(t, os.WriteFile(text, []byte("not a library"), 0o644))
	for path, want := range map[string]string{
		text:                            "not a shared library",
		filepath.Join(b.dir, "none.so"): "cannot be opened",
		b.dir:                           "holds no cpu plugin",
	} {
		b.refused(t, want, "evolve", "--plugin", path)
		require.Equal(t, 1, strings.Count(b.err.String(), "\n"))
		require.Equal(t, []string{"text.so"}, b.files(t))
		require.NoDirExists(t, filepath.Join(b.dir, "runs"))
	}
}
