package fetch

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// Way is one way to come by an artefact.
type Way struct {
	// Name stands in notices and errors.
	Name string
	// Has, where not nil, tells whether the way is worth trying for a.
	Has func(a *Artefact) bool
	// Get writes the file of a into dst, which checks it.
	Get func(ctx context.Context, a *Artefact, dst *Sink) error
}

// Fetch brings the artefact to the file path, checked, by the first way that works. The error lists what each way said.
// notice may be nil.
func Fetch(ctx context.Context, a *Artefact, path string, ways []Way, p *Progress, notice func(string)) error {
	dst, err := NewSink(path, a, p.At)
	if err != nil {
		return WriteError{err}
	}
	defer dst.Close()
	var said []string
	for _, way := range ways {
		if way.Has != nil && !way.Has(a) {
			continue
		}
		if notice != nil {
			notice(fmt.Sprintf("getting %s (%s) by %s", a.Label(), Megabytes(a.Size), way.Name))
		}
		err := dst.reset()
		if err == nil {
			err = way.Get(ctx, a, dst)
		}
		if err == nil {
			err = dst.Finish()
		}
		switch {
		case err == nil:
			return nil
		case final(ctx, err):
			return err
		default:
			said = append(said, fmt.Sprintf("%s: %v", way.Name, Cause(err)))
		}
	}
	if len(said) == 0 {
		return errors.New("there is no way to download it")
	}
	return errors.New(strings.Join(said, "; "))
}

// Progress adds up the bytes of several artefacts. It never falls back: one that is begun anew is reported again once
// it is further than before.
type Progress struct {
	Report      func(done, total int64) // may be nil
	Base, Total int64                   // bytes of the artefacts that are done; of all
	told        int64
}

// At says that n bytes of the present artefact are there.
func (p *Progress) At(n int64) {
	if done := p.Base + n; p.Report != nil && done > p.told {
		p.told = done
		p.Report(done, p.Total)
	}
}
