package cli

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/envs"
	"xlarun/internal/long"
	"xlarun/rollout/ppo"
	"xlarun/rollout/qd"
	"xlarun/rollout/run"
	"xlarun/rollout/settings"
)

// What a kind suggests for an environment counts less than flags and files, and is saved with the run.
func TestSuggestedSettings(t *testing.T) {
	kind, ok := run.Lookup("ppo")
	require.True(t, ok)
	resolve := func(arg string, flags map[string]string, file string) *task {
		var c *configFile
		if file != "" {
			var err error
			c, err = parseConfig("a.toml", []byte(file))
			require.NoError(t, err)
		}
		k, err := (&flagValues{values: flags}).resolve(kind, arg, c)
		require.NoError(t, err)
		return k
	}
	get := func(k *task) string { return k.all()["gamma"].Text() + " " + k.all()["envs"].Text() }
	require.Equal(t, "0.99 4", get(resolve("MemoryChain-bsuite-v1", nil, "")))
	require.Empty(t, resolve("MemoryChain-bsuite-v1", nil, "").notices)
	k := resolve("Pendulum-v1", nil, "")
	require.Equal(t, "0.95 16", get(k))
	require.Len(t, k.notices, 1)
	require.Contains(t, k.notices[0], "settings for Pendulum-v1: --entropy-coef 0 --envs 16")
	require.Equal(t, "0.95 16", get(resolve("", nil, "env = 'Pendulum-v1'\n")))
	require.Equal(t, "0.96 16", get(resolve("Pendulum-v1", map[string]string{"gamma": ".96"}, "")))
	require.Equal(t, "0.95 8", get(resolve("", nil, "env = 'Pendulum-v1'\nenvs = 8\n")))
	require.Equal(t, "0.97 8", get(resolve("", map[string]string{"gamma": ".97"}, "env = 'Pendulum-v1'\nenvs = 8\n")))

	// The config of a run has all settings: nothing is added to one of an earlier version.
	require.Equal(t, get(k), get(resolve("", nil, k.text)))
	require.Equal(t, "0.99 4", get(resolve("", nil, "kind = 'ppo'\nkind_version = 3\nenv = 'Pendulum-v1'\n")))

	require.Equal(t, "cnn", resolve("Gather-v1", nil, "").all()["policy"].Text())
	require.Equal(t, "mlp:8", resolve("Gather-v1", map[string]string{"policy": "mlp:8"}, "").all()["policy"].Text())
}

// All suggestions are settings in their ranges, for environments that exist, and differ from the defaults. The short
// form traces the programs of the first environment of each policy, the long one those of all, also of environments
// without suggestions.
func TestSuggestionsAreSettings(t *testing.T) {
	kind, _ := run.Lookup("ppo")
	tuned, traced := 0, map[string]bool{} // policies
	for _, id := range envs.IDs() {
		c := ppo.DefaultConfig()
		before := map[string]string{}
		for _, f := range settings.Fields(&c) {
			before[f.Name] = f.Text()
		}
		c.Env = id
		values := c.Suggested()
		if env, err := envs.Make(id); err != nil || env.Spec().Players > 1 || len(values) == 0 && !long.On() {
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(values)) {
			f, ok := settings.Lookup(&c, name)
			require.True(t, ok, "%s %s", id, name)
			require.NoError(t, f.Set(values[name]))
			require.NotEqual(t, before[name], f.Text(), "%s %s is the default", id, name)
			tuned++
		}
		_, err := (&flagValues{inspects: traced[c.Policy] && !long.On()}).resolve(kind, id, nil)
		require.NoError(t, err, id)
		traced[c.Policy] = true
	}
	require.Greater(t, tuned, 10)
}

// A run says what was suggested, and goes on with it.
func TestSuggestionsStay(t *testing.T) {
	b := onInterpreter(t)
	b.ok(t, "ppo Pendulum-v1 --backend reference --steps 32 --horizon 2 --epochs 1 --minibatches 1 --policy linear "+
		"--eval-episodes 1 --out a")
	require.Contains(t, b.out.String(), "settings for Pendulum-v1: --entropy-coef 0 --envs 16 --gamma 0.95")
	require.Contains(t, read(t, "a", "config.toml"), "gamma = 0.95\n")
	b.ok(t, "ppo --resume a --steps 64")
	b.ok(t, "ppo a/config.toml --out b")
	require.NoError(t, os.RemoveAll("a"))
}

// TestQDSuggestionsAreAccepted: qd refused its own suggested reference point of MultiRastrigin-v0 and
// Gather-v1, without objectives and with others than the environment's own.
func TestQDSuggestionsAreAccepted(t *testing.T) {
	kind, _ := run.Lookup("qd")
	fronts := 0
	for _, id := range envs.IDs() {
		c := qd.DefaultConfig()
		c.Env, c.Front = id, 5
		env, err := envs.Make(id)
		suggested := c.Suggested()
		delete(suggested, "steps") // every kind of run suggests it
		if len(suggested) == 0 || err != nil {
			continue
		}
		flags := map[string]string{}
		if len(env.Spec().Descriptor.Dims) == 0 {
			flags["archive"], flags["descriptor"] = "unstructured", "observations"
			flags["descriptor.elements"], flags["descriptor.bounds"] = "0", "-1,1"
		}
		_, err = (&flagValues{values: flags}).resolve(kind, id, nil)
		require.NoError(t, err, id)
		if len(env.Spec().Objectives) > 0 {
			_, err = (&flagValues{values: map[string]string{"archive": "nsga2:20"}}).resolve(kind, id, nil)
			require.NoError(t, err, id)
			flags["archive"], flags["front"] = "grid:8", "5"
			_, err = (&flagValues{values: flags}).resolve(kind, id, nil)
			require.NoError(t, err, id)
			fronts++
		}
	}
	require.Equal(t, 3, fronts)
	three := map[string]string{"front": "5", "objectives": "at_0,at_2.2,return", "archive": "grid:8"}
	_, err := (&flagValues{values: three}).resolve(kind, "MultiRastrigin-v0", nil)
	require.ErrorContains(t, err, "wants 3 numbers with commas between, a value of each of at_0, at_2.2, return")
	named := map[string]string{"front": "5", "objectives": "at_2.2,at_0", "archive": "grid:8"}
	_, err = (&flagValues{values: named}).resolve(kind, "MultiRastrigin-v0", nil)
	require.NoError(t, err, "the environment suggests a point for objectives that are named, too")
	three["reference-point"] = "-4000,-4000,-4000"
	_, err = (&flagValues{values: three}).resolve(kind, "MultiRastrigin-v0", nil)
	require.NoError(t, err)
}

// A suggestion counts less than a file and a flag under another name of the setting. It won against the file, and the
// flag was refused as given twice.
func TestSuggestionsUnderAnotherName(t *testing.T) {
	kind, ok := run.Lookup("qd")
	require.True(t, ok)
	for _, c := range []struct {
		file  string
		flags map[string]string
		want  string
	}{
		{"", nil, "-5.12,5.12"},
		{"bounds = [-1.0, 1.0]\n", nil, "-1,1"},
		{"[emitter]\nname = 'isoline'\nbounds = [-1.0, 1.0]\n", nil, "-1,1"},
		{"", map[string]string{"bounds": "-1,1"}, "-1,1"},
		{"bounds = [-1.0, 1.0]\n", map[string]string{"emitter.bounds": "-2,2"}, "-2,2"},
		{"[emitter]\nname = 'isoline'\nbounds = [-1.0, 1.0]\n", map[string]string{"bounds": "-2,2"}, "-2,2"},
	} {
		file, err := parseConfig("a.toml", []byte("env = 'Rastrigin-v0'\n"+c.file))
		require.NoError(t, err)
		k, err := (&flagValues{values: c.flags}).resolve(kind, "", file)
		require.NoError(t, err, "%v", c)
		require.Equal(t, c.want, k.all()["emitter.bounds"].Text(), "%v", c)
	}
	_, err := (&flagValues{values: map[string]string{"bounds": "-1,1", "emitter.bounds": "-2,2"}}).resolve(kind,
		"Rastrigin-v0", nil)
	require.EqualError(t, err, "bounds and emitter.bounds are the same setting: give one of them")
}

// An error of a setting names it as the file or the command line does. One of a file's short key named a flag.
func TestErrorsNameTheKeyAsItIsWritten(t *testing.T) {
	kind, ok := run.Lookup("evolve")
	require.True(t, ok)
	for _, c := range []struct {
		file  string
		flags map[string]string
		want  string
	}{
		{"sigma = -1.0\n", nil, `a.toml: key "sigma" got -1`},
		{"[strategy]\nname = 'openes'\nsigma = -1.0\n", nil, `a.toml: key "strategy.sigma" got -1`},
		{"", map[string]string{"sigma": "-1"}, "--strategy.sigma got -1"},
		{"sigma = 0.5\n", map[string]string{"strategy.sigma": "-1"}, "--strategy.sigma got -1"},
		{"[strategy]\nname = 'openes'\nsigma = 0.5\n", map[string]string{"sigma": "-1"}, "--strategy.sigma got -1"},
		{"memory-fraction = 2.0\n", nil, `a.toml: key "memory-fraction" got 2`},
		{"memory-fraction = 0.5\nbackend = 'cuda'\n", map[string]string{"memory-fraction": "2"},
			"--memory-fraction got 2"},
		{"backend = 'cudo'\n", nil, `a.toml: key "backend" got "cudo"`},
		{"devices = -1\n", nil, `a.toml: key "devices" got -1`},
	} {
		file, err := parseConfig("a.toml", []byte("env = 'CartPole-v1'\n"+c.file))
		require.NoError(t, err)
		_, err = (&flagValues{values: c.flags}).resolve(kind, "", file)
		require.Error(t, err, "%v", c)
		require.True(t, strings.HasPrefix(err.Error(), c.want), "%v: %v", c, err)
	}
}

// A flag that switches a part off leaves the settings that need it without effect, also those of a file. They
// are the defaults again, and a line says so. It was an error that named only the file.
func TestFlagsThatSwitchSettingsOff(t *testing.T) {
	kind, ok := run.Lookup("evolve")
	require.True(t, ok)
	c, err := parseConfig("a.toml", []byte("env = 'CartPole-v1'\nvalidation-target = 60\nvalidation-episodes = 20\n"+
		"validation-param = 'gravity=20'\n"))
	require.NoError(t, err)
	for flag, want := range map[string]string{"70": "20 gravity=20", "0": "100 "} {
		k, err := (&flagValues{values: map[string]string{"validation-target": flag}}).resolve(kind, "", c)
		require.NoError(t, err)
		require.Equal(t, want, k.all()["validation-episodes"].Text()+" "+k.all()["validation-param"].Text())
		if flag == "0" {
			require.Contains(t, k.notices, "--validation-target 0 leaves validation-episodes of the file without "+
				"effect: it is "+
				"the default again")
			require.NotContains(t, k.text, "validation-episodes = 20")
		} else {
			require.Empty(t, k.notices)
		}
	}
}
