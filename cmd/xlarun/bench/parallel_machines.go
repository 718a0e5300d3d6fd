package bench

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"xlarun/cmd/xlarun/console"
)

// namespaces stand for machines: each has a network of its own, and meets the others by a bridge in the first, the head's.
type namespaces struct {
	head    string
	workers []string
}

const headAddress = "10.213.7.1"

// newNamespaces makes them; it takes the rights of the superuser.
func newNamespaces(ctx context.Context, workers int) (n *namespaces, err error) {
	name := func(i int) string { return fmt.Sprintf("xlarun-%d-%d", os.Getpid(), i) }
	n = &namespaces{head: name(0)}
	defer func() {
		if err != nil {
			n.close()
		}
	}()
	commands := [][]string{{"netns", "add", n.head}, {"-n", n.head, "link", "set", "lo", "up"}, {"-n", n.head, "link", "add", "bridge0", "type", "bridge"},
		{"-n", n.head, "addr", "add", headAddress + "/24", "dev", "bridge0"}, {"-n", n.head, "link", "set", "bridge0", "up"}}
	for i := 1; i <= workers; i++ {
		w, port := name(i), fmt.Sprintf("port%d", i)
		n.workers = append(n.workers, w)
		commands = append(commands, []string{"netns", "add", w}, []string{"-n", n.head, "link", "add", port, "type", "veth", "peer", "name", "net0", "netns", w},
			[]string{"-n", n.head, "link", "set", port, "master", "bridge0"}, []string{"-n", n.head, "link", "set", port, "up"},
			[]string{"-n", w, "addr", "add", fmt.Sprintf("10.213.7.%d/24", i+1), "dev", "net0"}, []string{"-n", w, "link", "set", "net0", "up"}, []string{"-n", w, "link", "set", "lo", "up"})
	}
	for _, args := range commands {
		if _, err := outputOf(exec.CommandContext(ctx, "ip", args...)); err != nil {
			return nil, fmt.Errorf("ip %s: %w", strings.Join(args, " "), err)
		}
	}
	return n, nil
}

func (n *namespaces) close() {
	for _, name := range append([]string{n.head}, n.workers...) {
		_ = exec.Command("ip", "netns", "del", name).Run() // it may not be there
	}
}

// in is a command inside of one.
func (n *namespaces) in(ctx context.Context, name string, args ...string) *exec.Cmd {
	return exec.CommandContext(ctx, "ip", append([]string{"netns", "exec", name}, args...)...)
}

// sent are the bytes that the head's bridge has received and sent.
func (n *namespaces) sent(ctx context.Context) (bytes int64) {
	out, err := outputOf(n.in(ctx, n.head, "cat", "/sys/class/net/bridge0/statistics/rx_bytes", "/sys/class/net/bridge0/statistics/tx_bytes"))
	if err != nil {
		return 0
	}
	for _, f := range strings.Fields(out) {
		var x int64
		if _, err := fmt.Sscan(f, &x); err == nil {
			bytes += x
		}
	}
	return bytes
}

// away is what happens to the workers of a study on several machines.
type away struct {
	What    string  `json:"what"`
	Seconds float64 `json:"seconds"`
	Bytes   int64   `json:"bytes"` // between the machines
	Equal   bool    `json:"equal"` // every value is the same bits as on one machine
}

// machines runs a study on one machine, and with a coordinator and two workers that have a network namespace each.
func (b *parallelBench) machines(ctx context.Context) error {
	n, err := newNamespaces(ctx, cores())
	if err != nil {
		b.found["machines"] = "network namespaces cannot be made here: " + err.Error()
		fmt.Fprintf(b.Out, "network namespaces cannot be made here (%v): nothing is measured\n", err)
		return nil
	}
	defer n.close()
	tier, trials := b.tiers[min(1, len(b.tiers)-1)], more(b, 24, 12)
	if err := b.warm(ctx, tier, 1); err != nil {
		return err
	}
	local, err := b.measure(ctx, func() ([]*exec.Cmd, error) {
		cmd, err := evolveStudy{tier, trials, cores(), 1, "tpe", true}.command(ctx, b)
		return []*exec.Cmd{cmd}, err
	})
	if err != nil {
		return err
	}
	want, err := exported(local.out[0])
	if err != nil {
		return err
	}
	var all []away
	for _, what := range []string{"undisturbed", "a worker killed", "a worker cut off for 5 s", "1 Mbit/s"} {
		a, values, err := b.elsewhere(ctx, n, evolveStudy{tier, trials, cores(), 1, "tpe", false}, what)
		if err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		a.Equal = slices.Equal(values, want)
		all = append(all, a)
		same := "every value is the same bits as on one machine"
		if !a.Equal {
			same = "VALUES DIFFER from those of one machine"
		}
		fmt.Fprintf(b.Out, "  %s: %.2f s (one machine %.2f s), %s between the machines a trial; %s\n", what, a.Seconds, local.Seconds, console.Count(int(a.Bytes)/trials, "byte", "bytes"), same)
	}
	b.found["machines"] = all
	b.against("machines", all[0].Seconds, "one machine", local.Seconds, 0)
	for _, a := range all {
		if !a.Equal {
			return fmt.Errorf("a study on several machines (%s) came to other values than on one", a.What)
		}
	}
	return nil
}

// elsewhere runs the study with its coordinator and its workers in namespaces.
func (b *parallelBench) elsewhere(ctx context.Context, n *namespaces, s evolveStudy, what string) (a away, values []float64, err error) {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Minute)
	defer cancel()
	path, err := s.spec(b)
	if err != nil {
		return a, nil, err
	}
	token := b.file("token")
	if err := os.WriteFile(token, []byte("a token for a test\n"), 0o600); err != nil {
		return a, nil, err
	}
	before, begun := n.sent(ctx), time.Now()
	serve := n.in(ctx, n.head, b.self, "serve", path, "--listen", headAddress+":4222", "--no-workers", "--token-file", token, "--lease", "3s")
	out, err := serve.StdoutPipe()
	if err != nil {
		return a, nil, err
	}
	serve.Stderr = b.Err
	if err := serve.Start(); err != nil {
		return a, nil, err
	}
	var workers []*exec.Cmd
	defer func() {
		for _, w := range workers {
			_ = w.Process.Kill() // at the end it is gone
			_ = w.Wait()
		}
		_ = serve.Process.Kill()
		_ = serve.Wait()
	}()
	join := func(i int) error {
		w := n.in(ctx, n.workers[i], b.self, "work", "nats://"+headAddress+":4222", "--workers", "1", "--token-file", token)
		workers = append(workers, w)
		return w.Start()
	}
	slow := what == "1 Mbit/s"
	if slow {
		for _, w := range n.workers {
			if _, err := outputOf(exec.CommandContext(ctx, "tc", "-n", w, "qdisc", "add", "dev", "net0", "root", "tbf", "rate", "1mbit", "burst", "32kbit", "latency", "400ms")); err != nil {
				return a, nil, err
			}
		}
		defer func() {
			for _, w := range n.workers {
				_ = exec.Command("tc", "-n", w, "qdisc", "del", "dev", "net0", "root").Run() // the namespace goes with it
			}
		}()
	}
	lines, ended := bufio.NewScanner(out), 0
	for lines.Scan() {
		switch text := lines.Text(); {
		case strings.HasPrefix(text, "workers join"):
			for i := range n.workers {
				if err := join(i); err != nil {
					return a, nil, err
				}
			}
		case strings.HasPrefix(text, "trial "):
			if ended++; ended != 2 {
				continue
			}
			switch what {
			case "a worker killed":
				if err := workers[0].Process.Kill(); err != nil {
					return a, nil, err
				}
				if err := join(0); err != nil {
					return a, nil, err
				}
			case "a worker cut off for 5 s":
				last := n.workers[len(n.workers)-1]
				if _, err := outputOf(exec.CommandContext(ctx, "ip", "-n", last, "link", "set", "net0", "down")); err != nil {
					return a, nil, err
				}
				time.AfterFunc(5*time.Second, func() { _ = exec.Command("ip", "-n", last, "link", "set", "net0", "up").Run() })
			}
		}
	}
	if _, err := io.Copy(io.Discard, out); err != nil {
		return a, nil, err
	}
	if err := serve.Wait(); err != nil {
		return a, nil, err
	}
	a = away{What: what, Seconds: time.Since(begun).Seconds(), Bytes: n.sent(ctx) - before}
	csv := b.file("trials.jsonl")
	if _, err := outputOf(exec.CommandContext(ctx, b.self, "study", "export", path, "--out", csv)); err != nil {
		return a, nil, err
	}
	text, err := os.ReadFile(csv)
	if err != nil {
		return a, nil, err
	}
	values, err = exported(string(text))
	return a, values, err
}
