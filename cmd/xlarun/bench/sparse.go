package bench

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"regexp"
	"time"

	"xlarun/cmd/xlarun/display"
	"xlarun/rollout/sparse"
)

// sparseName is the workload of sparse_mnist.c: 200 sparse networks, one step of SGD on 512 examples each.
const (
	sparseName  = "sparse"
	sparseBatch = 512
	sparseSteps = 10 // of one repeat, after as many that warm up
)

// sparseNets is the workload by one method: "auto" (what is chosen by default) or "masked" matrices.
type sparseNets struct{ method string }

// bench times one step of the whole population in turn with the peer's step with one structure a connection.
func (n sparseNets) bench(ctx context.Context, b *bench, name string) ([]row, error) {
	var program string
	if b.flags.peers {
		var err error
		if program, err = compileC(ctx, "sparse_mnist.c"); err != nil {
			return nil, fmt.Errorf("the peer %w, or leave out --peers", err)
		}
	}
	line, err := b.inTurn(name, "sparse_mnist.c", func() (float64, error) { return b.sparseSeconds(ctx, n.method) }, func() (float64, error) {
		out, peak, err := outputAndPeak(ctx, exec.CommandContext(ctx, program))
		if err != nil {
			return 0, fmt.Errorf("the peer sparse_mnist.c failed: %w", err)
		}
		b.peerPeak = max(b.peerPeak, peak)
		return parseSparsePeer(out)
	})
	if err != nil {
		return nil, err
	}
	if err := b.besideMemory(ctx, &line, name); err != nil {
		return nil, err
	}
	if line.CachedPeakBytes != nil {
		plugin, err := b.ownPeak(ctx, false, "bench", openName, "--repeats", "1")
		if err != nil {
			return nil, err
		}
		line.note = fmt.Sprintf("%s: %s of our memory are the process with the plugin opened and nothing compiled\n", name, display.Bytes(plugin))
		line.PluginPeakBytes = &plugin
	}
	return []row{line}, nil
}

// sparseSeconds is the time of one step, steady. The pictures are random, with a fifth of the pixels set, as the peer's.
func (b *bench) sparseSeconds(ctx context.Context, method string) (float64, error) {
	backend, err := b.open(ctx, b.flags.BackendFlags)
	if err != nil {
		return 0, err
	}
	defer func() { _ = backend.Close() }()
	c := sparse.DefaultConfig()
	c.Batch, c.Steps, c.MutateEvery, c.Method, c.Devices = sparseBatch, 2*sparseSteps, 0, method, b.flags.Devices
	p, err := sparse.New(backend, c, randomPictures(sparseBatch))
	if err != nil {
		return 0, err
	}
	defer func() { _ = p.Close() }()
	var start time.Time
	for p.Steps() < c.Steps {
		if ctx.Err() != nil {
			return 0, ctx.Err()
		}
		if p.Steps() == sparseSteps {
			start = time.Now()
		}
		left := c.Steps - p.Steps()
		if p.Steps() < sparseSteps {
			left = sparseSteps - p.Steps()
		}
		if _, _, err := p.Train(left); err != nil {
			return 0, err
		}
	}
	return time.Since(start).Seconds() / sparseSteps, nil
}

func randomPictures(n int) sparse.Data {
	const pixels, classes = 784, 10
	r := rand.New(rand.NewPCG(1, 2))
	m := sparse.Images{Pixels: pixels, Data: make([]byte, n*pixels), Labels: make([]byte, n)}
	for i := range m.Data {
		if r.IntN(5) == 0 {
			m.Data[i] = byte(r.IntN(256))
		}
	}
	for i := range m.Labels {
		m.Labels[i] = byte(i % classes)
	}
	return sparse.Data{Train: m, Test: m.Head(64)}
}

var structsLine = regexp.MustCompile(`(?m)^AoS: ([0-9.]+) steps/s$`)

// parseSparsePeer gives the seconds of the peer's faster pass over 512 examples.
func parseSparsePeer(out string) (float64, error) {
	rate, err := largest(structsLine, out)
	if err != nil {
		return 0, err
	}
	if rate <= 0 {
		return 0, fmt.Errorf("the peer sparse_mnist.c printed %q, which holds no speed", out)
	}
	return sparseBatch / rate, nil
}
