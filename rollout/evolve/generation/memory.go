package generation

import (
	"errors"
	"math"
	"sync"

	"xlarun/graph"
	"xlarun/graph/lower"
	"xlarun/graph/random"
	"xlarun/rollout/evolve/strategy"
	"xlarun/rollout/plan"
	"xlarun/rollout/population"
)

// sizes are the bytes of the parts of a run. They follow from shapes; nothing is computed.
type sizes struct {
	params uint64 // one member's parameters
	genome uint64 // one member's genome
	draw   uint64 // one group's draw
	state  uint64 // State, without the members that Traits.Keeps counts
	widest uint64 // the largest array of State, at least a genome
	step   uint64 // the carry of one episode's steps
	sum    uint64 // the largest result of Sum or Outer in Tell, at least a genome
	mapped uint64 // all results of Map in Tell
	all    bool   // Tell calls All
}

// Count finds the sizes. On an error, which tracing the program will return with the user's line, everything counts as
// large as the parameters.
func (x *Setup) Count() {
	n := 4 * uint64(x.Params)
	keeps := x.Strategy.Keeps != nil
	x.sizes = sizes{params: n, genome: n, draw: n, state: n, widest: n, sum: n, all: keeps}
	x.reads = plan.Reads{Params: 4 * x.Params}
	if reads, err := x.Rollout.Reads(); err == nil {
		x.sizes.step, x.reads = uint64(reads.Carry), reads
	}
	x.narrow = sync.OnceValue(x.Rollout.Narrow)
	x.Groups.Items = x.Search.Population / x.Strategy.GroupSize
	p, err := x.Program()
	defer func() {
		if wrong, ok := errors.AsType[*graph.Error](err); ok && wrong.TooLarge {
			x.sizes.state = math.MaxUint64
		}
	}()
	if err != nil {
		return
	}
	if x.shared = p.sharesMatrices(); x.shared { // a step reads shared matrices once for all members
		x.reads.Params, x.reads.Shared = int(sizeOf(p.draw)), 0
	}
	err = graph.Try(func() {
		c := sizes{step: x.sizes.step, draw: sizeOf(p.draw)}
		params := p.policy().Init(random.New(0))
		c.params, c.genome = sizeOf(params), sizeOf(p.genome(params))
		state := p.Start(random.New(0))
		c.state, c.widest = sizeOf(state), c.genome
		if keeps {
			kept := &plan.Tally{}
			kept.Add(uint64(x.Strategy.Keeps(x.Search.Population)), c.genome)
			n, _ := kept.Total()
			c.state -= min(c.state, uint64(n))
		} else {
			for _, leaf := range graph.Leaves(state) {
				c.widest = max(c.widest, sizeOf(leaf))
			}
		}
		tell := &recorder{items: p.Groups.Items, draw: p.draw, sum: c.genome, all: keeps}
		members := evaluation(population.ZeroRows(p.members(), p.Rollout.Nothing()))
		p.Strategy.Tell(state.Strategy, members, tell)
		c.sum, c.all, c.mapped = tell.sum, tell.all, tell.mapped
		x.sizes = c
	})
}

// recorder is a population.Draws with shapes only. It records the calls of Tell.
type recorder struct {
	items int
	draw  any // of one group
	sum   uint64
	all   bool

	mapped uint64
}

func (a *recorder) Items() int { return a.items }

func (a *recorder) Sum(_ *graph.Array, term func(draw any) any) any {
	sum := a.draw
	if term != nil {
		sum = term(a.draw)
	}
	return a.summed(graph.MapTree(func(z *graph.Array) *graph.Array {
		return graph.Zeros(graph.ShapeOf(graph.Float32, z.Dims()...))
	}, sum))
}

func (a *recorder) Outer(_ *graph.Array, term func(draw any) *graph.Array) *graph.Array {
	n := term(a.draw).Dim(0)
	return a.summed(graph.Zeros(graph.ShapeOf(graph.Float32, n, n))).(*graph.Array)
}

func (a *recorder) Map(term func(draw any) any) any {
	mapped := term(a.draw)
	a.mapped += uint64(a.items) * sizeOf(mapped)
	return population.ZeroRows(a.items, mapped)
}

func (a *recorder) Each(f func(item *graph.Array) any) any {
	mapped := f(graph.Scalar(0, graph.Int32))
	a.mapped += uint64(a.items) * sizeOf(mapped)
	return population.ZeroRows(a.items, mapped)
}

func (a *recorder) summed(sum any) any {
	a.sum = max(a.sum, sizeOf(sum))
	return sum
}

func (a *recorder) All() any {
	a.all = true
	return population.ZeroRows(a.items, a.draw)
}

// sizeOf returns the bytes of a tree's arrays.
func sizeOf(tree any) uint64 { return uint64(graph.TreeBytes(tree)) }

// Memory estimates the memory of the run in bytes, on all devices together. ok is false if it does not fit in an int64.
func (x *Setup) Memory() (total int64, ok bool) {
	size := uint64(x.Search.Population)
	devices := uint64(x.Groups.Devices)
	rows := devices * uint64(x.Groups.RowCount()) // of population.Tiles.Rows
	lanes := uint64(x.Groups.Lanes)
	members := lanes * uint64(x.Strategy.GroupSize)
	bytes := x.sizes
	sum := &plan.Tally{}
	if x.Regenerate {
		sum.Add(2, devices, lanes, bytes.draw)  // a tile's draws
		sum.Add(devices, 1+devices, bytes.draw) // the best's, of all devices
	} else {
		sum.Add(rows, lanes, bytes.draw) // the draws
	}
	if x.Strategy.Keeps != nil {
		kept := uint64(x.Strategy.Keeps(x.Search.Population))
		sum.Add(3, devices, kept, bytes.genome) // members in the state, in and out
	}
	if bytes.all {
		sum.Add(2, devices, rows, lanes, bytes.draw) // all draws, everywhere
	}
	if x.shared {
		sum.Add(devices, lanes, bytes.draw, uint64(x.Strategy.GroupSize)) // factors of the members
	} else {
		sum.Add(devices, members, bytes.genome) // a tile's genomes
		sum.Add(devices, members, bytes.params) // and their parameters
	}
	sum.Add(2, devices, bytes.mapped) // on each device, and gathered
	sum.Add(devices, bytes.state)     // donated: in and out in the same place
	sum.Add(2, devices, bytes.widest) // update and result of an array of the state
	if x.Regenerate {
		sum.Add(devices, 2+devices, bytes.sum) // running sum, a tile's sum, and those of all devices
	} else {
		sum.Add(rows, bytes.sum)          // sums by tile
		sum.Add(devices, rows, bytes.sum) // and gathered, on each device
	}
	sum.Add(2, devices, members, uint64(x.Layout.EpisodeBatch), bytes.step) // before and after a step
	sum.Add(64, devices, size)                                              // fitness, ranks, keys
	sum.Add(1, devices, strategy.RankBytes(size))
	return sum.Total()
}

// Planned estimates the memory of the traced generation in bytes, on all devices together. It is closer than Memory,
// which knows no program. On the interpreter, which lowers nothing, it is Memory's estimate.
func (x *Setup) Planned(p *graph.Program) int64 {
	target := graph.TargetCPUKernels
	if x.Machine.Accelerator {
		target = graph.TargetCUDA
	}
	if x.Machine.CPU || x.Machine.Accelerator {
		if f, err := lower.Memory(p, target); err == nil {
			return f.Total() * int64(x.Groups.Devices)
		}
	}
	total, _ := x.Memory()
	return total
}
