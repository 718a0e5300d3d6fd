package bench

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"xlarun/cmd/xlarun/console"
	"xlarun/cmd/xlarun/machine"
	"xlarun/rollout/evolve"
	"xlarun/rollout/plan"
)

// cartPole is the experiment of the workloads: OpenES on episodes of 500 steps, two hidden layers.
func cartPole(population, hidden int) evolve.Config {
	c := evolve.DefaultConfig()
	c.Env, c.Strategy, c.Steps = "CartPole-v1", "openes", 500
	c.Tune = plan.TuneQuick // what warmup does
	c.Population, c.Policy = population, fmt.Sprintf("mlp:%d,%d", hidden, hidden)
	return c
}

// withEngine opens a backend and makes an engine for the time of f.
func (b *bench) withEngine(ctx context.Context, c evolve.Config, f func(engine) error) error {
	backend, err := b.open(ctx, b.flags.BackendFlags)
	if err != nil {
		return err
	}
	defer func() { _ = backend.Close() }()
	c.Devices = b.flags.Devices
	e, err := b.newEngine(backend, c)
	if err != nil {
		return err
	}
	defer func() { _ = e.Close() }()
	return f(e)
}

// rollouts is a population that plays its episodes, without sampling it and without learning.
type rollouts struct{ population, hidden, episodes int }

// rolloutRuns is the number of runs of which the fastest counts, ours and the peers'.
const rolloutRuns = 5

func (r rollouts) bench(ctx context.Context, b *bench, name string) ([]row, error) {
	c := cartPole(r.population, r.hidden)
	c.Episodes = r.episodes
	peer, script := "gymnax", func() (float64, error) { return b.peers.gymnax(ctx, r.population, c.Steps, r.hidden) }
	if r.episodes > 1 {
		peer, script = "jax", func() (float64, error) { return b.peers.episodes(ctx, r.population, c.Steps, r.hidden, r.episodes) }
	}
	line, err := b.inTurn(name, peer, func() (best float64, err error) {
		err = b.withEngine(ctx, c, func(e engine) error {
			phases, err := e.Phases(rolloutRuns)
			if err != nil {
				return err
			}
			for _, p := range phases {
				if p.Name == "play" {
					best = p.Best
					return nil
				}
			}
			return errors.New("a generation has no phase named play")
		})
		return best, err
	}, script)
	if err != nil {
		return nil, err
	}
	err = b.besideMemory(ctx, &line, name)
	return []row{line}, err
}

// generations are whole generations, and with start the time to the first one too.
type generations struct {
	population, hidden int
	count              int // of one repeat
	start              bool
}

// warmUp is the number of generations before the clock starts.
const warmUp = 5

func (g generations) bench(ctx context.Context, b *bench, name string) ([]row, error) {
	c := cartPole(g.population, g.hidden)
	var cold, warm, theirFirst []float64
	var peaks startPeaks
	line, err := b.inTurn(name, "evosax", func() (float64, error) {
		seconds, err := b.generationSeconds(ctx, c, g.count)
		if err != nil || !g.start || b.flags.Backend == console.Reference {
			return seconds, err
		}
		start, err := b.startSeconds(ctx, c)
		cold, warm, peaks = append(cold, start.cold), append(warm, start.warm), start.peaks
		return seconds, err
	}, func() (float64, error) {
		p, err := b.peers.evosax(ctx, g.population, g.hidden, g.count)
		theirFirst = append(theirFirst, p.first)
		return p.generation, err
	})
	if err != nil {
		return nil, err
	}
	if err := b.besideMemory(ctx, &line, strings.Replace(name, "evolve", "generation", 1)); err != nil {
		return nil, err
	}
	return append([]row{line}, startLines(name+"-start", warm, cold, theirFirst, peaks, line.PeerPeakBytes)...), nil
}

// generationSeconds is the time of one generation, steady.
func (b *bench) generationSeconds(ctx context.Context, c evolve.Config, count int) (seconds float64, err error) {
	err = b.withEngine(ctx, c, func(e engine) error {
		for range warmUp {
			if _, err := e.Step(); err != nil {
				return err
			}
		}
		start := time.Now()
		for range count {
			if _, err := e.Step(); err != nil {
				return err
			}
			if ctx.Err() != nil {
				return ctx.Err()
			}
		}
		seconds = time.Since(start).Seconds() / float64(count)
		return nil
	})
	return seconds, err
}

// timeStart times the start of a process to the end of its first generation.
func timeStart(ctx context.Context, b *bench, name string) ([]row, error) {
	if b.flags.Backend == console.Reference {
		return nil, console.BadInput("the workload start got the backend %s, which compiles nothing: use another backend", console.Reference)
	}
	c := cartPole(256, 16)
	var cold, warm, theirs []float64
	var peaks startPeaks
	line, err := b.inTurn(name, "evosax", func() (float64, error) {
		start, err := b.startSeconds(ctx, c)
		cold, warm, peaks = append(cold, start.cold), append(warm, start.warm), start.peaks
		return start.warm, err
	}, func() (float64, error) {
		p, err := b.peers.evosax(ctx, 256, 16, 1)
		theirs = append(theirs, p.first)
		return p.first, err
	})
	if err != nil {
		return nil, err
	}
	return startLines(name, warm, cold, theirs, peaks, line.PeerPeakBytes), nil
}

func startLines(name string, warm, cold, theirs []float64, peaks startPeaks, theirPeak *int64) []row {
	if len(warm) == 0 {
		return nil
	}
	lines := []row{{Name: name + "-warm", Ours: machine.Median(warm)}, {Name: name + "-cold", Ours: machine.Median(cold)}}
	if len(theirs) > 0 {
		for i := range lines {
			lines[i] = lines[i].against("evosax", machine.Median(theirs))
			lines[i].PeerPeakBytes = theirPeak
		}
		lines[0].CachedPeakBytes, lines[1].PeakBytes = &peaks.warm, &peaks.cold
	}
	return lines
}
