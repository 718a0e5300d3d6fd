package studies

import (
	"context"
	"errors"
	"slices"
	"time"
)

// checkpointWhenDue returns a function that stores a checkpoint when it is due.
func (a *attempt) checkpointWhenDue(ctx context.Context) func(state func() (*checkpoint, error)) error {
	every, _ := a.spec.checkpointInterval() // it was checked
	return func(state func() (*checkpoint, error)) error {
		now := time.Now()
		a.mu.Lock()
		a.lastStep = now
		due := every > 0 && now.Sub(a.lastStored) >= every
		a.mu.Unlock()
		if !due {
			return nil
		}
		p, err := state()
		if err != nil {
			return err
		}
		p.Reported = a.reports
		ttl, _ := a.spec.leaseTime() // it was checked
		// The trial stands still meanwhile, also where the coordinator does not answer.
		err = a.store(ctx, trialFile(a.trial), p, min(longestStore, ttl/2))
		a.mu.Lock()
		a.lastStored = time.Now()
		a.mu.Unlock()
		if errors.Is(err, errLost) {
			a.cancel(errLost)
			return err
		}
		return nil // after another error the next checkpoint is stored
	}
}

// longestStore is how long the coordinator may take to store a small checkpoint.
const longestStore = 10 * time.Second

// store has the coordinator store a checkpoint within a time, or a second for each megabyte.
func (a *attempt) store(ctx context.Context, name string, p *checkpoint, within time.Duration) error {
	data, err := encoded(p)
	if err != nil {
		return err
	}
	file := withDigest(data)
	within = max(within, time.Duration(len(file)/1e6)*time.Second)
	ctx, done := context.WithTimeout(ctx, within)
	defer done()
	q := request{Trial: a.trial, File: name, Part: part{Digest: file[:8], Of: (len(file) + partSize - 1) / partSize}}
	for data := range slices.Chunk(file, partSize) {
		q.Part.Data = data
		r, err := a.ask(ctx, keepKind, q)
		switch {
		case err != nil:
			return err
		case r.Lost:
			return errLost
		case r.Failed != "":
			return errors.New(r.Failed)
		}
		q.Part.Number++
	}
	return nil
}

// fetch reads a checkpoint that was stored. It never returns nil without an error.
func (a *attempt) fetch(ctx context.Context, name string) (*checkpoint, error) {
	var file []byte
	q := request{Trial: a.trial, File: name}
	for of := 1; q.Part.Number < of; q.Part.Number++ {
		r, err := a.ask(ctx, fetchKind, q)
		switch {
		case err != nil:
			return nil, err
		case r.Failed != "":
			return nil, errors.New(r.Failed)
		case r.Part.Of == 0:
			return nil, errors.New("it is not there")
		}
		of, file = r.Part.Of, append(file, r.Part.Data...)
	}
	data, err := withoutDigest(file)
	if err != nil {
		return nil, err
	}
	p := &checkpoint{}
	if err := decoded(data, p); err != nil {
		return nil, err
	}
	return p, nil
}
