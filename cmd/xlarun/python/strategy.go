package python

import (
	"fmt"
	"math"
	"strings"

	"xlarun/cmd/xlarun/console"
	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/evolve/generation"
	"xlarun/rollout/evolve/strategy"
	"xlarun/rollout/plan"
	"xlarun/rollout/population"
	"xlarun/rollout/settings"
	"xlarun/xlabridge"
)

// strategyArgument makes a strategy.
type strategyArgument struct {
	Name     string         `json:"name"`
	Popsize  int            `json:"popsize"`
	Seed     int64          `json:"seed"`
	Leaves   []leaf         `json:"leaves"` // of a member
	Settings map[string]any `json:"settings"`
}

// leaf is an array of a member.
type leaf struct {
	Path  string `json:"path"`
	DType string `json:"dtype"`
	Shape []int  `json:"shape"`
}

// search is a strategy whose members Python evaluates. Generation g of seed s draws what `xlarun evolve --seed s` draws
// in its generation g (generation.Program).
type search struct {
	*strategy.Erased
	population int
	layout     *population.Layout // of genomes that are vectors; nil: genomes are trees
	leaves     int                // of a member
	inputs     []*graph.Array     // Numbers
	key        random.Key
	generation int
	draws      []*graph.Array // of the members that were asked for; nil: none were

	ask, tell, mean *xlabridge.Compiled
	kept
}

// searchSlots are two generations of members that Python may hold without a copy, and one that it copies.
const searchSlots = 3

// strategy makes a strategy. Python writes its start into the fields of the mean, and calls "start".
func (s *Server) strategy(argument []byte) (o object, description map[string]any, err error) {
	var in strategyArgument
	if err := read(argument, &in); err != nil {
		return o, nil, err
	}
	e, err := strategy.Make(in.Name, valuesOf(in.Settings))
	if err != nil {
		return o, nil, err
	}
	genome, err := genomeOf(in)
	if err != nil {
		return o, nil, err
	}
	if err := generation.CheckPopulation("popsize", in.Popsize, in.Name, e); err != nil {
		return o, nil, err
	}
	b, err := s.device()
	if err != nil {
		return o, nil, err
	}
	x := &search{Erased: e, population: in.Popsize, leaves: len(genome), kept: kept{server: s,
		memory: &memory{slots: searchSlots}}}
	if e.Flat {
		x.layout = population.LayoutOf(genome)
	}
	if x.key, err = graph.Eval(random.SplitN(random.New(in.Seed), 2)[1]); err != nil {
		return o, nil, err
	}
	if err := x.share(genome, plan.FreeOn(b, 1)); err != nil {
		return o, nil, err
	}
	if err := x.compile(genome); err != nil {
		x.close()
		return o, nil, err
	}
	m := x.memory
	return object{map[string]func(argument []byte) (any, error){"start": m.request(x.start), "ask": m.request(x.askFor),
		"tell": m.request(x.tellOf), "mean": m.request(x.meanOf)}, m, x.close}, m.describe(), nil
}

// genomeOf returns arrays of the shapes of a member's leaves.
func genomeOf(in strategyArgument) (genome []*graph.Array, err error) {
	if in.Name == "neat" {
		return nil, console.BadInput("strategy: got neat, whose members are networks of `xlarun evolve --policy "+
			"genome`, want another strategy: %s", strings.Join(strategy.Names(), ", "))
	}
	size := 0.
	for _, l := range in.Leaves {
		n := 1.
		for _, dim := range l.Shape {
			n *= float64(dim)
		}
		switch {
		case l.DType != types[graph.Float32]:
			return nil, console.BadInput("x0%s: got the dtype %s, want float32", l.Path, l.DType)
		case n == 0:
			return nil, console.BadInput("x0%s: got the shape %v, want one with elements", l.Path, l.Shape)
		}
		size += n
		genome = append(genome, graph.Zeros(graph.ShapeOf(graph.Float32, l.Shape...)))
	}
	if len(genome) == 0 || size > math.MaxInt32 {
		return nil, console.BadInput("x0: got %.0f numbers, want 1 to %d", size, math.MaxInt32)
	}
	return genome, nil
}

// share lays the members out in memory, if there is enough: free is in bytes, 0 for unknown.
func (x *search) share(genome []*graph.Array, free int64) error {
	size := graph.TreeBytes(genome)
	// members in two slots and on the device, and about as much noise
	const heldMembers = 4
	if need := float64(size) * float64(x.population) * heldMembers; free > 0 && need > float64(free) {
		most := int(float64(free)/float64(size*heldMembers)) / x.GroupSize * x.GroupSize
		return settings.Wrong("popsize", x.population, "%s", plan.TooLarge(fmt.Sprintf("%d members of %s",
			x.population, plan.BytesText(size)), int64(min(need, 1<<62)), need < 1<<62, free, false, most))
	}
	for _, members := range []bool{true, false} {
		for i, a := range genome {
			name, shape := fmt.Sprintf("mean%d", i), a.Shape()
			if members {
				name, shape = fmt.Sprintf("member%d", i), graph.ShapeOf(shape.DType,
					append([]int{x.population}, shape.Dims...)...)
			}
			if _, err := x.memory.add(name, shape); err != nil {
				return err
			}
		}
	}
	if _, err := x.memory.add("fitness", graph.ShapeOf(graph.Float32, x.population)); err != nil {
		return err
	}
	return x.memory.open()
}

// genome returns the genome of a member's leaves.
func (x *search) genome(leaves []*graph.Array) any {
	if x.layout != nil {
		return x.layout.Ravel(leaves)
	}
	return leaves
}

// member returns the leaves of a genome.
func (x *search) member(genome any) any {
	if x.layout != nil {
		return x.layout.Unravel(genome.(*graph.Array))
	}
	return genome
}

// compile compiles the three programs.
func (x *search) compile(genome []*graph.Array) error {
	type asked struct{ Draws, Members any }
	numbers := settings.Inputs(x.Settings, "strategy.")
	x.inputs = graph.Leaves(numbers)
	groups := x.population / x.GroupSize
	var state, draws any
	if err := graph.Try(func() {
		state = graph.EvalShape(func() any { return x.Init(x.genome(genome), x.population) })
	}); err != nil {
		return err
	}
	purpose := fmt.Sprintf("%T, %d members", x.Settings, x.population)
	zero, fitness := graph.Scalar(0, graph.Int32), graph.Abstract(graph.ShapeOf(graph.Float32, x.population))
	var err error
	ask := func(args []any) any {
		e := x.Bind(args[3].(map[string]*graph.Array))
		key := random.FoldIn(args[1].(random.Key), args[2].(*graph.Array).Mul(2))
		keys := graph.Once(graph.VMap(func(group *graph.Array) random.Key {
			return random.FoldIn(key, group)
		})(graph.Iota(groups)))
		drawn := graph.Once(graph.VMap2(func(key random.Key, group *graph.Array) any {
			return e.Sample(key, args[0], group)
		})(keys, graph.Iota(groups)))
		members := graph.VMap(func(side *graph.Array) any {
			return graph.VMap(func(draw any) any { return x.member(e.Member(args[0], draw, side)) })(drawn)
		})(graph.Iota(x.GroupSize))
		draws = graph.MapTree(func(a *graph.Array) *graph.Array { return graph.Abstract(a.Shape()) }, drawn)
		return asked{drawn, graph.MapTree(func(a *graph.Array) *graph.Array { return a.MergeAxes(0, 2) }, members)}
	}
	x.ask, err = x.program("ask", purpose, []any{state, x.key, zero, numbers}, nil, ask)
	if err != nil {
		return err
	}
	x.tell, err = x.program("tell", purpose, []any{state, draws, fitness, numbers}, []int{0},
		func(args []any) any {
			f := args[2].(*graph.Array)
			f = graph.Select(f.IsFinite(), f, math.NaN())
			return x.Bind(args[3].(map[string]*graph.Array)).Tell(args[0],
				strategy.Evaluation{Fitness: f, Length: graph.ZerosLike(f)}, population.Whole(args[1]))
		})
	if err != nil {
		return err
	}
	x.mean, err = x.program("mean", purpose, []any{state}, nil, func(args []any) any {
		return x.member(x.Mean(args[0]))
	})
	return err
}

// start begins at the member in the fields of the mean.
func (x *search) start(slot int) error {
	var leaves []*graph.Array
	for i := range x.leaves {
		// a copy, since Python writes there again
		f := x.memory.fields[x.leaves+i]
		leaves = append(leaves, graph.FromBytes(f.array, append([]byte{}, x.memory.at(slot, x.leaves+i)...)))
	}
	var state any
	err := graph.Try(func() { state = x.Init(x.genome(leaves), x.population) })
	if err == nil {
		state, err = graph.Eval(state)
		x.state = graph.Leaves(state)
	}
	return err
}

// askFor writes the members of the next generation into a slot.
func (x *search) askFor(slot int) error {
	xlabridge.Free(x.draws)
	x.draws = nil
	out, err := call(x.ask, x.state, []*graph.Array{x.key.Data, graph.Of(int32(x.generation))}, x.inputs)
	if err != nil {
		return err
	}
	n := len(out) - x.leaves
	if err := x.memory.write(slot, 0, out[n:]); err != nil {
		return err
	}
	xlabridge.Free(out[n:])
	x.draws = out[:n]
	return nil
}

// tellOf takes the fitness of the members in a slot.
func (x *search) tellOf(slot int) error {
	if x.draws == nil {
		return console.BadInput("tell: got the fitness of members that were not asked for, want ask " +
			"before each tell")
	}
	state, err := call(x.tell, x.state, x.draws, []*graph.Array{x.memory.read(slot, 2*x.leaves)}, x.inputs)
	if err != nil {
		return err
	}
	xlabridge.Free(x.draws)
	x.state, x.draws = state, nil
	x.generation++
	return nil
}

// meanOf writes the mean into a slot.
func (x *search) meanOf(slot int) error {
	out, err := call(x.mean, x.state)
	if err != nil {
		return err
	}
	defer xlabridge.Free(out)
	return x.memory.write(slot, x.leaves, out)
}
