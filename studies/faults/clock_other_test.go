//go:build !amd64

package faults

import (
	"errors"
	"time"

	"golang.org/x/sys/unix"
)

// clock is a wall clock of a node that the test sets: on other processors it cannot.
type clock struct{ path string }

func newClock(string) (*clock, error) { return &clock{}, nil }
func (*clock) set(time.Duration)      {}
func shiftClock(string) error         { return errors.New("the wall clock of a process cannot be set here") }

// monotonic returns the time of a clock that all processes share and nobody sets.
func monotonic() time.Duration {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &t)
	return time.Duration(t.Nano())
}
