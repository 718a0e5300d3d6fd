package run

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"xlarun/rollout/settings"
)

var registry struct {
	sync.RWMutex
	kinds []Kind
}

// Reserved are the flags that commands of kinds have beside the settings of a kind: those of the session, of the call,
// of profile, inspect and warmup. A test of the commands compares them.
var Reserved = []string{"backend", "checkpoint-every", "codegen", "config", "drop-rows", "dump", "for", "from-study",
	"grace", "help", "jit", "jobs", "json", "keep", "log", "log-level", "memory-fraction", "mirror", "out", "peers",
	"peers-python", "phase", "plugin", "preallocate", "repeats", "resume", "rounds", "tensorboard-axis", "total-steps"}

var namePattern = regexp.MustCompile(`^[a-z][a-z0-9-]*$`)

// Register registers a kind of run. It becomes a command. It refuses settings that have the name of a Reserved flag.
func Register(k Kind) error {
	if !namePattern.MatchString(k.Name) || k.New == nil || k.Unit == "" || k.Version < 1 {
		return fmt.Errorf("run.Register: got the kind %q, want a name of small letters, a Unit, a Version from 1 on "+
			"and a function New", k.Name)
	}
	for _, name := range settings.Names(k.New()) {
		if slices.Contains(Reserved, name) {
			return fmt.Errorf("run.Register: the kind %q has a setting %q, and its command has a flag --%s of another "+
				"meaning: give the setting another name", k.Name, name, name)
		}
	}
	if k.Round == "" {
		k.Round = k.Unit
	}
	registry.Lock()
	defer registry.Unlock()
	at, found := slices.BinarySearchFunc(registry.kinds, k.Name, func(x Kind, name string) int {
		return strings.Compare(x.Name, name)
	})
	if found {
		return fmt.Errorf("run.Register: %s is registered already: choose another name", k.Name)
	}
	registry.kinds = slices.Insert(registry.kinds, at, k)
	return nil
}

// MustRegister is Register for init functions.
func MustRegister(k Kind) {
	if err := Register(k); err != nil {
		panic(err)
	}
}

// Kinds returns the registered kinds, sorted by name.
func Kinds() []Kind {
	registry.RLock()
	defer registry.RUnlock()
	return slices.Clone(registry.kinds)
}

// Lookup returns the kind with a name.
func Lookup(name string) (Kind, bool) {
	for _, k := range Kinds() {
		if k.Name == name {
			return k, true
		}
	}
	return Kind{}, false
}
