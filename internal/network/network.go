package network

import (
	"net"
	"os/exec"
	"runtime"
	"strconv"
	"sync"
)

// Network connects nodes, which are numbers from 0. Each pair has a link; at first they are without delay and loss.
type Network interface {
	// Host returns the IP address on which a node listens.
	Host(node int) string
	// Address returns the HOST:PORT by which node from reaches a port of node to.
	Address(from, to, port int) (string, error)
	// Set changes the link of two nodes.
	Set(a, b int, l Link)
	// Met returns how many packets, or parts of streams, the link of two nodes was given while it was slow, lossy or
	// cut.
	Met(a, b int) int
	// Start starts a process of a node. The channel gets the result of its Wait.
	Start(node int, cmd *exec.Cmd) (over <-chan error, err error)
	// Close ends the network. No process of a node may run.
	Close() error
}

// New connects nodes: by network namespaces, if this process may make them, by relays otherwise. why says what stands
// against namespaces; nil: nothing.
func New(nodes int) (n Network, why error) {
	spaces, err := newNamespaces(nodes)
	if err != nil {
		return NewRelays(), err
	}
	return spaces, nil
}

// NewRelays connects nodes that have one address, 127.0.0.1, by relays.
func NewRelays() Network {
	return &relays{all: map[[3]int]*Relay{}, links: map[[2]int]Link{}}
}

// relays are nodes of one network namespace.
type relays struct {
	mu    sync.Mutex
	all   map[[3]int]*Relay // by from, to, port
	links map[[2]int]Link
}

func (*relays) Host(int) string { return "127.0.0.1" }

func (n *relays) Address(from, to, port int) (string, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	key := [3]int{from, to, port}
	if r := n.all[key]; r != nil {
		return r.Address(), nil
	}
	r, err := NewRelay(net.JoinHostPort(n.Host(to), strconv.Itoa(port)))
	if err != nil {
		return "", err
	}
	r.Set(n.links[[2]int{min(from, to), max(from, to)}])
	n.all[key] = r
	return r.Address(), nil
}

func (n *relays) Set(a, b int, l Link) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.links[[2]int{min(a, b), max(a, b)}] = l
	for key, r := range n.all {
		if key[0] == a && key[1] == b || key[0] == b && key[1] == a {
			r.Set(l)
		}
	}
}

func (n *relays) Met(a, b int) (met int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for key, r := range n.all {
		if key[0] == a && key[1] == b || key[0] == b && key[1] == a {
			met += r.link.taken()
		}
	}
	return met
}

// Start implements Network.
func (*relays) Start(_ int, cmd *exec.Cmd) (<-chan error, error) { return Start(cmd) }

// Start starts a process on this machine. The channel gets the result of its Wait. The thread that starts the process
// waits for it, so that it may be a process that ends with its parent's thread.
func Start(cmd *exec.Cmd) (over <-chan error, err error) {
	return startIn(func() error { return nil }, cmd)
}

// startIn starts a process in the namespaces that enter gives the thread.
func startIn(enter func() error, cmd *exec.Cmd) (<-chan error, error) {
	started, over := make(chan error), make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		err := enter()
		if err == nil {
			err = cmd.Start()
		}
		started <- err
		if err == nil {
			over <- cmd.Wait()
		}
	}()
	return over, <-started
}

func (n *relays) Close() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, r := range n.all {
		r.Set(Link{})
		r.Down()
	}
	return nil
}
