package qd

import (
	"maps"
	"reflect"
	"slices"
	"sync"
)

// programs keeps the program that copies of a Config made last: the start of a run, the names of its metrics and the
// rows of its display need the same one.
type programs struct {
	lock sync.Mutex
	of   Config
	last *Program
}

// program returns the generation without its layout, for any machine. It is shared: its fields are not changed.
func (c *Config) program() (*Program, error) {
	kept := c.programs
	if kept == nil {
		return c.makeProgram()
	}
	kept.lock.Lock()
	defer kept.lock.Unlock()
	if kept.last != nil && reflect.DeepEqual(kept.of, *c) {
		return kept.last, nil
	}
	p, err := c.makeProgram()
	if err == nil {
		kept.last, kept.of = p, *c
		kept.of.Parted, kept.of.Reference = maps.Clone(c.Parted), slices.Clone(c.Reference)
	}
	return p, err
}
