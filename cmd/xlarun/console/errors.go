package console

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"xlarun/envs"
)

// UsageError is a mistake in the user's input.
type UsageError struct{ Err error }

func (e UsageError) Error() string { return e.Err.Error() }
func (e UsageError) Unwrap() error { return e.Err }

// BadInput makes a UsageError.
func BadInput(format string, args ...any) error { return UsageError{fmt.Errorf(format, args...)} }

// InterruptedError is the error of an interrupted command. It describes what the command has saved.
type InterruptedError struct{ Err error }

func (e InterruptedError) Error() string { return e.Err.Error() }
func (e InterruptedError) Unwrap() error { return e.Err }

// ErrInterrupted is the error of an interrupted command that has saved nothing.
var ErrInterrupted error = InterruptedError{errors.New("interrupted")}

// ErrTerminated is the cause of a context that SIGTERM ended.
var ErrTerminated = errors.New("terminated")

// StatusOf maps a command's error to its exit status.
func StatusOf(ctx context.Context, err error) int {
	coded, _ := errors.AsType[Coded](err)
	switch {
	case errors.As(err, new(InterruptedError)):
		return StatusInterrupted
	case coded != nil && coded.ErrorCode() == CodeNoServer:
		return StatusNoServer
	case coded != nil && coded.ErrorCode() == CodeRefused:
		return StatusRefused
	case errors.As(err, new(UsageError)), coded != nil && coded.ErrorCode() == CodeBadInput:
		return StatusUsage
	case ctx.Err() != nil && errors.Is(err, context.Canceled):
		return StatusInterrupted
	}
	return StatusFailed
}

// unread reports whether err says that nobody reads stdout, and nothing else.
func unread(err error) bool {
	e, ok := errors.AsType[*fs.PathError](err)
	return ok && e.Path == os.Stdout.Name() && errors.Is(e.Err, syscall.EPIPE) && err.Error() == e.Error()
}

// OneLine returns the text of an error as one line.
func OneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }

// DidYouMean returns ", did you mean NAME?" with the known name nearest to a mistyped one, or "" if none is near.
func DidYouMean(name string, known []string) string {
	if near := envs.Nearest(name, known); near != "" {
		return fmt.Sprintf(", did you mean %s?", near)
	}
	return ""
}
