package xlabridge

/*
#include <stdlib.h>
*/
import "C"

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// logLevel is what both logs of a plugin read; 3 lets only fatal messages through.
const logLevel = "TF_CPP_MIN_LOG_LEVEL"

// setLogLevel asks the plugin's logging for silence, before the plugin is loaded and unless the user
// asked for something else. The plugin reads C's environment, so C's setenv sets it.
func setLogLevel() {
	name, value := C.CString(logLevel), C.CString("3")
	C.setenv(name, value, 0)
	C.free(unsafe.Pointer(name))
	C.free(unsafe.Pointer(value))
}

// quiet keeps two redirections from undoing each other.
var quiet sync.Mutex

// startLimit is how long a plugin may take to load, and then to make a client, before it is given up: one for a TPU
// waits for ever where there is none.
var startLimit = 2 * time.Minute

// errStuck is the error of a call into a plugin that was given up. The call goes on in its thread, and cannot be ended.
var errStuck = errors.New("it does not answer")

// quietly runs f, a call into the plugin, and returns what the plugin wrote to stderr meanwhile, in place of showing
// it. It gives f up when ctx ends, with ctx's error, or after startLimit, with errStuck.
//
// The CPU plugin heeds the log level and needs no more; those of other backends bring libraries that write before they
// know it, so for them file descriptor 2 is led into an unnamed file. A user who set a log level wants to see the log,
// and sees it.
func quietly(ctx context.Context, backend string, f func() error) (text string, err error) {
	if _, asked := os.LookupEnv(logLevel); asked || backend == "cpu" {
		return "", within(ctx, f)
	}
	quiet.Lock()
	defer quiet.Unlock()
	sink, err := os.CreateTemp("", "xlarun-stderr-*")
	if err != nil {
		return "", within(ctx, f)
	}
	defer sink.Close()
	_ = os.Remove(sink.Name())
	saved, err := unix.FcntlInt(2, unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return "", within(ctx, f)
	}
	defer unix.Close(saved)
	if unix.Dup2(int(sink.Fd()), 2) != nil {
		return "", within(ctx, f)
	}
	err = func() error {
		// Deferred, so that a panic in f is printed where the user sees it.
		defer func() { _ = unix.Dup2(saved, 2) }()
		return within(ctx, f)
	}()
	said := make([]byte, 64<<10)
	n, _ := sink.ReadAt(said, 0)
	return string(said[:n]), err
}

// within runs f in a goroutine of its own and waits for it, for ctx, and for startLimit. A panic of f is passed on.
func within(ctx context.Context, f func() error) error {
	type end struct {
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
		e.err = f()
	}()
	limit := time.NewTimer(startLimit)
	defer limit.Stop()
	select {
	case e := <-done:
		if e.panic != nil {
			panic(e.panic)
		}
		return e.err
	case <-ctx.Done():
		return ctx.Err()
	case <-limit.C:
		return errStuck
	}
}

// stuck words errStuck for a plugin.
func stuck(backend, path string) error {
	return fmt.Errorf("backend %s: plugin %s did not answer within %s, as if it waited for a device that is not "+
		"there: use --backend cpu, or make the device visible to this process",
		backend, path, startLimit)
}

// withChatter adds the last thing that the plugin logged to an error, where it logged anything.
func withChatter(err error, text string) error {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if last := strings.TrimSpace(lines[len(lines)-1]); last != "" {
		return fmt.Errorf("%w (the plugin's last word: %s)", err, last)
	}
	return err
}
