package studies

import (
	"context"
	"net"
	"os"
	"slices"
	"time"
)

// Reachable returns an address, HOST:PORT, as other machines reach it. An address that stands for all addresses of this
// machine becomes the name of the machine, if others can reach that, or one of its addresses; others holds the rest.
func Reachable(address string) (chosen string, others []string) {
	host, port, err := net.SplitHostPort(address)
	ip := net.ParseIP(host)
	if err != nil || host != "" && (ip == nil || !ip.IsUnspecified()) {
		return address, nil
	}
	var names []string
	if name, err := os.Hostname(); err == nil && far(name) {
		names = append(names, name)
	}
	addresses, _ := net.InterfaceAddrs() // where they cannot be listed there is the name, or this machine alone
	var fours, sixes []string
	for _, a := range addresses {
		n, ok := a.(*net.IPNet)
		switch {
		case !ok || n.IP.IsLoopback() || n.IP.IsLinkLocalUnicast():
		case n.IP.To4() != nil:
			fours = append(fours, n.IP.String())
		case ip.To4() == nil:
			sixes = append(sixes, n.IP.String())
		}
	}
	names = slices.Concat(names, fours, sixes)
	if len(names) == 0 {
		names = []string{"127.0.0.1"}
	}
	for i := range names {
		names[i] = net.JoinHostPort(names[i], port)
	}
	return names[0], names[1:]
}

// far reports whether a name has an address that is not a loopback address.
func far(name string) bool {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	addresses, err := net.DefaultResolver.LookupIPAddr(ctx, name)
	return err == nil && slices.ContainsFunc(addresses, func(a net.IPAddr) bool { return !a.IP.IsLoopback() })
}
