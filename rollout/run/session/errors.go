package session

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// InterruptedError is the error of an interrupted run. It says what the run leaves behind.
type InterruptedError struct{ Err error }

func (e InterruptedError) Error() string { return e.Err.Error() }
func (e InterruptedError) Unwrap() error { return e.Err }

// ErrInterrupted is the error of a phase that an interrupt ended. Options.Open returns it if ctx ends.
var ErrInterrupted error = InterruptedError{errors.New("interrupted")}

// ended reports whether err only says that ctx has ended: what was waited for was left, and nothing is wrong.
func ended(ctx context.Context, err error) bool { return ctx.Err() != nil && errors.Is(err, ctx.Err()) }

// sentence joins errors to one line, in which each line of them stands once.
type sentence []error

func (s sentence) error() error {
	var lines []string
	var all sentence
	for _, err := range s {
		if err == nil {
			continue
		}
		for _, line := range strings.Split(err.Error(), "\n") { // errors.Join writes a line each
			if !slices.Contains(lines, line) {
				lines = append(lines, line)
			}
		}
		all = append(all, err)
	}
	text := strings.Join(lines, "; ")
	switch {
	case len(all) == 0:
		return nil
	case len(all) == 1 && all[0].Error() == text:
		return all[0]
	}
	return sentenceError{text, all}
}

type sentenceError struct {
	text string
	all  sentence
}

func (e sentenceError) Error() string   { return e.text }
func (e sentenceError) Unwrap() []error { return e.all }

// interruptible makes err an InterruptedError if ctx has ended: an interrupt while the run ended made it fail.
func interruptible(ctx context.Context, err error) error {
	if err == nil || ctx.Err() == nil || errors.As(err, new(InterruptedError)) {
		return err
	}
	return InterruptedError{fmt.Errorf("interrupted at the end: %w", err)}
}
