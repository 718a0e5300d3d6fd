package policy

import (
	"xlarun/envs"
	"xlarun/rollout/settings"
)

var registry = settings.NewRegistry[Maker]("policy", "policy", "policy")

// Register makes a policy known to Make, and so to the command line. maker gives a Maker with the default settings. The
// name has no colon; one that is taken is refused.
//
// Checkpoints and saved members know a policy by its name, and no version covers what its parameters mean; a checkpoint
// of a strategy.Flat does not even know their names, only how many there are. Who changes what parameters mean
// registers the policy under another name: old files are then refused, where they would play with wrong numbers.
func Register(name string, maker func() Maker) error { return registry.Register(name, maker) }

// MustRegister is Register for init functions.
func MustRegister(name string, maker func() Maker) { registry.MustRegister(name, maker) }

// Names lists the registered policies, sorted.
func Names() []string { return registry.Names() }

// Part is the part "policy" of a kind of run's settings.
func Part() settings.Part { return registry.Part() }

// MakerOf gives the maker of a spec, "name" or "name:arguments", with the settings own by name. Its errors are
// *settings.Error; that for an unknown name lists those that exist and suggests the nearest.
func MakerOf(spec string, own settings.Values) (Maker, error) { return registry.Choose(spec, own) }

// checked finds the first of a policy's settings that is out of its range, as of a struct that was not filled by
// MakerOf. Its error is a *settings.Error.
func checked(s any) error { return settings.Values{}.Apply(s, "the policy", "policy.") }

// Make makes the policy of a spec for an environment with the given spaces, and the head for its actions.
func Make(spec string, own settings.Values, observation, action envs.Space) (Policy, Head, error) {
	m, err := MakerOf(spec, own)
	if err != nil {
		return nil, nil, err
	}
	h, err := HeadOf(action)
	if err != nil {
		return nil, nil, err
	}
	p, err := m.Make(observation, h.Size())
	return p, h, err
}
