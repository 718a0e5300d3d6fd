package python

import (
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// A core that sleeps wakes tens of microseconds late, which is half of a short request. So each side polls its pipe for
// up to spinTime before it sleeps. Where that brings nothing, because the other side takes longer or other programs
// need the core, it does not poll for pauseTime.
const (
	spinTime  = 300 * time.Microsecond
	pauseTime = 10 * time.Millisecond
)

// spinner polls a pipe.
type spinner struct {
	pipe  []unix.PollFd
	pause time.Time // no polling before
}

// newSpinner returns the spinner of an input. That of an input which is no file does nothing.
func newSpinner(in io.Reader) *spinner {
	s := &spinner{}
	if file, ok := in.(*os.File); ok {
		s.pipe = []unix.PollFd{{Fd: int32(file.Fd()), Events: unix.POLLIN}}
	}
	return s
}

// wait returns when the pipe has input or has ended, or has had none for a while.
func (s *spinner) wait() {
	start := time.Now()
	if s.pipe == nil || start.Before(s.pause) {
		return
	}
	for {
		if ready, _ := unix.Poll(s.pipe, 0); ready != 0 {
			return
		}
		if time.Since(start) > spinTime {
			s.pause = time.Now().Add(pauseTime)
			return
		}
	}
}
