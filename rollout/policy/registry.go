package policy

import (
	"xlarun/envs"
	"xlarun/rollout/settings"
)

var registry = settings.NewRegistry[Maker]("policy", "policy", "policy")

// Register adds a policy, for Make and the command line. maker returns a Maker with the default settings. Register
// refuses a name with a colon and a name that is taken.
//
// Checkpoints and saved members identify a policy by its name, and no version covers the meaning of its parameters. A
// checkpoint of a strategy among vectors has only their number. If the meaning of parameters changes, register the policy under
// another name: otherwise old files are played with wrong numbers.
func Register(name string, maker func() Maker) error { return registry.Register(name, maker) }

// MustRegister is Register for init functions.
func MustRegister(name string, maker func() Maker) { registry.MustRegister(name, maker) }

// Names lists the registered policies, sorted.
func Names() []string { return registry.Names() }

// Part returns the part "policy" of a kind of run's settings.
func Part() settings.Part { return registry.Part() }

// MakerOf returns the maker of a spec, "name" or "name:arguments", with settings by name. Its errors are
// *settings.Error. For an unknown name it lists the policies and suggests the nearest.
func MakerOf(spec string, values settings.Values) (Maker, error) {
	return registry.Choose(spec, values)
}

// checked returns a *settings.Error for the first setting out of its range. MakerOf has checked what it fills, other
// callers of Make may not have.
func checked(s any) error { return settings.Values{}.Apply(s, "the policy", "policy.") }

// Make returns the policy of a spec for an environment with these spaces, and the head for its actions.
func Make(spec string, values settings.Values, observation, action envs.Space) (Policy, Head, error) {
	m, err := MakerOf(spec, values)
	if err != nil {
		return nil, nil, err
	}
	h, err := HeadOf(action)
	if err != nil {
		return nil, nil, err
	}
	p, err := Build(m, observation, h.Size())
	return p, h, err
}
