package cli

import (
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"xlarun/rollout/evolve"
)

// resolveFlags resolves an experiment as the command line does.
func resolveFlags(args ...string) (*evolveFlags, *pflag.FlagSet, error) {
	var o evolveFlags
	flags := pflag.NewFlagSet("evolve", pflag.ContinueOnError)
	o.add(flags)
	if err := flags.Parse(args); err != nil {
		return nil, nil, err
	}
	_, err := o.resolve(flags, flags.Args())
	return &o, flags, err
}

// The resolved config of a run has the plan that ran.
func TestConfigRecordsThePlan(t *testing.T) {
	o, flags, err := resolveFlags("CartPole-v1", "--memory", "2G", "--tune", "quick")
	require.NoError(t, err)
	require.Equal(t, int64(2e9), o.config.Memory)
	r := &evolveRun{flags: o, commandRun: commandRun{given: flags}}
	require.NoError(t, r.recordPlan(evolve.Profile{Tile: 48, LanesLast: true, Unroll: 2}))
	for _, line := range []string{"tile = 48\n", "lanes-last = true\n", "unroll = 2\n", "tune = 'quick'\n", "memory = '2G'\n"} {
		require.Contains(t, r.config, line)
	}
}

func TestBadPlanFlags(t *testing.T) {
	for _, c := range []struct{ flag, value, want string }{
		{"--memory", "lots", `--memory got "lots", wants a number of bytes such as 2G, 500M or 1.5GiB`},
		{"--memory", "0", `--memory got "0", wants a number of bytes such as 2G, 500M or 1.5GiB`},
		{"--tune", "fast", `--tune got "fast", wants one of auto, off, quick, full`},
		{"--keys", "devices", `--keys got "devices", wants one of global, device; did you mean device?`},
		{"--unroll", "99", `--unroll got 99, wants a whole number from 0 to 64, 0 for the default`},
	} {
		_, _, err := resolveFlags(c.flag, c.value)
		require.EqualError(t, err, c.want)
	}
	_, _, err := resolveFlags("--pop", "20000", "--policy", "mlp:64,64", "--memory", "5M")
	require.ErrorContains(t, err, "4.8 MiB is allowed; the largest population that fits is ")
}
