package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	natsserver "github.com/nats-io/nats-server/v2/server"

	"xlarun/rollout/evolve/hosts/hostsim"
	"xlarun/xlabridge"
)

// machinesWorkloads are generations that several hosts compute together, and a model of many hosts.
func machinesWorkloads(Options) []Workload {
	var all []Workload
	for _, g := range []struct {
		name    string
		members int
		needed  float64
	}{{"200", 2400, 1.95}, {"20", 240, 1.7}} {
		one := "one-" + g.name
		for _, delay := range []struct {
			name string
			time time.Duration
		}{{"", 200 * time.Microsecond}, {"-1ms", time.Millisecond}, {"-20ms", 20 * time.Millisecond}} {
			peer := Peer{Name: one, Workload: one}
			if delay.name == "" {
				peer.Needed = g.needed
			}
			all = append(all, Workload{Name: "two-" + g.name + delay.name, Open: hostsOf(2, g.members, delay.time),
				Peers: []Peer{peer}, What: fmt.Sprintf("a generation of %d members on CartPole-v1, mlp:64,64, by two "+
					"hosts of one core, a server %s away", g.members, delay.time)})
		}
		all = append(all, explicit(Workload{Name: one, Open: hostsOf(1, g.members, 200*time.Microsecond),
			What: "the same by one host of one core"}))
	}
	for _, n := range []int{8, 64, 256, 1024} {
		ideal := fmt.Sprintf("ideal-%d", n)
		all = append(all, Workload{Name: fmt.Sprintf("model-%d", n), Open: modelOf(n), Peers: []Peer{{Name: ideal,
			Workload: ideal, Needed: .9}}, What: fmt.Sprintf("a generation of 2 s by %d hosts, simulated: real "+
			"messages, computed times", n)},
			explicit(Workload{Name: ideal, What: "the same without messages", Open: func(context.Context, *host,
				xlabridge.Backend, Options) (Runner, error) {
				return runner{once: func() (float64, float64, error) { return modelGeneration.Seconds(), 0, nil },
					close: func() error { return nil }}, nil
			}}))
	}
	return all
}

// The modelled machines. A server delivers a message in 0.6 us and 0.75 us for each 1,000 bytes of it, measured with
// 128 clients on a core of an AMD EPYC; the modelled one has 16 such cores.
const (
	modelGeneration = 2 * time.Second
	modelChunks     = 2 // of each host
	modelMembers    = 64
	modelRounds     = 4
	modelDelay      = 200 * time.Microsecond
	serverCores     = 16
)

// modelOf simulates hosts. The result is the time of a generation by the simulated clock.
func modelOf(n int) openRunner {
	return func(context.Context, *host, xlabridge.Backend, Options) (Runner, error) {
		return runner{once: func() (float64, float64, error) {
			r := hostsim.Run(hostsim.Options{Hosts: n, Chunks: n * modelChunks, Generations: modelRounds,
				RowBytes: 12 * modelMembers, Chunk: (modelGeneration - 20*time.Millisecond) / modelChunks,
				Update: 20 * time.Millisecond, Delay: modelDelay,
				PerMessage: 600 * time.Nanosecond / serverCores, PerKilobyte: 750 * time.Nanosecond / serverCores,
				Speed: func(host int) float64 { return 1 + .02*float64(host%7-3)/3 }}, time.Hour)
			for host, err := range r.Errors {
				return 0, 0, fmt.Errorf("simulated host %d: %w", host, err)
			}
			return r.Time.Seconds() / modelRounds, 0, nil
		}, close: func() error { return nil }}, nil
	}
}

// hostsGenerations is the number of generations of a measured run. The first ones are left out.
const hostsGenerations, hostsFirst = 16, 4

// hostsOf runs hosts, each a process with one device, and returns the median time of a generation.
func hostsOf(n, members int, delay time.Duration) openRunner {
	return func(ctx context.Context, _ *host, _ xlabridge.Backend, _ Options) (Runner, error) {
		dir, err := os.MkdirTemp("", "xlarun-hosts-*")
		if err != nil {
			return nil, err
		}
		server, err := natsserver.NewServer(&natsserver.Options{Host: "127.0.0.1", Port: -1, NoLog: true, NoSigs: true})
		if err != nil {
			return nil, err
		}
		server.Start()
		if !server.ReadyForConnections(10 * time.Second) {
			return nil, errors.New("the message server does not start")
		}
		far, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		go delayed(far, server.Addr().String(), delay)
		made := 0
		return runner{once: func() (float64, float64, error) {
			made++
			return timeHosts(ctx, filepath.Join(dir, strconv.Itoa(made)), n, members, far.Addr().String())
		}, close: func() error {
			server.Shutdown()
			return errors.Join(far.Close(), os.RemoveAll(dir))
		}}, nil
	}
}

// timeHosts runs hosts and returns the median time of a generation of the first.
func timeHosts(ctx context.Context, dir string, n, members int, server string) (median, result float64, err error) {
	self, err := os.Executable()
	if err != nil {
		return 0, 0, err
	}
	var all sync.WaitGroup
	errs := make([]error, n)
	for i := range n {
		all.Go(func() {
			_, errs[i] = outputOf(exec.CommandContext(ctx, self, "evolve", "CartPole-v1", "--policy", "mlp:64,64",
				"--pop", strconv.Itoa(members), "--generations", strconv.Itoa(hostsGenerations), "--target", "1000",
				"--judge", "1", "--devices", "1", "--join", "nats://"+server+"/"+filepath.Base(dir),
				"--hosts", strconv.Itoa(n), "--out", filepath.Join(dir, strconv.Itoa(i))))
		})
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		return 0, 0, err
	}
	text, err := os.ReadFile(filepath.Join(dir, "0", "timings.jsonl"))
	if err != nil {
		return 0, 0, err
	}
	var seconds []float64
	for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		var row struct{ Seconds float64 }
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			return 0, 0, err
		}
		seconds = append(seconds, row.Seconds)
	}
	if len(seconds) != hostsGenerations {
		return 0, 0, fmt.Errorf("a host has the times of %d generations, want %d", len(seconds), hostsGenerations)
	}
	seconds = seconds[hostsFirst:]
	slices.Sort(seconds)
	return seconds[len(seconds)/2], 0, nil
}

// delayed forwards connections to a server, and delays all that goes over them, each way.
func delayed(l net.Listener, server string, delay time.Duration) {
	for {
		near, err := l.Accept()
		if err != nil {
			return
		}
		far, err := net.Dial("tcp", server)
		if err != nil {
			_ = near.Close()
			continue
		}
		for _, pair := range [][2]net.Conn{{near, far}, {far, near}} {
			go func() {
				defer func() { _, _ = pair[0].Close(), pair[1].Close() }()
				delayedCopy(pair[0], pair[1], delay)
			}()
		}
	}
}

// delayedCopy copies what it reads, each piece after a delay. It ends when either side does.
func delayedCopy(to io.Writer, from io.Reader, delay time.Duration) {
	type piece struct {
		due  time.Time
		data []byte
	}
	pieces := make(chan piece, 1<<16)
	go func() {
		defer close(pieces)
		for {
			b := make([]byte, 1<<16)
			n, err := from.Read(b)
			if n > 0 {
				pieces <- piece{time.Now().Add(delay), b[:n]}
			}
			if err != nil {
				return
			}
		}
	}()
	for p := range pieces {
		time.Sleep(time.Until(p.due))
		if _, err := to.Write(p.data); err != nil {
			return
		}
	}
}
