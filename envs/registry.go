package envs

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/agnivade/levenshtein"
)

// registry maps ids to constructors; importing a family registers its environments. openers are by scheme.
var registry = struct {
	sync.RWMutex
	make    map[string]func() Environment
	openers map[string]func(source string) (Environment, error)
}{make: map[string]func() Environment{}, openers: map[string]func(string) (Environment, error){}}

var idPattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_./-]*-v[0-9]+$`)

// Register adds an environment to the registry of Make and of the command line. Errors: an id that is not of the form
// "Name-vN" or is already registered, a nil constructor.
func Register(id string, make func() Environment) error {
	if !idPattern.MatchString(id) {
		return fmt.Errorf(`envs.Register: got id %q, want "Name-vN", as in "CartPole-v1"`, id)
	}
	if make == nil {
		return fmt.Errorf("envs.Register: the constructor of %s is nil, want a function that returns the environment",
			id)
	}
	registry.Lock()
	defer registry.Unlock()
	if registry.make[id] != nil {
		return fmt.Errorf("envs.Register: %s is registered already: choose another name or raise its version", id)
	}
	registry.make[id] = make
	return nil
}

// MustRegister registers e under its Spec's ID. It panics if Register returns an error. Call it in an init function of
// the environment's file.
func MustRegister[S, P any](e Env[S, P]) {
	if err := Register(e.Spec().ID, func() Environment { return Erase(e) }); err != nil {
		panic(err)
	}
}

// MustRegisterScheme makes "SCHEME:SOURCE" the id of an environment that comes from outside of the program, such as
// from files. open returns it; its Spec has an ID that opens the same environment again. It panics if the scheme is
// taken.
func MustRegisterScheme(scheme string, open func(source string) (Environment, error)) {
	registry.Lock()
	defer registry.Unlock()
	if registry.openers[scheme] != nil {
		panic(fmt.Sprintf("envs.MustRegisterScheme: %s is registered already", scheme))
	}
	registry.openers[scheme] = open
}

// SchemeOf returns the scheme of an id and what comes after it: "program" and "folder" of "program:folder"; ok is false
// for the id of a registered environment.
func SchemeOf(id string) (scheme, source string, ok bool) {
	scheme, source, ok = strings.Cut(id, ":")
	registry.RLock()
	defer registry.RUnlock()
	return scheme, source, ok && registry.openers[scheme] != nil
}

// Make returns the environment registered under id, or opens the one of a scheme. The error for an unknown id lists
// those that exist and suggests the nearest.
func Make(id string) (Environment, error) {
	if scheme, source, ok := SchemeOf(id); ok {
		registry.RLock()
		open := registry.openers[scheme]
		registry.RUnlock()
		return open(source)
	}
	registry.RLock()
	make := registry.make[id]
	registry.RUnlock()
	if make != nil {
		return make(), nil
	}
	ids := IDs()
	if len(ids) == 0 {
		return nil, fmt.Errorf("envs: there is no environment %q, because none is registered: import xlarun/envs/all "+
			"or single families", id)
	}
	hint := ""
	if near := Nearest(id, ids); near != "" {
		hint = fmt.Sprintf(", did you mean %s?", near)
	}
	return nil, fmt.Errorf("envs: there is no environment %q%s; known are %s", id, hint, strings.Join(ids, ", "))
}

// IDs lists the registered environments, sorted.
func IDs() []string {
	registry.RLock()
	defer registry.RUnlock()
	return slices.Sorted(maps.Keys(registry.make))
}

// Nearest is the known name with the smallest edit distance to name, ignoring case; "" if none is near.
func Nearest(name string, known []string) string {
	name = strings.ToLower(name)
	stem := strings.TrimSuffix(name, "s")
	best, distance := "", max(len(name)/3+1, min(len(name)/2+1, 3)) // a third of a long name may be wrong
	for _, k := range known {
		low := strings.ToLower(k)
		if utf8.RuneCountInString(name)-utf8.RuneCountInString(low) > distance { // any text may stand for a name
			continue
		}
		d := levenshtein.ComputeDistance(name, low)
		if i := strings.LastIndex(low, "-v"); i > 0 { // its version may be missing
			d = min(d, levenshtein.ComputeDistance(name, low[:i]))
		}
		if name != "" && strings.HasPrefix(low, name) { // "cartpole" without its version
			d = 0
		}
		if len(stem) >= 3 && strings.HasPrefix(low, stem) { // "envs" for environments
			d = 0
		}
		if swapped(name, low) {
			d = min(d, 1)
		}
		if d < distance {
			best, distance = k, d
		}
	}
	return best
}

// swapped says whether two names differ in the order of two neighbors.
func swapped(a, b string) bool {
	if len(a) != len(b) || a == b {
		return false
	}
	i := 0
	for a[i] == b[i] {
		i++
	}
	return i+1 < len(a) && a[i] == b[i+1] && a[i+1] == b[i] && a[i+2:] == b[i+2:]
}
