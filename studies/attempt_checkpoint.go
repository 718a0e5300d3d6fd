package studies

import (
	"context"
	"errors"
	"fmt"
	"os"
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
		data, err := encoded(p)
		if err != nil {
			return err
		}
		err = a.storeCheckpoint(ctx, data)
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

// storeTime returns how long the server may take to store a checkpoint: least, or a second for each megabyte.
func storeTime(data []byte, least time.Duration) time.Duration {
	return max(least, time.Duration(len(data)/1e6)*time.Second)
}

// longestStore is how long the server may take to store a small checkpoint.
const longestStore = 10 * time.Second

// storeCheckpoint stores a checkpoint under a new name, and asks the server to record it as that of the trial.
func (a *attempt) storeCheckpoint(ctx context.Context, data []byte) error {
	ttl, _ := a.spec.leaseTime() // it was checked
	// The trial stands still meanwhile, also where the server has lost its store and does not answer.
	short, done := a.untilReconnected(ctx, storeTime(data, min(longestStore, ttl/2)))
	defer done()
	kept, err := a.js.ObjectStore(short, checkpointsName)
	if err != nil {
		return err
	}
	q := a.request()
	q.Object = fmt.Sprintf("%d/%s/%d", a.trial, a.id, time.Since(a.start))
	if _, err := kept.PutBytes(short, q.Object, data); err != nil {
		return err
	}
	r, err := a.ask(short, checkpointKind, q)
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
	p, err := a.fetchCheckpoint(ctx, a.job.Object)
	if err != nil {
		fmt.Fprintf(os.Stderr, "trial %d begins anew: its checkpoint cannot be read (%v)\n", a.job.Number, err)
		return nil
	}
	return p
}

// fetchCheckpoint reads a checkpoint.
func (a *attempt) fetchCheckpoint(ctx context.Context, object string) (*checkpoint, error) {
	p := &checkpoint{}
	return p, a.untilAnswered(ctx, time.Minute, func(ctx context.Context) error {
		kept, err := a.js.ObjectStore(ctx, checkpointsName)
		if err != nil {
			return err
		}
		data, err := kept.GetBytes(ctx, object)
		if err != nil {
			return err
		}
		return decoded(data, p)
	})
}
