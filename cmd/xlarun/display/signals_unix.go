//go:build unix

package display

import (
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// watch returns channels that receive a signal when a stopped process continues and when the terminal's size changes.
func watch() (continued, resized <-chan os.Signal, stop func()) {
	c, r := make(chan os.Signal, 1), make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGCONT)
	signal.Notify(r, syscall.SIGWINCH)
	return c, r, func() {
		signal.Stop(c)
		signal.Stop(r)
	}
}

// inForeground reports whether the process is in the terminal's foreground group. In the background, its output would
// mix with the shell's.
func inForeground(fd int) bool {
	group, err := unix.IoctlGetInt(fd, unix.TIOCGPGRP)
	return err != nil || group == unix.Getpgrp()
}
