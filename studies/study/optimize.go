package study

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// Optimize runs an objective for a number of trials, some of them in parallel. A trial is pruned if its objective
// returns ErrPruned. It fails if the objective returns another error or panics; the study goes on.
func (s *Study) Optimize(ctx context.Context, trials, parallel int, objective func(*Trial) ([]float64, error)) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var wait sync.WaitGroup
	jobs := make(chan struct{})
	for range max(1, parallel) {
		wait.Go(func() {
			for range jobs {
				if err := s.runTrial(objective); err != nil {
					cancel(err)
				}
			}
		})
	}
	for range trials {
		select {
		case jobs <- struct{}{}:
			continue
		case <-ctx.Done():
		}
		break
	}
	close(jobs)
	wait.Wait()
	if err := context.Cause(ctx); err != nil && !errors.Is(err, ErrExhausted) {
		return err
	}
	return nil
}

// ErrPruned is returned by an objective whose trial is to be pruned.
var ErrPruned = errors.New("the trial is pruned")

func (s *Study) runTrial(objective func(*Trial) ([]float64, error)) error {
	t, err := s.Ask()
	if err != nil {
		return err
	}
	values, err := recoverPanic(objective, t)
	switch {
	case errors.Is(err, ErrPruned):
		return s.TellPruned(t)
	case err != nil:
		return s.TellFailed(t, err.Error())
	}
	return s.Tell(t, values...)
}

// recoverPanic calls the objective and returns a panic as an error.
func recoverPanic(objective func(*Trial) ([]float64, error), t *Trial) (values []float64, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the objective panicked: %v", r)
		}
	}()
	return objective(t)
}
