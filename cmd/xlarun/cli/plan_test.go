package cli

import (
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"xlarun/rollout/run"
	"xlarun/rollout/settings"
)

// resolve resolves an experiment of evolve as its command does.
func resolve(args ...string) (*task, error) {
	kind, _ := run.Lookup("evolve")
	var g flagValues
	flags := pflag.NewFlagSet("evolve", pflag.ContinueOnError)
	g.addSettings(flags, kind)
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	return g.resolve(kind, strings.Join(flags.Args(), ""), nil)
}

// memory returns the setting of a task.
func memory(t *testing.T, x *task) string {
	f, ok := settings.Lookup(x.Experiment, "memory")
	require.True(t, ok)
	return f.Text()
}

// The resolved config of a run has the plan that ran.
func TestConfigRecordsThePlan(t *testing.T) {
	x, err := resolve("CartPole-v1", "--memory", "2G", "--tune", "quick")
	require.NoError(t, err)
	require.Equal(t, "2000000000", memory(t, x))
	text, err := x.configWith(settings.Values{"tile": 48, "batch-last": true, "unroll": 2, "vector-width": 512})
	require.NoError(t, err)
	for _, line := range []string{"tile = 48\n", "batch-last = true\n", "unroll = 2\n", "vector-width = 512\n",
		"tune = 'quick'\n", "memory = '2000000000'\n"} {
		require.Contains(t, text, line)
	}
}

func TestBadPlanFlags(t *testing.T) {
	for _, c := range []struct{ flag, value, want string }{
		{"--memory", "lots", `--memory got "lots", wants a number of bytes such as 2G, 500M or 1.5GiB`},
		{"--vector-width", "300", `--vector-width got 300, wants a power of two from 128 to 4096, or 0 to choose`},
	} {
		_, err := resolve(c.flag, c.value)
		require.EqualError(t, err, c.want)
	}
	_, err := resolve("--pop", "20000", "--policy", "mlp:64,64", "--memory", "3M")
	require.ErrorContains(t, err, "2.9 MiB that --memory allows; the largest population that fits is ")
	x, err := resolve("--memory", "")
	require.NoError(t, err, "nothing is what is free")
	require.Empty(t, memory(t, x))
}

// What did not fit was said of a setting that nobody gave. The sentence had two endings.
func TestDefaultsThatDoNotFit(t *testing.T) {
	resolve := func(name string, values map[string]string) error {
		kind, ok := run.Lookup(name)
		require.True(t, ok)
		_, err := (&flagValues{values: values}).resolve(kind, "", nil)
		return err
	}
	err := resolve("evolve", map[string]string{"strategy": "neat"})
	require.ErrorContains(t, err, `--policy got "mlp:16,16" (the default), wants `)
	require.NotContains(t, err.Error(), "too")
	require.ErrorContains(t, resolve("evolve", map[string]string{"strategy": "neat", "policy": "mlp:16,16"}),
		`--policy got "mlp:16,16", wants `, "it was given")
	require.ErrorContains(t, resolve("qd", map[string]string{"env": "MountainCar-v0"}),
		`--descriptor got "env" (the default), wants `)
	require.EqualError(t, resolve("islands", map[string]string{"pop": "4", "migrants": "5"}),
		"--migrants got 5, wants at most 1, half of the 2 groups of a population of 4")

	kind, _ := run.Lookup("evolve")
	x, err := (&flagValues{}).resolve(kind, "", nil)
	require.NoError(t, err)
	for _, c := range []struct {
		given string
		err   *settings.Error
		want  string
	}{
		{"", settings.Wrong("pop", 256, "less"), "--pop got 256 (the default), wants less"},
		{"pop", settings.Wrong("pop", 256, "less"), "--pop got 256, wants less"},
		{"pop of a file", settings.Wrong("pop", 256, "less"), `a.toml: key "pop" got 256, wants less`},
		{"", settings.Wrong("pop", 255, "less"), "--pop got 255, wants less"}, // another number than the setting's
		{"", settings.Wrong("strategy.sigma", .1, "more"), "--strategy.sigma got 0.1 (the default), wants more"},
		{"sigma", settings.Wrong("strategy.sigma", .1, "more"), "--strategy.sigma got 0.1, wants more"},
		{"strategy.sigma", settings.Wrong("strategy.sigma", .1, "more"), "--strategy.sigma got 0.1, wants more"},
		{"", settings.Wrong("strategy.color", "red", "more"), `--strategy.color got "red", wants more`},
		{"", settings.Wrong("color", "red", "more"), `--color got "red", wants more`},
		{"", settings.Wrong("island", "", "a name"), `--island got "", wants a name`},
	} {
		name, ofFile := strings.CutSuffix(c.given, " of a file")
		x.path, x.given = "a.toml", origins{name: {from: byFlag}}
		if ofFile {
			x.given.all(map[string]any{name: 256}, byFile)
		}
		require.EqualError(t, x.named(c.err), c.want)
	}
}

// The default of 5 migrants was refused for small populations.
func TestMigrantsFitThePopulation(t *testing.T) {
	for pop, want := range map[string]string{"4": "1", "16": "4", "20": "5", "64": "5"} {
		for _, name := range []string{"islands", "evolve"} {
			kind, ok := run.Lookup(name)
			require.True(t, ok)
			values := map[string]string{"pop": pop}
			if name == "evolve" {
				values["island"], values["migration-dir"] = "a", "shared"
			}
			x, err := (&flagValues{values: values}).resolve(kind, "", nil)
			require.NoError(t, err)
			require.Contains(t, x.text, "\nmigrants = "+want+"\n", "%s of %s", name, pop)
			require.Equal(t, want != "5", strings.Contains(strings.Join(x.notices, ""), "--migrants "+want))
		}
	}
	kind, _ := run.Lookup("islands")
	_, err := (&flagValues{values: map[string]string{"pop": "2"}}).resolve(kind, "", nil)
	require.EqualError(t, err, "--pop got 2, wants 4 or more: half of a population can leave, in groups of 2")
}
