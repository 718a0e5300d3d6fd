package run

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
)

var registry struct {
	sync.RWMutex
	kinds []Kind
}

var namePattern = regexp.MustCompile(`^[a-z][a-z0-9-]*$`)

// Register registers a kind of run. It becomes a command.
func Register(k Kind) error {
	if !namePattern.MatchString(k.Name) || k.New == nil || k.Unit == "" || k.Version < 1 {
		return fmt.Errorf("run.Register: got the kind %q, want a name of small letters, a Unit, a Version from 1 on "+
			"and a function New", k.Name)
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
