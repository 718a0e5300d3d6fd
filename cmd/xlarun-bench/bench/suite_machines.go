package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	natsserver "github.com/nats-io/nats-server/v2/server"
	"golang.org/x/sys/unix"

	"xlarun/cmd/xlarun-bench/bench/neurobench"
	"xlarun/internal/network"
	"xlarun/rollout/evolve/hosts/hostsim"
	"xlarun/xlabridge"
)

// sharedRun is a search that hosts share.
type sharedRun struct {
	name, env, policy string
	members           int
	what              string
}

var sharedRuns = []sharedRun{
	{name: "200", env: "Forage-L1-v1", policy: "mlp:16,16", members: 3000,
		what: "500 steps of 3,000 members on Forage-L1-v1, mlp:16,16"},
	{name: "20", env: "Forage-L1-v1", policy: "mlp:16,16", members: 300,
		what: "500 steps of 300 members on Forage-L1-v1, mlp:16,16"},
	{name: "wide", env: "CartPole-v1", policy: "mlp:64,64", members: 2400,
		what: "500 steps of 2,400 members on CartPole-v1, mlp:64,64, whose noise every host draws"},
}

// machinesWorkloads are generations that several hosts compute together, and a model of many hosts.
func machinesWorkloads(Options) []Workload {
	var all []Workload
	for _, g := range sharedRuns {
		one, apart := "one-"+g.name, "apart-"+g.name
		for _, delay := range []time.Duration{200 * time.Microsecond, time.Millisecond, 20 * time.Millisecond} {
			w := Workload{Name: "two-" + g.name, Open: hostsOf(2, g, delay, false), Peers: []Peer{{Name: one,
				Workload: one}}, What: fmt.Sprintf("%s, by two hosts, a server %v away", g.what, delay)}
			if delay == 200*time.Microsecond {
				w.Peers = append(w.Peers, Peer{Name: apart, Workload: apart})
			} else {
				w.Name += "-" + delay.String()
			}
			all = append(all, w)
		}
		all = append(all, explicit(Workload{Name: one, Open: hostsOf(1, g, 200*time.Microsecond, false),
			What: g.what + ", by one host"}), explicit(Workload{Name: apart, Open: hostsOf(2, g, 200*time.Microsecond,
			true), What: g.what + ", by each of two hosts that share nothing: what the other core's work costs"}))
	}
	for _, n := range []int{8, 64, 256, 1024} {
		ideal := fmt.Sprintf("ideal-%d", n)
		all = append(all, Workload{Name: fmt.Sprintf("model-%d", n), Open: modelOf(n), Peers: []Peer{{Name: ideal,
			Workload: ideal, Limit: true}}, What: fmt.Sprintf("a generation of 2 s by %d hosts, simulated: real "+
			"messages, computed times", n)},
			explicit(Workload{Name: ideal, What: "the same without messages", Open: func(context.Context, *host,
				xlabridge.Backend, Options) (*Runner, error) {
				return elsewhere(func() (float64, error) { return modelGeneration.Seconds(), nil },
					func() error { return nil }), nil
			}}))
	}
	return all
}

// The modeled machines. A server delivers a message in 0.6 us and 0.75 us for each 1,000 bytes of it, measured with
// 128 clients on a core of an AMD EPYC. The modeled one has 16 such cores and a link of 25 Gbit/s. So the link takes
// longer for bytes than the cores, and the cores count for messages only.
const (
	modelGeneration = 2 * time.Second
	modelUpdate     = 20 * time.Millisecond // of it
	modelChunks     = 4                     // of each host
	modelMembers    = 32                    // of each chunk
	modelRounds     = 3
	modelDelay      = 200 * time.Microsecond
	modelMessage    = 600 * time.Nanosecond / 16
	modelKilobyte   = 320 * time.Nanosecond
)

// modelOf simulates hosts, once. The result is the time of a generation by the simulated clock.
func modelOf(n int) openRunner {
	return func(context.Context, *host, xlabridge.Backend, Options) (*Runner, error) {
		simulated := sync.OnceValues(func() (float64, error) {
			r := hostsim.Run(hostsim.Options{Hosts: n, Chunks: n * modelChunks, Generations: modelRounds,
				RowBytes: 12 * modelMembers, Chunk: (modelGeneration - modelUpdate) / modelChunks,
				Update: modelUpdate, Delay: modelDelay, PerMessage: modelMessage, PerKilobyte: modelKilobyte,
				Together: true, Speed: func(host int) float64 { return 1 + .02*float64(host%7-3)/3 }}, time.Hour)
			for host, err := range r.Errors {
				return 0, fmt.Errorf("simulated host %d: %w", host, err)
			}
			return (r.Ends[modelRounds-1] - r.Ends[0]).Seconds() / (modelRounds - 1), nil
		})
		return elsewhere(simulated, func() error { return nil }), nil
	}
}

// elsewhere is a Runner of other processes or of a simulation. They report their times. The CPU time of this process
// says nothing about them.
func elsewhere(once func() (seconds float64, err error), close func() error) *Runner {
	r := neurobench.Repeated(func() (float64, float64, error) {
		seconds, err := once()
		return seconds, 0, err
	}, close)
	r.Part = true
	return r
}

// hostsGenerations is the number of generations of a measured run. The first ones are left out.
const hostsGenerations, hostsFirst = 44, 4

// hostsOf runs hosts, each a process on a core of its own, and returns the time of a generation. Hosts that are apart
// compute a population each.
func hostsOf(n int, g sharedRun, delay time.Duration, apart bool) openRunner {
	return func(ctx context.Context, _ *host, _ xlabridge.Backend, _ Options) (*Runner, error) {
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
		far, err := network.NewRelay(server.Addr().String())
		if err != nil {
			return nil, err
		}
		far.Set(network.Link{Delay: delay})
		made := 0
		return elsewhere(func() (float64, error) {
			made++
			return timeHosts(ctx, filepath.Join(dir, strconv.Itoa(made)), n, g, far.Address(), apart)
		}, func() error {
			server.Shutdown()
			far.Down()
			return os.RemoveAll(dir)
		}), nil
	}
}

// timeHosts runs hosts and returns the time of a generation of the first: the lower quartile, because what others do on
// the machine makes two hosts wait more often than one.
func timeHosts(ctx context.Context, dir string, n int, g sharedRun, server string, apart bool) (float64, error) {
	self, err := os.Executable()
	if err != nil {
		return 0, err
	}
	cores, err := ownCores()
	if err != nil {
		return 0, err
	}
	var all sync.WaitGroup
	errs := make([]error, n)
	for i := range n {
		name, together := filepath.Base(dir), n
		if apart {
			name, together = fmt.Sprintf("%s-%d", name, i), 1
		}
		all.Go(func() {
			cmd := exec.CommandContext(ctx, self, "evolve", g.env, "--policy", g.policy, "--pop",
				strconv.Itoa(g.members), "--generations", strconv.Itoa(hostsGenerations), "--target", "0",
				"--steps", "500", "--eval-episodes", "1", "--devices", "1", "--join", "nats://"+server+"/"+name,
				"--hosts", strconv.Itoa(together), "--out", filepath.Join(dir, strconv.Itoa(i)))
			_, errs[i] = onCore(cores[i%len(cores)], func() (string, error) { return outputOf(cmd) })
		})
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		return 0, err
	}
	text, err := os.ReadFile(filepath.Join(dir, "0", "timings.jsonl"))
	if err != nil {
		return 0, err
	}
	var seconds []float64
	for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		var row struct{ Seconds float64 }
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			return 0, err
		}
		seconds = append(seconds, row.Seconds)
	}
	if len(seconds) != hostsGenerations {
		return 0, fmt.Errorf("a host has the times of %d generations, want %d", len(seconds), hostsGenerations)
	}
	seconds = seconds[hostsFirst:]
	slices.Sort(seconds)
	return seconds[len(seconds)/4], nil
}

// ownCores returns the cores of this process.
func ownCores() (cores []int, err error) {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return nil, fmt.Errorf("the cores of this process: %w", err)
	}
	for core := range len(set) * 64 {
		if set.IsSet(core) {
			cores = append(cores, core)
		}
	}
	return cores, nil
}

// onCore calls do, whose new processes run on one core.
func onCore(core int, do func() (string, error)) (string, error) {
	runtime.LockOSThread() // without an unlock: the thread ends with the goroutine, and nobody else gets its core
	var set unix.CPUSet
	set.Set(core)
	if err := unix.SchedSetaffinity(0, &set); err != nil {
		return "", fmt.Errorf("core %d: %w", core, err)
	}
	return do()
}
