//go:build unix

package display

import (
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// watch hears of it when the process goes on after a stop, and when the terminal has another size.
func watch() (continued, resized <-chan os.Signal, stop func()) {
	c, r := make(chan os.Signal, 1), make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGCONT)
	signal.Notify(r, syscall.SIGWINCH)
	return c, r, func() {
		signal.Stop(c)
		signal.Stop(r)
	}
}

// inForeground tells whether the terminal is this process's to draw on. A job that goes on in the background may write
// there, but into what the shell writes.
func inForeground(fd int) bool {
	group, err := unix.IoctlGetInt(fd, unix.TIOCGPGRP)
	return err != nil || group == unix.Getpgrp()
}
