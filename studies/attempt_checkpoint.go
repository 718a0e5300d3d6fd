package studies

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"
)

// keep returns a function that stores a checkpoint when it is due.
func (a *attempt) keep(ctx context.Context) func(state func() (*checkpoint, error)) error {
	every, _ := a.spec.keepEvery() // it was checked
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
		data, err := encoded(p)
		if err != nil {
			return err
		}
		err = a.store(ctx, data)
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

// longestStore is how long the server may take to store a small checkpoint.
const longestStore = 10 * time.Second

// store stores a checkpoint under a new name, and asks the server to record it as the checkpoint of the trial.
func (a *attempt) store(ctx context.Context, data []byte) error {
	ttl, _ := a.spec.leaseTime() // it was checked
	// The trial stands still meanwhile, also where the server has lost its store and does not answer.
	short, done := a.untilAnew(ctx, max(min(longestStore, ttl/2), time.Duration(len(data)/1e6)*time.Second))
	defer done()
	kept, err := a.js.ObjectStore(short, checkpoints)
	if err != nil {
		return err
	}
	q := a.request()
	q.Object = fmt.Sprintf("%d/%s/%d", a.trial, a.id, time.Since(a.born))
	if _, err := kept.PutBytes(short, q.Object, data); err != nil {
		return err
	}
	r, err := a.ask(short, keepKind, q)
	if err == nil && r.Lost {
		return errors.Join(errLost, kept.Delete(short, q.Object))
	}
	if err == nil {
		a.mu.Lock()
		a.fence = r.Fence
		a.mu.Unlock()
	}
	return err
}

// storedCheckpoint returns the checkpoint to go on from; nil if there is none that can be used.
func (a *attempt) storedCheckpoint(ctx context.Context) *checkpoint {
	if a.job.Object == "" {
		return nil
	}
	p, err := a.fetch(ctx, a.job.Object)
	if err != nil {
		fmt.Fprintf(os.Stderr, "trial %d begins anew: its checkpoint cannot be read (%v)\n", a.job.Number, err)
		return nil
	}
	return p
}

// fetch reads a checkpoint.
func (a *attempt) fetch(ctx context.Context, object string) (*checkpoint, error) {
	short, done := context.WithTimeout(ctx, time.Minute)
	defer done()
	p := &checkpoint{}
	kept, err := a.js.ObjectStore(short, checkpoints)
	var data []byte
	if err == nil {
		data, err = kept.GetBytes(short, object)
	}
	if err == nil {
		err = decoded(data, p)
	}
	return p, err
}
