package bench

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"xlarun/cmd/xlarun-bench/bench/neurobench"
	"xlarun/internal/quantity"
	"xlarun/rollout/evolve"
	"xlarun/rollout/run"
	"xlarun/rollout/sparse"
	"xlarun/xlabridge"
)

func evolveWorkloads(Options) []Workload {
	forage := evolve.DefaultConfig()
	forage.Env, forage.Strategy, forage.Steps, forage.Policy = "Forage-L1-v1", "openes", 200, "mlp:32,32"
	forage.Population = 1024
	return []Workload{
		rolloutWorkload("rollouts-small", 256, 16, 1),
		rolloutWorkload("rollouts-wide", 1024, 64, 1),
		generationWorkload("generation-small", 256, 16, steady),
		generationWorkload("generation-wide", 1024, 64, steady),
		{Name: "generation-forage", What: "a generation of OpenES on Forage-L1-v1, 1024 x mlp:32,32, 200 steps",
			Work: 1024 * 200, Unit: "steps", Open: generations(forage)},
		rolloutWorkload("episodes", 256, 64, 16),
		generationWorkload("start-warm", 256, 16, warmStart),
		generationWorkload("start-cold", 256, 16, coldStart),
		sparseWorkload("sparse", "auto"),
		sparseWorkload("sparse-masked", "masked"),
		{Name: "open", What: "a process that opens the plugin alone, from its start", Start: coldStart, Explicit: true,
			Open: func(context.Context, *host, xlabridge.Backend, Options) (*Runner, error) {
				return neurobench.Timed(func() (float64, error) { return 0, nil }, func() error { return nil }), nil
			}},
	}
}

// cartPole is OpenES on episodes of 500 steps of CartPole-v1, with two hidden layers.
func cartPole(population, hidden int) evolve.Config {
	c := evolve.DefaultConfig()
	c.Env, c.Strategy, c.Steps = "CartPole-v1", "openes", 500
	c.Population, c.Policy = population, fmt.Sprintf("mlp:%d,%d", hidden, hidden)
	return c
}

// rolloutWorkload is a population that plays its episodes, without sampling and learning.
func rolloutWorkload(name string, population, hidden, episodes int) Workload {
	sizes := []string{strconv.Itoa(population), "500", strconv.Itoa(hidden)}
	peers := []Peer{
		{Name: "gymnax", JAX: true, Script: "gymnax_rollout.py", Args: sizes},
		{Name: "C", Source: "rollout_limit.c", Limit: true, Defines: []string{fmt.Sprintf("-DH=%d", hidden)},
			Args: sizes[:1]},
	}
	if episodes > 1 {
		peers = []Peer{{Name: "jax", Script: "episodes_jax.py", Args: append(sizes, strconv.Itoa(episodes))}}
	}
	return Workload{Name: name, Peers: peers,
		What: fmt.Sprintf("CartPole-v1, %d x mlp:%d,%d, %s of 500 steps", population, hidden, hidden,
			quantity.Count(episodes, "episode", "episodes")),
		Work: float64(population * 500 * episodes), Unit: "steps",
		Open: func(ctx context.Context, _ *host, b xlabridge.Backend, o Options) (*Runner, error) {
			c := cartPole(population, hidden)
			c.Episodes, c.Devices, c.Tune = episodes, o.Devices, o.Tune
			return neurobench.OpenPlay(ctx, b, c)
		}}
}

// generationWorkload is a whole generation: ask, play, tell.
func generationWorkload(name string, population, hidden int, start startKind) Workload {
	what := fmt.Sprintf("a generation of OpenES on CartPole-v1, %d x mlp:%d,%d, 500 steps", population, hidden, hidden)
	work := float64(population * 500)
	if start != steady {
		what, work = "from the start of a process to the first of: "+what, 0
	}
	if start == warmStart {
		what += "; its programs are cached"
	}
	return Workload{Name: name, What: what, Work: work, Unit: "steps", Start: start,
		Open: generations(cartPole(population, hidden)),
		Peers: []Peer{{Name: "evosax", JAX: true, Script: "evosax_cartpole.py",
			Args: []string{strconv.Itoa(population), strconv.Itoa(hidden)}}}}
}

// generations runs generations of an experiment.
func generations(c evolve.Config) openRunner {
	return func(ctx context.Context, _ *host, b xlabridge.Backend, o Options) (*Runner, error) {
		c := c
		if c.Devices == 0 {
			c.Devices = o.Devices
		}
		c.Tune = o.Tune
		e, err := evolve.New(ctx, b, c)
		if err != nil {
			return nil, err
		}
		return steps(ctx, e, 0), nil
	}
}

// stepper is a run whose steps are timed.
type stepper interface {
	Step(ctx context.Context) (run.Metrics, error)
	Profile() run.Profile
	Close() error
}

// steps times the steps of a run. If per is above 0, times are scaled to per units of work.
func steps(ctx context.Context, s stepper, per float64) *Runner {
	scale := 1.
	r := neurobench.Repeated(func() (seconds, result float64, err error) {
		start := time.Now()
		m, err := s.Step(ctx)
		seconds = time.Since(start).Seconds()
		if per > 0 && m.Work > 0 {
			scale = per / m.Work
		}
		return seconds * scale, float64(m.Step), err
	}, s.Close)
	r.Plan, r.Scale = s.Profile().Plan, &scale
	return r
}

// sparseExamples is the number of examples of a step.
const sparseExamples = 512

// sparseWorkload is an update of sparse networks by a method, "auto" (the default) or "masked".
func sparseWorkload(name, method string) Workload {
	return Workload{Name: name, What: "an update of 200 sparse networks on 512 examples each, method " + method,
		Work: 200 * sparseExamples, Unit: "examples", Peers: []Peer{{Name: "C", Source: "sparse_mnist.c"}},
		Open: func(ctx context.Context, _ *host, b xlabridge.Backend, o Options) (*Runner, error) {
			c := sparse.DefaultConfig()
			c.Batch, c.Updates, c.MutateEvery, c.Method, c.Devices = sparseExamples, 1<<30-1, 0, method, o.Devices
			p, err := sparse.New(ctx, b, c, randomPictures(sparseExamples))
			if err != nil {
				return nil, err
			}
			return neurobench.Timed(func() (float64, error) {
				_, _, err := p.Train(1)
				return float64(p.Updates()), err
			}, p.Close), nil
		}}
}

// randomPictures returns pictures with a fifth of the pixels set, as the peer's.
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
