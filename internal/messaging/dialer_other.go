//go:build !linux

package messaging

import "net"

// watch does nothing: other systems do not say what was acknowledged.
func (*Dialer) watch(net.Conn) {}
