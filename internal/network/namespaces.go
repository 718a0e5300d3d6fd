package network

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// namespaces are nodes with a network namespace each. The only device of a node, except its loopback, is a tunnel to
// this process, which carries the packets: links are what it makes of them.
type namespaces struct {
	nodes []namespace
	links [][]*wire // from, to
	stop  chan struct{}
}

// namespace is a node.
type namespace struct {
	file   *os.File // the namespace
	tunnel *os.File // gives and takes IP packets
}

// wire carries packets from a node to another one.
type wire struct {
	linkState
	packets chan packet
	free    time.Time // when a narrow link has sent all that was given to it
}

const (
	longestPacket = 1 << 16
	// queueLength bounds the packets on a wire. What is beyond is lost, as in a router.
	queueLength = 1 << 12
	// longestQueue is how long what is given to a narrow link waits at most. What is beyond is lost.
	longestQueue = 500 * time.Millisecond
)

// address returns the IP address of a node.
func address(node int) net.IP { return net.IPv4(10, 77, 0, byte(node+1)).To4() }

// newNamespaces makes namespaces.
func newNamespaces(nodes int) (_ *namespaces, err error) {
	n := &namespaces{stop: make(chan struct{})}
	defer func() {
		if err != nil {
			err = errors.Join(err, n.Close())
		}
	}()
	for i := range nodes {
		one, err := newNamespace(i)
		if err != nil {
			return n, err
		}
		n.nodes = append(n.nodes, one)
	}
	for from := range nodes {
		wires := make([]*wire, nodes)
		for to := range nodes {
			wires[to] = &wire{packets: make(chan packet, queueLength)}
			go wires[to].carry(n.nodes[to].tunnel, n.stop)
		}
		n.links = append(n.links, wires)
		go n.read(from)
	}
	return n, nil
}

// newNamespace makes a namespace with a tunnel.
func newNamespace(node int) (n namespace, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // without an unlock: the thread, which is in the namespace, ends with the goroutine
		if err = unix.Unshare(unix.CLONE_NEWNET); err != nil {
			err = fmt.Errorf("a network namespace: %w", err)
			return
		}
		if n.file, err = os.Open("/proc/thread-self/ns/net"); err != nil {
			return
		}
		n.tunnel, err = newTunnel(address(node))
	}()
	<-done
	return n, err
}

// newTunnel makes a tunnel with an address in the namespace of the thread.
func newTunnel(ip net.IP) (*os.File, error) {
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("a tunnel: %w", err)
	}
	tunnel, err := unix.NewIfreq("t0")
	if err != nil {
		return nil, err
	}
	tunnel.SetUint16(unix.IFF_TUN | unix.IFF_NO_PI)
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, errors.Join(err, unix.Close(fd))
	}
	defer func() { _ = unix.Close(socket) }()
	if err := errors.Join(unix.IoctlIfreq(fd, unix.TUNSETIFF, tunnel), activate(socket, "lo", nil),
		activate(socket, "t0", ip), unix.SetNonblock(fd, true)); err != nil {
		return nil, errors.Join(fmt.Errorf("a tunnel: %w", err), unix.Close(fd))
	}
	return os.NewFile(uintptr(fd), "tunnel"), nil
}

// activate gives a device an address, if there is one, and switches it on.
func activate(socket int, device string, ip net.IP) error {
	r, err := unix.NewIfreq(device)
	if err != nil {
		return err
	}
	for _, step := range []struct {
		request uint
		ip      net.IP
	}{{unix.SIOCSIFADDR, ip}, {unix.SIOCSIFNETMASK, net.IPv4(255, 255, 255, 0).To4()}} {
		if ip == nil {
			break
		}
		if err := errors.Join(r.SetInet4Addr(step.ip), unix.IoctlIfreq(socket, step.request, r)); err != nil {
			return err
		}
	}
	r.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	return unix.IoctlIfreq(socket, unix.SIOCSIFFLAGS, r)
}

// read takes the packets of a node.
func (n *namespaces) read(from int) {
	b := make([]byte, longestPacket)
	for {
		size, err := n.nodes[from].tunnel.Read(b)
		if err != nil {
			return
		}
		const destination = 16 // of the address in an IPv4 packet
		if size < destination+net.IPv4len || b[0]>>4 != 4 {
			continue
		}
		to := int(b[destination+3]) - 1
		if to < 0 || to >= len(n.nodes) || !address(to).Equal(net.IP(b[destination:destination+net.IPv4len])) {
			continue
		}
		w := n.links[from][to]
		link := w.take()
		if link.dropped() {
			continue
		}
		now := time.Now()
		if w.free.Before(now) {
			w.free = now
		}
		if w.free.Sub(now) > longestQueue {
			continue
		}
		w.free = w.free.Add(link.time(size))
		select {
		case w.packets <- packet{w.free.Add(link.Delay), append([]byte{}, b[:size]...)}:
		default:
		}
	}
}

// carry writes packets to the tunnel of their node when they are due.
func (w *wire) carry(tunnel *os.File, stop <-chan struct{}) {
	for {
		select {
		case <-stop:
			return
		case p := <-w.packets:
			sleepUntil(p.due)
			_, _ = tunnel.Write(p.data) // a packet may be lost
		}
	}
}

func (n *namespaces) Host(node int) string { return address(node).String() }

func (n *namespaces) Address(_, to, port int) (string, error) {
	return net.JoinHostPort(n.Host(to), strconv.Itoa(port)), nil
}

func (n *namespaces) Set(a, b int, l Link) {
	n.links[a][b].set(l)
	n.links[b][a].set(l)
}

func (n *namespaces) Met(a, b int) int { return n.links[a][b].taken() + n.links[b][a].taken() }

// Start implements Network.
func (n *namespaces) Start(node int, cmd *exec.Cmd) (<-chan error, error) {
	return startIn(func() error { return unix.Setns(int(n.nodes[node].file.Fd()), unix.CLONE_NEWNET) }, cmd)
}

func (n *namespaces) Close() (err error) {
	close(n.stop)
	for _, one := range n.nodes {
		err = errors.Join(err, one.tunnel.Close(), one.file.Close())
	}
	return err
}
