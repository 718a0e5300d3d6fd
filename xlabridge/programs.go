package xlabridge

import (
	"errors"
	"sync"
)

// Programs keeps the most recently used programs of Jit and ShardMap, one for each function, structure and set of
// shapes. The zero value is ready.
type Programs struct {
	// Most is the largest number of programs; 0 means 128. A program that is not kept is freed after its last use. A
	// later call compiles it again, or loads it from the cache.
	Most int

	mu   sync.Mutex
	kept map[programKey]*keptProgram
	uses int // of all programs
}

type programKey struct {
	f      *jit
	shapes string
}

type keptProgram struct {
	*Compiled
	used int // the number of its last use
}

// Len returns the number of programs that are kept.
func (p *Programs) Len() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.kept)
}

// Close frees all programs after the calls that use them. Functions that are called later compile again.
func (p *Programs) Close() error {
	p.mu.Lock()
	kept := p.kept
	p.kept = nil
	p.mu.Unlock()
	var errs []error
	for _, x := range kept {
		errs = append(errs, x.Close())
	}
	return errors.Join(errs...)
}

// get returns a program that is kept, or nil. The caller releases it.
func (p *Programs) get(key programKey) *Compiled {
	p.mu.Lock()
	defer p.mu.Unlock()
	x := p.kept[key]
	if x == nil || x.use() != nil {
		return nil
	}
	p.uses++
	x.used = p.uses
	return x.Compiled
}

// put keeps a program. It leaves the one that it drops to the garbage collector, because a call may be about to use it.
func (p *Programs) put(key programKey, x *Compiled) {
	p.mu.Lock()
	defer p.mu.Unlock()
	most := p.Most
	if most <= 0 {
		most = 128
	}
	for len(p.kept) >= most {
		var oldest programKey
		first := p.uses + 1
		for k, x := range p.kept {
			if x.used < first {
				oldest, first = k, x.used
			}
		}
		delete(p.kept, oldest)
	}
	if p.kept == nil {
		p.kept = map[programKey]*keptProgram{}
	}
	p.uses++
	p.kept[key] = &keptProgram{x, p.uses}
}
