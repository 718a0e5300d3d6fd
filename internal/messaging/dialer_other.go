//go:build !linux

package messaging

import (
	"net"
	"time"
)

// endAfter does nothing: there is no such option.
func endAfter(net.Conn, time.Duration) {}
