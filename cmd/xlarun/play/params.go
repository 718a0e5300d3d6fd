package play

import (
	"errors"
	"strings"

	"github.com/spf13/pflag"

	"xlarun/cmd/xlarun/console"
	"xlarun/envs"
	"xlarun/rollout/episode"
	"xlarun/rollout/settings"
)

// addParams adds the flags about the environment: that overrides its parameters, and its command.
func addParams(f *pflag.FlagSet, to *[]string) {
	AddAllowed(f)
	f.StringArrayVar(to, settings.EnvParam, nil, "parameter of the environment and its value, walls=0.2, or a range, "+
		"walls=0.1..0.3; repeatable (default as in the run)")
}

// setParams sets the parameters in the flags. The run's other parameters stay. The environment may have other sizes
// than in the run if its observations keep their shape.
func setParams(m *episode.Member, flags []string) error {
	if len(flags) == 0 {
		return nil
	}
	env, given, err := readParams(m.Env.Spec().ID, flags, m.EnvTexts())
	if err != nil {
		return err
	}
	shape, trained := env.Spec().Observation.Shape(), m.Env.Spec().Observation.Shape()
	if !shape.Equal(trained) {
		return console.BadInput("--%s %s makes observations of %s, but the member's policy wants %s: leave it out, or "+
			"train a member for it", settings.EnvParam, strings.Join(flags, ","), shape, trained)
	}
	m.Env, m.Given = env, given
	return nil
}

// readParams returns an environment with the parameters in the flags, and its other parameters.
func readParams(id string, flags []string, others settings.Pairs) (envs.Environment, []episode.EnvParam, error) {
	text := strings.Join(flags, ",")
	pairs, ok := settings.ParsePairs(text)
	if !ok {
		return nil, nil, console.BadInput("--%s got %q, wants NAME=VALUE, each name once", settings.EnvParam, text)
	}
	for name, text := range others {
		if _, ok := pairs[name]; !ok {
			pairs = pairs.With(name, text)
		}
	}
	env, err := envs.Make(id)
	if err != nil {
		return nil, nil, err
	}
	env, given, err := episode.ReadEnvParams(env, pairs)
	return env, given, flagError(err)
}

// flagError makes an error of a setting one that names its flag.
func flagError(err error) error {
	if e, ok := errors.AsType[*settings.Error](err); ok {
		return console.BadInput("--%s got %s, wants %s", e.Key, e.Got, e.Wants)
	}
	return err
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
	return flagError(m.SetActions(flag))
}
