//go:build !unix

package display

import "os"

// watch returns nil channels: this system has no such signals.
func watch() (continued, resized <-chan os.Signal, stop func()) { return nil, nil, func() {} }

func inForeground(int) bool { return true }
