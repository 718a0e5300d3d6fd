package play

import (
	"errors"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"xlarun/cmd/xlarun/console"
	"xlarun/rollout/episode"
	"xlarun/rollout/settings"
)

// addParams adds the flag that overrides parameters of the environment.
func addParams(f *pflag.FlagSet, to *[]string) {
	f.StringArrayVar(to, settings.EnvParam, nil, "parameter of the environment and its value, walls=0.2, or a range, "+
		"walls=0.1..0.3; repeatable (default as in the run)")
}

// setParams sets the parameters in the flags. The run's other parameters stay.
func setParams(m *episode.Member, flags []string) error {
	if len(flags) == 0 {
		return nil
	}
	text := strings.Join(flags, ",")
	pairs, ok := settings.ParsePairs(text)
	if !ok {
		return console.BadInput("--%s got %q, wants NAME=VALUE, each name once", settings.EnvParam, text)
	}
	own, err := episode.ReadEnvParams(m.Env, pairs)
	if err != nil {
		if wrong := (*settings.Error)(nil); errors.As(err, &wrong) {
			err = console.BadInput("--%s got %s, wants %s", wrong.Key, wrong.Got, wrong.Wants)
		}
		return err
	}
	for _, p := range m.Given {
		if !slices.ContainsFunc(own, func(q episode.EnvParam) bool { return q.Name == p.Name }) {
			own = append(own, p)
		}
	}
	m.Given = own
	return nil
}

// addActions adds the flag that overrides how the member acts.
func addActions(f *pflag.FlagSet, to *string) {
	f.StringVar(to, "actions", "", "how the member acts: sampled, each action is drawn from its distribution, or "+
		"greedy, the most probable action (default the way that did better when it was saved)")
}

// setActions changes how the member acts, if the flag is given.
func setActions(m *episode.Member, flag string, given bool) error {
	if !given {
		return nil
	}
	err := m.SetActions(flag)
	if wrong := (*settings.Error)(nil); errors.As(err, &wrong) {
		return console.BadInput("--%s got %s, wants %s", wrong.Key, wrong.Got, wrong.Wants)
	}
	return err
}
