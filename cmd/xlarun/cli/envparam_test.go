package cli

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/rollout/evolve"
	"xlarun/rollout/settings"
)

// The parameters of an environment come from the file's table and from flags, which win one by one.
func TestEnvParamsAreGathered(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile("a.toml", []byte("env = 'CartPole-v1'\n[env-param]\nmass_cart = 2\ngravity = "+
		"'9..1e1'\n"), 0o644))
	require.NoError(t, os.WriteFile("text.toml", []byte("env_param = 'mass-cart=2'\n"), 0o644))
	require.NoError(t, os.WriteFile("bad.toml", []byte("[env-param]\nmass = 2\n"), 0o644))
	require.NoError(t, os.WriteFile("list.toml", []byte("[env-param]\ntau = [1, 2]\n"), 0o644))
	for _, c := range []struct {
		number int
		file   string
		flags  []string
		want   string // its text, or its error
		fails  bool
	}{
		{number: 1, want: ""},
		{number: 2, flags: []string{"tau=.01", "mass_cart=1..2"}, want: "mass-cart=1..2,tau=0.01"},
		{number: 3, file: "a.toml", want: "gravity=9..10,mass-cart=2"},
		{number: 4, file: "a.toml", flags: []string{"mass-cart=3", "tau=1"}, want: "gravity=9..10,mass-cart=3,tau=1"},
		{number: 5, file: "text.toml", want: "mass-cart=2"},
		{number: 6, file: "text.toml", flags: []string{"tau=1"}, want: "mass-cart=2,tau=1"},
		{number: 7, file: "bad.toml", fails: true,
			want: `bad.toml: key "env-param" got "mass=2", wants one of the parameters that CartPole-v1 has`},
		{number: 8, file: "list.toml", fails: true, want: `list.toml: key "env-param" got`},
		{number: 9, flags: []string{"mass=2"}, fails: true, want: `--env-param got "mass=2", wants one of`},
		{number: 10, file: "a.toml", flags: []string{"mass=2"}, fails: true, want: `"mass=2", wants one of`},
		{number: 11, file: "a.toml", flags: []string{"tau"}, fails: true,
			want: `--env-param got "tau", wants NAME=VALUE`},
		{number: 12, flags: []string{"tau=1", "tau=2"}, fails: true,
			want: `--env-param got "tau=1,tau=2", wants NAME=VALUE`},
	} {
		g := &flagValues{values: map[string]string{}}
		for _, text := range c.flags {
			require.NoError(t, setting{g, settings.EnvParam, "pairs"}.Set(text))
		}
		g.own.file = c.file
		x, err := g.readTask("")
		if c.fails {
			require.ErrorContains(t, err, c.want, "case %d", c.number)
			continue
		}
		require.NoError(t, err, "case %d", c.number)
		require.Equal(t, c.want, x.Experiment.(*evolve.Config).EnvParam.String(), "case %d", c.number)
		again, err := parseConfig("again.toml", []byte(x.text))
		require.NoError(t, err)
		same, err := (&flagValues{}).resolve(x.Kind, "", again)
		require.NoError(t, err)
		require.Equal(t, x.text, same.text, "case %d", c.number)
	}
}

// A run with parameters from ranges goes on to the byte, with no others; its members keep them.
func TestEnvParamsOfARun(t *testing.T) {
	b := onInterpreter(t)
	args := strings.Fields("evolve CartPole-v1 --backend reference --policy linear --pop 8 --steps 6 " +
		"--eval-episodes 3 --target 0 --env-param max-steps=2..5 --env-param tau=0.03 --checkpoint-every 1 --keep 100")
	b.ok(t, append(args, "--generations", "4", "--out", "whole")...)
	b.ok(t, append(args, "--generations", "2", "--out", "part")...)
	require.Contains(t, read(t, "whole", "config.toml"), "\n[env-param]\nmax-steps = '2..5'\ntau = 0.03\n")
	b.refused(t,
		"--env-param got max-steps=2..5,tau=0.02, but the run in part was started "+"with max-steps=2..5,tau=0.03",
		"evolve --resume part --env-param tau=0.02")
	b.ok(t, "evolve --resume part --generations 4 --env-param tau=.03")
	requireSame(t, "whole", "part", "metrics.jsonl", "best.safetensors", "final.safetensors", "best.gif")
	b.ok(t, "play whole --backend reference --episodes 40 --gif none")
	require.True(t, strings.Contains(b.out.String(), "from 2.0 to 5.0"), b.out.String())
}
