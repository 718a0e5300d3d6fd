package sparse

import (
	"slices"
	"time"

	"xlarun/graph"
	"xlarun/xlabridge"
)

// WarmUp takes one step of SGD with all members and puts the state back as it was, to the bit: the next Train is the one
// that it would have been, and finds code, memory and caches warm. It returns the seconds that the step took.
func (p *Population) WarmUp() (seconds float64, err error) {
	before, err := p.Snapshot()
	if err != nil {
		return 0, err
	}
	start := time.Now()
	if _, _, err := p.Train(1); err != nil {
		return 0, err
	}
	seconds = time.Since(start).Seconds()
	return seconds, p.Restore(before)
}

// Phase is a part of a run that was timed by itself.
type Phase struct {
	// Name is "batch" (the host lays the examples of a step out and moves them to the devices), "step" (of SGD),
	// "evaluation" (on all test data), "mutation", or "index" (made anew after a mutation).
	Name    string
	Seconds float64 // of a run, the median
	Best    float64 // of the fastest run
}

// Phases times the parts of a run, all members together, each `repeats` times after a first one, and puts the state back.
func (p *Population) Phases(repeats int) (phases []Phase, err error) {
	before, err := p.Snapshot()
	if err != nil {
		return nil, err
	}
	run := func(name string, of int, f func() error) error {
		seconds := make([]float64, repeats)
		for i := range 1 + repeats {
			start := time.Now()
			if err := f(); err != nil {
				return err
			}
			if i > 0 {
				seconds[i-1] = time.Since(start).Seconds() / float64(of)
			}
		}
		slices.Sort(seconds)
		phases = append(phases, Phase{name, (seconds[(repeats-1)/2] + seconds[repeats/2]) / 2, seconds[0]})
		return nil
	}
	in := p.plain()
	in.Turn = graph.Of(int32(p.rounds))
	defer func() {
		if in.Data.Images != nil {
			xlabridge.Free(in.Data)
		}
	}()
	if err := run("batch", p.rounds, func() (err error) {
		if in.Data.Images != nil {
			xlabridge.Free(in.Data)
		}
		in.Data, err = xlabridge.Put(p.backend, p.config.Devices, p.nextBatches(p.rounds))
		return err
	}); err != nil {
		return nil, err
	}
	if err := run("step", p.rounds, func() error {
		stats, err := p.learn(p.train, in)
		xlabridge.Free(stats)
		return err
	}); err != nil {
		return nil, err
	}
	if err := run("evaluation", 1, func() error {
		_, err := p.Evaluate()
		return err
	}); err != nil {
		return nil, err
	}
	if p.mutate != nil {
		if err := run("mutation", 1, p.mutateOnly); err != nil {
			return nil, err
		}
	}
	if p.index != nil {
		if err := run("index", 1, p.reindex); err != nil {
			return nil, err
		}
	}
	return phases, p.Restore(before)
}

// counted is a method whose work cannot be counted in the traced program.
type counted interface {
	// cost is that of one step of a member with so many examples.
	cost(lanes int) graph.Cost
}

// Cost is the work of one step of all members, those of padding included: of the traced program, or of the kernel.
func (p *Population) Cost() graph.Cost {
	if m, ok := p.method.(counted); ok {
		return times(m.cost(p.lanes), float64(p.config.Population))
	}
	g := p.train.Program.Graph
	members := map[*graph.Node]bool{} // the loop over a device's members; within it is the one over a round's steps
	for _, n := range g.Nodes {
		members[n] = true
	}
	c := g.Cost(func(loop *graph.Node) int {
		if members[loop] {
			return p.tiles.PerDevice
		}
		return p.rounds
	})
	return times(c, float64(p.config.Devices)/float64(p.rounds))
}

func times(c graph.Cost, k float64) graph.Cost {
	return graph.Cost{FLOPs: k * c.FLOPs, Transcendentals: k * c.Transcendentals, IntOps: k * c.IntOps, Bytes: k * c.Bytes}
}

// cost counts a product and a sum for each connection and example: forward, for the weight's gradient and, but in the
// first layer, for the input's. What is read and written are the places, weights and gradients, once for each block of
// lanes and direction, and once to update the weights; and the images. Units and deltas stay in the cache.
func (m kernelMethod) cost(lanes int) (c graph.Cost) {
	blocks := float64(lanes / laneMultiple)
	for l, layer := range m.shape {
		n := float64(layer.Connections)
		passes := 3.
		if l == 0 {
			passes = 2
		}
		c.FLOPs += n * (2*passes*float64(lanes) + 2)
		c.Bytes += n * (blocks*(8+8+8) + 12)
	}
	c.Bytes += float64(lanes * m.shape[0].In)
	return c
}
