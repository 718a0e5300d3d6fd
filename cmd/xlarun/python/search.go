package python

import (
	"fmt"
	"math"

	"xlarun/cmd/xlarun/console"
	"xlarun/graph"
	"xlarun/graph/safetensors"
	"xlarun/rollout/plan"
	"xlarun/xlabridge"
)

// searchArgument makes a search.
type searchArgument struct {
	Name     string         `json:"name"`
	Popsize  int            `json:"popsize"`
	Seed     int64          `json:"seed"`
	Leaves   []leaf         `json:"leaves"` // of a member
	Settings map[string]any `json:"settings"`

	Inputs  int          `json:"inputs"` // of the networks of neat, whose members have no Leaves
	Outputs int          `json:"outputs"`
	Ranges  [][2]float64 `json:"ranges"` // of the measures of an archive
}

// leaf is an array of a member.
type leaf struct {
	Path  string `json:"path"`
	DType string `json:"dtype"`
	Shape []int  `json:"shape"`
}

// algorithm is how a search asks and tells, traced. Its state and its inputs, which do not change, are trees. So are
// draws, what tell needs again of the members that were asked for.
type algorithm struct {
	begins int                                      // what Python writes before "start"
	start  func(fields []*graph.Array) any          // the first state, given what Python wrote
	ask    func(state, in any) (draws, members any) // leaves [population, …]
	tell   func(state, draws, in any, scores []*graph.Array) (next any, stats *graph.Array)
	mean   func(state any) any // a member; nil: there is none
	in     any
	stats  []string // names of the numbers that tell returns
}

// What Python writes before "start": nothing, the member at which a search begins, as its mean, or the members of the
// first generation.
const (
	nothing = iota
	firstMean
	firstMembers
)

// search is a search whose members Python evaluates. Generation g of seed s draws what a run of seed s draws in its
// generation g.
type search struct {
	by       algorithm
	fields   struct{ start, tell []int } // that Python writes before
	outputs  struct{ mean, stats int }   // the first fields
	compiled struct{ ask, tell, mean, archive *xlabridge.Compiled }
	leaves   int         // of a member
	purpose  string      // of the programs
	tree     *graph.Tree // of the state
	inputs   []*graph.Array
	draws    []*graph.Array // of the members that were asked for; nil: none were
	kept
}

// searchSlots are two generations of members that Python may hold without a copy, and one that it copies.
const searchSlots = 3

// heldMembers counts members in two slots and on the device, and about as much noise.
const heldMembers = 4

// heldStates counts a state, its update, and about as much between them. Python may see an archive twice instead.
const heldStates = 3

// searchOf makes a search, whose function fills in the names of its settings.
func (s *Server) searchOf(argument []byte,
	build func(in *searchArgument, names keywords) (object, map[string]any, error)) (any, error) {
	var in searchArgument
	if err := read(argument, &in); err != nil {
		return nil, err
	}
	names := keywords{}
	o, description, err := build(&in, names)
	return s.add(o, description, names.sentence(err))
}

// members returns arrays of the shapes of a member's leaves.
func (in *searchArgument) members() (member []*graph.Array, err error) {
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
		member = append(member, graph.Zeros(graph.ShapeOf(graph.Float32, l.Shape...)))
	}
	if len(member) == 0 || size > math.MaxInt32 {
		return nil, console.BadInput("x0: got %.0f numbers, want 1 to %d", size, math.MaxInt32)
	}
	return member, nil
}

// checkMemory returns an error if n of what an argument counts do not fit into the free memory: with other bytes beside
// each bytes of one. The count is a multiple of group. other may depend on n, so with it no count is known that fits.
func (s *Server) checkMemory(argument string, n, group int, each, other int64) error {
	b, err := s.device()
	if err != nil {
		return err
	}
	free, need := plan.FreeOn(b, 1), float64(each)*float64(n)+float64(other)
	if free <= 0 || need <= float64(free) { // 0: it is unknown
		return nil
	}
	wants := "fewer or smaller members: the search takes"
	if other == 0 {
		wants = fmt.Sprintf("at most %d: these take", int(float64(free)/float64(each))/group*group)
	}
	return console.BadInput("%s: got %d, want %s about %s%s", argument, n, wants,
		plan.BytesText(int64(min(need, 1<<62))), plan.MoreThan(free, false))
}

// search makes a search by an algorithm whose members are like member, each with some measures.
func (s *Server) search(a algorithm, purpose string, population int, member any, measures int) (*search, error) {
	x := &search{by: a, purpose: purpose, leaves: len(graph.Leaves(member)), inputs: graph.Leaves(a.in),
		kept: kept{server: s, memory: &memory{slots: searchSlots}}}
	m := x.memory
	if err := x.share(population, member, measures); err != nil {
		return nil, err
	}
	zeros := func(fields []int) (all []*graph.Array) {
		for _, f := range fields {
			all = append(all, graph.Zeros(m.fields[f].array))
		}
		return all
	}
	var state any
	if err := graph.Try(func() {
		state = graph.EvalShape(func() any { return a.start(zeros(x.fields.start)) })
	}); err != nil {
		return nil, err
	}
	if err := s.checkMemory("popsize", population, 1, heldMembers*graph.TreeBytes(member),
		heldStates*graph.TreeBytes(state)); err != nil {
		return nil, err
	}
	if err := m.open(); err != nil {
		return nil, err
	}
	_, x.tree = graph.Flatten(state)
	type asked struct{ Draws, Members any }
	var draws any
	var err error
	x.compiled.ask, err = x.program("ask", purpose, []any{state, a.in}, nil, func(args []any) any {
		drawn, members := a.ask(args[0], args[1])
		draws = graph.MapTree(func(a *graph.Array) *graph.Array { return graph.Abstract(a.Shape()) }, drawn)
		return asked{drawn, members}
	})
	if err == nil {
		type result struct {
			State any
			Stats *graph.Array `tree:"optional"`
		}
		x.compiled.tell, err = x.program("tell", purpose, []any{state, draws, zeros(x.fields.tell), a.in}, []int{0},
			func(args []any) any {
				next, stats := a.tell(args[0], args[1], args[3], args[2].([]*graph.Array))
				return result{next, stats}
			})
	}
	if err != nil {
		x.close()
	}
	return x, err
}

// share lays the fields out in memory.
func (x *search) share(population int, member any, measures int) error {
	m := x.memory
	add := func(name string, d graph.DType, dims ...int) error {
		_, err := m.add(name, graph.ShapeOf(d, dims...))
		return err
	}
	leaves, tree := graph.Flatten(member)
	for i, a := range leaves {
		if err := add(fmt.Sprintf("member%d", i), a.DType(), append([]int{population}, a.Dims()...)...); err != nil {
			return err
		}
		m.fields[i].Leaf = safetensors.Name(tree.Path(i))
		if x.by.begins == firstMembers {
			x.fields.start = append(x.fields.start, i)
		}
	}
	if x.outputs.mean = len(m.fields); x.by.mean != nil {
		for i, a := range leaves {
			if err := add(fmt.Sprintf("mean%d", i), a.DType(), a.Dims()...); err != nil {
				return err
			}
			if x.by.begins == firstMean {
				x.fields.start = append(x.fields.start, x.outputs.mean+i)
			}
		}
	}
	x.fields.tell = append(x.fields.tell, len(m.fields))
	if err := add("fitness", graph.Float32, population); err != nil {
		return err
	}
	if measures > 0 {
		x.fields.tell = append(x.fields.tell, len(m.fields))
		if err := add("measures", graph.Float32, population, measures); err != nil {
			return err
		}
	}
	if x.outputs.stats = len(m.fields); len(x.by.stats) > 0 {
		if err := add("stats", graph.Float32, len(x.by.stats)); err != nil {
			return err
		}
	}
	return nil
}

// object is what Python holds, and its description.
func (x *search) object(err error) (object, map[string]any, error) {
	if err != nil {
		return object{}, nil, err
	}
	m := x.memory
	description := m.describe()
	description["stats"] = x.by.stats
	return object{map[string]func(argument []byte) (any, error){"start": m.request(x.start), "ask": m.request(x.ask),
		"tell": m.request(x.tell), "mean": m.request(x.mean)}, m, x.close}, description, nil
}

// start makes the first state, of what Python has written.
func (x *search) start(slot int) error {
	var fields []*graph.Array
	for _, f := range x.fields.start { // copies, since Python writes there again
		fields = append(fields, graph.FromBytes(x.memory.fields[f].array, append([]byte{}, x.memory.at(slot, f)...)))
	}
	var state any
	err := graph.Try(func() { state = x.by.start(fields) })
	if err == nil {
		state, err = graph.Eval(state)
		x.state = graph.Leaves(state)
	}
	return err
}

// ask writes the members of the next generation into a slot.
func (x *search) ask(slot int) error {
	xlabridge.Free(x.draws)
	x.draws = nil
	out, err := call(x.compiled.ask, x.state, x.inputs)
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

// tell takes what Python has measured of the members in a slot.
func (x *search) tell(slot int) error {
	if x.draws == nil {
		return console.BadInput("tell: got the fitness of members that were not asked for, want ask " +
			"before each tell")
	}
	var scores []*graph.Array
	for _, f := range x.fields.tell {
		scores = append(scores, x.memory.read(slot, f))
	}
	out, err := call(x.compiled.tell, x.state, x.draws, scores, x.inputs)
	if err != nil {
		return err
	}
	xlabridge.Free(x.draws)
	n := x.tree.Len()
	x.state, x.draws = out[:n], nil
	defer xlabridge.Free(out[n:])
	return x.memory.write(slot, x.outputs.stats, out[n:])
}

// look returns a function of the state, whose program it compiles at first.
func (x *search) look(p **xlabridge.Compiled, name string, f func(state any) any) (out []*graph.Array, err error) {
	if *p == nil {
		*p, err = x.program(name, x.purpose, []any{x.tree.Unflatten(x.state)}, nil, func(args []any) any {
			return f(args[0])
		})
		if err != nil {
			return nil, err
		}
	}
	return call(*p, x.state)
}

// mean writes the mean into a slot.
func (x *search) mean(slot int) error {
	out, err := x.look(&x.compiled.mean, "mean", x.by.mean)
	if err != nil {
		return err
	}
	defer xlabridge.Free(out)
	return x.memory.write(slot, x.outputs.mean, out)
}
