//go:build cgo

package xlabridge

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"xlarun/xlabridge/internal/pjrt"
)

// quiet allows one redirection at a time.
var quiet sync.Mutex

// startLimit is the time limit for loading a plugin, and for making a client. A TPU's plugin waits for ever if there is
// no TPU.
var startLimit = 2 * time.Minute

// errStuck is the error of an abandoned call into a plugin. The call continues in its thread and cannot be ended.
var errStuck = errors.New("it does not answer")

// quietly runs f, a call into the plugin, and returns the text that the plugin wrote to stderr. It abandons f as within
// does.
//
// For the CPU plugin, the log level is enough. The plugins of other backends load libraries that write before they read
// the log level, so file descriptor 2 is redirected to an unnamed file. If the user set a log level, the log is shown.
func quietly[T any](ctx context.Context, backend string, f func() (T, error), drop func(T)) (v T, text string,
	err error) {
	loud := func() (T, string, error) {
		v, err := within(ctx, f, drop)
		return v, "", err
	}
	if _, userLevel := os.LookupEnv(pjrt.LogLevel); userLevel || backend == "cpu" {
		return loud()
	}
	quiet.Lock()
	defer quiet.Unlock()
	sink, err := os.CreateTemp("", "xlarun-stderr-*")
	if err != nil {
		return loud()
	}
	defer sink.Close()
	_ = os.Remove(sink.Name())
	saved, err := unix.FcntlInt(2, unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return loud()
	}
	defer unix.Close(saved)
	if unix.Dup2(int(sink.Fd()), 2) != nil {
		return loud()
	}
	func() {
		// Deferred, so that the user sees a panic in f.
		defer func() { _ = unix.Dup2(saved, 2) }()
		v, err = within(ctx, f, drop)
	}()
	log := make([]byte, 64<<10)
	n, _ := sink.ReadAt(log, 0)
	return v, string(log[:n]), err
}

// within runs f in a new goroutine and waits for its end, for ctx or for startLimit. It passes on a panic of f. A call
// that it abandons goes on, since a plugin cannot be stopped, and keeps what it uses. drop, which may be nil, then gets
// what it returns.
func within[T any](ctx context.Context, f func() (T, error), drop func(T)) (none T, err error) {
	type end struct {
		value T
		err   error
		panic any
	}
	done := make(chan end, 1)
	go func() {
		var e end
		defer func() {
			e.panic = recover()
			done <- e
		}()
		e.value, e.err = f()
	}()
	limit := time.NewTimer(startLimit)
	defer limit.Stop()
	select {
	case e := <-done:
		if e.panic != nil {
			panic(e.panic)
		}
		return e.value, e.err
	case <-ctx.Done():
		err = ctx.Err()
	case <-limit.C:
		err = errStuck
	}
	if drop != nil {
		go func() {
			if e := <-done; e.err == nil && e.panic == nil {
				drop(e.value)
			}
		}()
	}
	return none, err
}

// stuck is the error, for the user, of a plugin whose call was abandoned.
func stuck(backend, path string) error {
	return fmt.Errorf("backend %s: plugin %s did not answer within %s, as if it waited for a device that is not "+
		"there: use --backend cpu, or make the device visible to this process",
		backend, path, startLimit)
}

// withChatter adds the last line of the plugin's log to an error.
func withChatter(err error, text string) error {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if last := strings.TrimSpace(lines[len(lines)-1]); last != "" {
		return fmt.Errorf("%w (the plugin's last word: %s)", err, last)
	}
	return err
}
