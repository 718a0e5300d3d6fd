package qd

import (
	"maps"
	"reflect"
	"slices"
	"sync"
)

// programCache holds one program: that of the Config which asked last. Copies of a Config share the cache, since the
// start of a run, the names of its metrics and the rows of its display need the same program. A Config of other
// settings replaces it.
type programCache struct {
	mu      sync.Mutex
	key     Config // the settings of the program; it shares no map or slice of them with its origin
	program *Program
}

// program returns the generation without its layout, for any machine. It is shared: a caller that changes a field, such
// as Play, changes a copy of the Program and of what the field points to.
func (c *Config) program() (*Program, error) {
	cache := c.cache
	if cache == nil {
		return c.makeProgram()
	}
	cache.mu.Lock()
	defer cache.mu.Unlock()
	if cache.program != nil && reflect.DeepEqual(cache.key, *c) {
		return cache.program, nil
	}
	p, err := c.makeProgram()
	if err == nil {
		cache.program, cache.key = p, *c
		cache.key.Parted, cache.key.Reference = maps.Clone(c.Parted), slices.Clone(c.Reference)
	}
	return p, err
}
