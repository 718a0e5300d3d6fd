package evolve

import (
	"errors"
	"math"
	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/evolve/strategy"
	"xlarun/rollout/plan"
)

// sizes are the bytes of what a run holds, read off shapes: nothing is computed.
type sizes struct {
	params uint64 // one member's parameters
	genome uint64 // the same as the strategy sees them
	draw   uint64 // of one group
	state  uint64 // State, without what a Keeper keeps
	widest uint64 // the largest array of it, a genome at least
	step   uint64 // what a step of one episode hands to the next
	sum    uint64 // the largest sum over all draws that Tell takes, a genome at least
	mapped uint64 // what Tell takes of all draws by itself
	all    bool   // Tell asks for all draws at once
}

// count reads the sizes off. What fails here fails when it is traced, with the user's line; until then all is as large as the
// parameters.
func (x *experiment) count() {
	n := 4 * uint64(x.params)
	_, keeps := x.strategy.(strategy.Keeper)
	x.sizes = sizes{params: n, genome: n, draw: n, state: n, widest: n, sum: n, all: keeps}
	x.read = 4 * x.params
	if params, carry, err := x.play.Bytes(); err == nil {
		x.sizes.step, x.read = uint64(carry), params+carry
	}
	x.read = max(1, x.read)
	x.groups.Items = x.config.Population / x.strategy.GroupSize()
	g, err := x.generation()
	defer func() {
		if wrong, ok := errors.AsType[*graph.Error](err); ok && wrong.TooLarge {
			x.sizes.state = math.MaxUint64
		}
	}()
	if err != nil {
		return
	}
	if x.shared = g.shares(); x.shared { // of the shared matrices a step reads one for all
		x.read = max(1, int(sizeOf(g.draw)+x.sizes.step))
	}
	err = graph.Try(func() {
		c := sizes{step: x.sizes.step, draw: sizeOf(g.draw)}
		params := g.policy().Init(random.New(0))
		c.params, c.genome = sizeOf(params), sizeOf(g.genome(params))
		state := g.start(random.New(0))
		c.state, c.widest = sizeOf(state), c.genome
		if k, ok := x.strategy.(strategy.Keeper); ok {
			kept := &plan.Tally{}
			kept.Add(uint64(k.Keeps(x.config.Population)), c.genome)
			n, _ := kept.Total()
			c.state -= min(c.state, uint64(n))
		} else {
			for _, leaf := range graph.Leaves(state) {
				c.widest = max(c.widest, sizeOf(leaf))
			}
		}
		asked := &asked{items: g.groups.Items, draw: g.draw, sum: c.genome, all: keeps}
		members := graph.MapTree(func(a *graph.Array) *graph.Array {
			return graph.Zeros(graph.ShapeOf(a.DType(), append([]int{g.members()}, a.Dims()...)...))
		}, g.rollout.Nothing())
		g.strategy.Tell(state.Strategy, evaluation(members), asked)
		c.sum, c.all, c.mapped = asked.sum, asked.all, asked.mapped
		x.sizes = c
	})
}

// asked are draws of which nothing is known but their shapes; they remember what is asked of them.
type asked struct {
	items int
	draw  any // of one group
	sum   uint64
	all   bool

	mapped uint64
}

func (a *asked) Items() int { return a.items }

func (a *asked) Sum(_ *graph.Array, term func(draw any) any) any {
	sum := a.draw
	if term != nil {
		sum = term(a.draw)
	}
	return a.summed(graph.MapTree(func(z *graph.Array) *graph.Array { return graph.Zeros(graph.ShapeOf(graph.Float32, z.Dims()...)) }, sum))
}

func (a *asked) Outer(_ *graph.Array, term func(draw any) *graph.Array) *graph.Array {
	n := term(a.draw).Dim(0)
	return a.summed(graph.Zeros(graph.ShapeOf(graph.Float32, n, n))).(*graph.Array)
}

func (a *asked) Map(term func(draw any) any) any {
	of := term(a.draw)
	a.mapped += uint64(a.items) * sizeOf(of)
	return graph.MapTree(func(z *graph.Array) *graph.Array {
		return graph.Zeros(graph.ShapeOf(z.DType(), append([]int{a.items}, z.Dims()...)...))
	}, of)
}

func (a *asked) summed(sum any) any {
	a.sum = max(a.sum, sizeOf(sum))
	return sum
}

func (a *asked) All() any {
	a.all = true
	return graph.MapTree(func(z *graph.Array) *graph.Array {
		return graph.Zeros(graph.ShapeOf(z.DType(), append([]int{a.items}, z.Dims()...)...))
	}, a.draw)
}

// sizeOf is the bytes of a tree's arrays; where they are too many to count, more than any machine has.
func sizeOf(tree any) uint64 {
	sum := &plan.Tally{}
	for _, leaf := range graph.Leaves(tree) {
		factors := []uint64{uint64(graph.ItemSize(leaf.DType()))}
		for _, n := range leaf.Dims() {
			factors = append(factors, uint64(n))
		}
		sum.Add(factors...)
	}
	if n, ok := sum.Total(); ok {
		return uint64(n)
	}
	return 1 << 62
}

// memory is an estimate of what the run holds at once, in bytes, on all devices together. ok is false where it does not
// fit in an int64.
func (x *experiment) memory() (total int64, ok bool) {
	size := uint64(x.config.Population)
	devices := uint64(x.groups.Devices)
	rows := devices * uint64(x.groups.PerDevice+1) // of population.Tiles.Rows
	lanes := uint64(x.groups.Lanes)
	members := lanes * uint64(x.strategy.GroupSize())
	of := x.sizes
	sum := &plan.Tally{}
	if x.redraw {
		sum.Add(2, devices, lanes, of.draw)  // a tile's draws
		sum.Add(devices, 1+devices, of.draw) // the best's, of all devices
	} else {
		sum.Add(rows, lanes, of.draw) // the draws
	}
	if k, ok := x.strategy.(strategy.Keeper); ok {
		sum.Add(3, devices, uint64(k.Keeps(x.config.Population)), of.genome) // kept, in and out
	}
	if of.all {
		sum.Add(2, devices, rows, lanes, of.draw) // all draws, everywhere
	}
	if x.shared {
		sum.Add(devices, lanes, of.draw, uint64(x.strategy.GroupSize())) // what is the members' own
	} else {
		sum.Add(devices, members, of.genome) // a tile's members, before they are unravelled
		sum.Add(devices, members, of.params) // and after
	}
	sum.Add(2, devices, of.mapped) // on each device, and gathered
	sum.Add(devices, of.state)     // in, and out in the same place
	sum.Add(2, devices, of.widest) // what a part of it moves by, and the part as it will be
	if x.redraw {
		sum.Add(devices, 2+devices, of.sum) // sums so far, a tile's, and those of all devices
	} else {
		sum.Add(rows, of.sum)          // sums by tile
		sum.Add(devices, rows, of.sum) // and gathered, everywhere
	}
	sum.Add(2, devices, members, uint64(x.config.Episodes), of.step) // of the environments and policies, before and after a step
	sum.Add(64, devices, size)                                       // fitness, ranks, keys
	sum.Add(1, devices, strategy.RankBytes(size))
	return sum.Total()
}
