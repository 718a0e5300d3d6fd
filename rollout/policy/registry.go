package policy

import (
	"reflect"
	"sync"

	"xlarun/envs"
	"xlarun/rollout/settings"
)

var (
	registry    = settings.NewRegistry[Maker]("policy", "policy", "policy")
	makerTraits sync.Map // of the registered types: func(m any) MakerTraits
)

// MakerTraits are what a policy's settings can do beyond Make. A zero value or a nil function means that they cannot.
type MakerTraits struct {
	// Genomes says that parameters are genomes.
	Genomes bool
	// Fixed says that the network cannot have another number of outputs, so that a critic is another network.
	Fixed bool
	// AnyOutputs returns a Maker that makes the network with any number of outputs, for critics, if the network comes
	// with its number of outputs.
	AnyOutputs func() Maker
	// WithoutFile changes File.Kept into settings that read no file: it returns the settings that differ, nil for other
	// settings.
	WithoutFile func() settings.Values
	// ReadCopy reads a copy of the policy's file. Settings with its digest, as File.Kept has them, then make the policy
	// of the copy, and need the file no more.
	ReadCopy func(path string) error
}

// TraitsOf returns the traits of a policy's settings.
func TraitsOf(m any) (t MakerTraits) {
	if traits, ok := makerTraits.Load(reflect.TypeOf(m)); ok {
		return traits.(func(any) MakerTraits)(m)
	}
	return t
}

// MustRegister adds a policy, for Make and the command line. defaults are its default settings. traits, one at most,
// says what they can do beyond Make. It panics for a name with a colon and a name that is taken.
//
// Checkpoints and saved members identify a policy by its name, and no version covers the meaning of its parameters. A
// checkpoint of a strategy among vectors has only their number. If the meaning of parameters changes, register the
// policy under another name: otherwise old files are played with wrong numbers.
func MustRegister[M Maker](name string, defaults M, traits ...func(M) MakerTraits) {
	registry.MustRegister(name, func() Maker { return settings.Copy(defaults) })
	for _, of := range traits {
		makerTraits.Store(reflect.TypeOf(defaults), func(m any) MakerTraits { return of(m.(M)) })
	}
}

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
