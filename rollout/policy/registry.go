package policy

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"xlarun/envs"
	"xlarun/rollout/settings"
)

// registry maps names to functions that give a Maker with the default settings.
var registry = struct {
	sync.RWMutex
	makers map[string]func() Maker
}{makers: map[string]func() Maker{}}

// Register makes a policy known to Make, and so to the command line. maker gives a Maker with the default settings. The
// name has no colon; one that is taken is refused.
//
// Checkpoints and saved members know a policy by its name, and no version covers what its parameters mean; a checkpoint of a
// strategy.Flat does not even know their names, only how many there are. Who changes what parameters mean registers the policy
// under another name: old files are then refused, where they would play with wrong numbers.
func Register(name string, maker func() Maker) error {
	if name == "" || strings.ContainsAny(name, ": ") || maker == nil {
		return fmt.Errorf("policy.Register: got name %q, want one without colons and blanks, and a function that gives the maker", name)
	}
	registry.Lock()
	defer registry.Unlock()
	if registry.makers[name] != nil {
		return fmt.Errorf("policy.Register: %s is registered already: choose another name", name)
	}
	registry.makers[name] = maker
	return nil
}

// MustRegister is Register for init functions.
func MustRegister(name string, maker func() Maker) {
	if err := Register(name, maker); err != nil {
		panic(err)
	}
}

// Names lists the registered policies, sorted.
func Names() []string {
	registry.RLock()
	defer registry.RUnlock()
	return slices.Sorted(maps.Keys(registry.makers))
}

// Part is the part "policy" of a kind of run's settings.
func Part() settings.Part {
	p := settings.Part{Name: "policy", Choices: map[string]any{}}
	for _, name := range Names() {
		p.Choices[name], _ = lookup(name)
	}
	return p
}

func lookup(name string) (Maker, bool) {
	registry.RLock()
	maker := registry.makers[name]
	registry.RUnlock()
	if maker == nil {
		return nil, false
	}
	return maker(), true
}

// MakerOf gives the maker of a spec, "name" or "name:arguments", with the settings own by name. Its errors are
// *settings.Error; that for an unknown name lists those that exist and suggests the nearest.
func MakerOf(spec string, own settings.Values) (Maker, error) {
	name, args, given := strings.Cut(spec, ":")
	m, ok := lookup(name)
	if !ok {
		e := settings.Unknown("policy", name, Names())
		e.Got = strconv.Quote(spec)
		return nil, e
	}
	if given {
		field := argsField(m)
		if field == "" {
			return nil, settings.Wrong("policy", spec, "%q: this policy takes nothing behind a colon", name)
		}
		if _, twice := own[field]; twice {
			return nil, settings.Wrong("policy."+field, own[field], "it either here or behind the colon of %q, not both", spec)
		}
		f, _ := settings.Lookup(m, field)
		if err := f.Set(args); err != nil || strings.TrimSpace(args) == "" || settings.Check(m) != nil {
			return nil, settings.Wrong("policy", spec, "%s, as in %q", f.Wants, name+":"+f.Default)
		}
	}
	if err := own.Apply(m, "the policy "+name, "policy."); err != nil {
		return nil, err
	}
	return m, nil
}

// argsField is the setting that takes what stands behind a spec's colon.
func argsField(m Maker) string {
	for _, f := range settings.Fields(m) {
		if f.IsArgument() {
			return f.Name
		}
	}
	return ""
}

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
