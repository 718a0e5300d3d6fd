package console

import (
	"context"
	"errors"
	"sync/atomic"
	"time"
)

const (
	// Grace is the time that an interrupted command has to save its state.
	Grace = 800 * time.Millisecond
	// DefaultGrace is the default of --grace: engines kill a process 30 s after SIGTERM, as Slurm and Kubernetes do.
	DefaultGrace = 20 * time.Second
	// GraceHelp describes --grace.
	GraceHelp = "time after SIGTERM to end the round and save; Ctrl-C leaves 0.8 s"
)

// Ending is what a command has said about its end. The zero value says nothing.
type Ending struct{ grace atomic.Int64 } // nanoseconds; 0: nothing is saved

type endingKey struct{}

// WithEnding returns a context in which a command can call Saves.
func WithEnding(ctx context.Context) context.Context {
	return context.WithValue(ctx, endingKey{}, new(Ending))
}

func endingOf(ctx context.Context) *Ending {
	e, _ := ctx.Value(endingKey{}).(*Ending)
	return e
}

// Saves says that the command of ctx saves what it has when it is asked to end, and that the same command goes on from
// there. After SIGTERM it has a time for that, and the status is StatusAgain.
func Saves(ctx context.Context, grace time.Duration) {
	if e := endingOf(ctx); e != nil {
		e.grace.Store(int64(grace))
	}
}

// GraceOf returns the time that the command of ctx has after the end of ctx: that of Saves after SIGTERM, else Grace.
func GraceOf(ctx context.Context) time.Duration {
	if e := endingOf(ctx); e != nil && errors.Is(context.Cause(ctx), ErrTerminated) && e.grace.Load() > 0 {
		return time.Duration(e.grace.Load())
	}
	return Grace
}

// Interrupted returns the exit status of the command of ctx after a signal.
func Interrupted(ctx context.Context) int {
	switch e := endingOf(ctx); {
	case !errors.Is(context.Cause(ctx), ErrTerminated):
		return StatusInterrupted
	case e != nil && e.grace.Load() > 0:
		return StatusAgain
	}
	return StatusTerminated
}

// CheckGrace returns the error of a --grace that is no time; nil: it is one.
func CheckGrace(grace time.Duration) error {
	if grace < time.Millisecond {
		return BadInput("--grace got %v, wants a time such as 20s", grace)
	}
	return nil
}
