// Package decision shows tests each answer of a coordinator to a worker.
package decision

import (
	"context"
	"time"
)

// Decision is how a coordinator answered a request of a worker about a trial.
type Decision struct {
	// Kind is of the request: next, beat, keep, release, or result. A report counts as a beat.
	Kind    string
	Trial   int64 // its ID in the database; -1: next has given none
	Worker  string
	Granted bool // the worker has the trial; of a result: it is accepted
	// Instant is when it was decided, by the coordinator's monotonic clock. A lease that is granted or renewed lasts
	// from then.
	Instant time.Time `json:"-"`
}

// observer is the key of the observer in a context.
type observer struct{}

// Observe returns a context for Coordinator.Run. f is called for each answer to a worker of another machine or process,
// in the order of the answers, before the next one.
func Observe(ctx context.Context, f func(Decision)) context.Context {
	return context.WithValue(ctx, observer{}, f)
}

// Observer returns the function of Observe. Without one it does nothing.
func Observer(ctx context.Context) func(Decision) {
	if f, ok := ctx.Value(observer{}).(func(Decision)); ok {
		return f
	}
	return func(Decision) {}
}
