package xlabridge

import (
	"errors"
	"sync"
)

// Programs keeps the programs that functions of Jit and ShardMap compiled, one for each function, structure and set of
// shapes, the most recently used ones. The zero value is ready.
type Programs struct {
	// Most is how many are kept; 0: 128. One that is not kept is freed when nobody uses it any more, and compiled
	// again, from the cache, when it is wanted again.
	Most int

	mu   sync.Mutex
	kept map[programKey]*keptProgram
	uses int // of all, so far
}

type programKey struct {
	f      *jit
	shapes string
}

type keptProgram struct {
	*Compiled
	used int // the number of its last use
}

// Len is how many programs are kept.
func (p *Programs) Len() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.kept)
}

// Close frees all programs that are kept, after the calls that use them. Functions that are called later compile again.
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

// get is the program that is kept, if there is one; the caller releases it.
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

// put keeps a program. The one that has to go is left to the garbage collector: a call may be about to use it.
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
