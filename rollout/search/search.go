package search

import (
	"slices"

	"xlarun/graph"
	"xlarun/graph/random"
)

// Recurrent is the model of a search: what an action, an int32 scalar, leads to from an embedding. params are the network's, the
// same in all nodes; the key is another one in each simulation.
type Recurrent[P, E any] func(params P, key random.Key, action *graph.Array, embedding E) (Step, E)

// Root is where a search starts.
type Root[E any] struct {
	Logits    *graph.Array // f32[A]: the policy's
	Value     *graph.Array // f32[]: for the player to move
	Embedding E
	Legal     *graph.Array `tree:"optional"` // bool[A]; nil: all
	// Noise takes the place of the policy's draws, f32[A]: of PUCT those of the Dirichlet distribution, of Gumbel those of Gumbel's.
	Noise *graph.Array `tree:"optional"`
	// Temperature, a float32 scalar, is that of the actions that PUCT plays, the visits to the power of 1 / temperature; 0: the most
	// visited. nil: 1.
	Temperature *graph.Array `tree:"optional"`
}

// Options are what all searches share.
type Options struct {
	Simulations int // evaluations of the model, 1 or more
	// Nodes is how many nodes the tree has room for; 0: as many as the search makes, Simulations + 1. Beyond them evaluations still
	// count for the actions that led to them, but leave no node.
	Nodes int
	// MaxDepth is the most actions from the root to a node; at that depth a node is evaluated again. 0: Simulations.
	MaxDepth int
}

func (o Options) resolved(name string) Options {
	if o.Simulations < 1 {
		graph.Throw(name, "got %d simulations, want 1 or more", o.Simulations)
	}
	if o.Nodes < 0 || o.MaxDepth < 0 {
		graph.Throw(name, "got %d nodes and a depth of %d, want 1 or more, or 0 for as many as there are simulations", o.Nodes, o.MaxDepth)
	}
	if o.Nodes == 0 {
		o.Nodes = o.Simulations + 1
	}
	if o.MaxDepth == 0 {
		o.MaxDepth = o.Simulations
	}
	return o
}

// Bytes is the memory of the trees of so many games whose embeddings have so many bytes.
func (o Options) Bytes(games, actions, embedding int) int {
	o = o.resolved("Bytes")
	return games * o.Nodes * (4*width(actions) + embedding)
}

// Result is what a search found.
type Result[E any] struct {
	Action *graph.Array // int32: to be played
	// Weights are what the policy is to learn, f32[A], adding up to 1: of PUCT the shares of the visits, of Gumbel the policy that the
	// completed values improve.
	Weights *graph.Array
	Tree    Tree[E]
}

// Policy is PUCT or Gumbel.
type Policy interface {
	options() Options
	// prepare gives the rule and the root's logits, with noise and mask, for a root with so many visits before the search.
	prepare(key random.Key, logits, closed, noise, before *graph.Array) (rule, *graph.Array)
	// decide gives action and weights.
	decide(key random.Key, r rule, root row, temperature *graph.Array) (action, weights *graph.Array)
}

// Run searches from a root: a function of one game, to be traced, and mapped over games by graph.VMap. from, if it is given, is the
// tree of the move before, Reroot's. Sizes that do not fit are thrown, as by all functions of graph.
func Run[P, E any](p Policy, params P, key random.Key, root Root[E], f Recurrent[P, E], from ...Reused[E]) Result[E] {
	o := p.options()
	checkRoot(root)
	if len(from) > 1 {
		graph.Throw("search", "got %d trees to go on from, want at most one", len(from))
	}
	keys := random.SplitN(key, 3)
	closed := graph.ZerosLike(root.Logits)
	if root.Legal != nil {
		closed = graph.Convert(graph.Not(root.Legal), graph.Float32)
	}
	before := graph.ZerosLike(root.Logits)
	if len(from) > 0 {
		before = from[0].counts()
	}
	r, logits := p.prepare(keys[0], root.Logits, closed, root.Noise, before)
	tree := run(o, r, params, keys[1], root, logits, f, from)
	action, weights := p.decide(keys[2], r, tree.root(), root.Temperature)
	return Result[E]{Action: action, Weights: weights, Tree: tree}
}

// run runs the simulations. logits are the root's, with noise and mask.
func run[P, E any](o Options, r rule, params P, key random.Key, root Root[E], logits *graph.Array, f Recurrent[P, E], from []Reused[E]) Tree[E] {
	actions := logits.Size()
	pack, packed := packing(root.Embedding)
	head := map[int]*graph.Array{visitsAt: graph.Scalar(1), valueAt: root.Value, rawAt: root.Value}
	first := newRow(head, logits)
	rows, used := graph.Zeros(graph.ShapeOf(graph.Float32, o.Nodes, width(actions))), graph.Scalar(1)
	stored := make([]*graph.Array, len(packed))
	for i, x := range packed {
		stored[i] = graph.Zeros(graph.Shape{DType: x.DType(), Dims: []int{o.Nodes, x.Size()}})
	}
	if len(from) > 0 {
		rows, first, used, stored = from[0].start(rows, first, stored, pack)
	}
	tree := Tree[graph.None]{Rows: rows, Actions: actions}
	first = r.lead(tree, first, graph.Of(int32(0)))
	rows = pending(set(rows, first.all, 0), actions, used)
	for i, x := range packed {
		stored[i] = set(stored[i], x, 0)
	}

	type state struct {
		Rows   *graph.Array
		Stored []*graph.Array
	}
	end := graph.ForiLoop(0, o.Simulations, func(i *graph.Array, s state) state {
		t := row{graph.Index(s.Rows, 0), actions}
		// What is read of the rows is read before they are written: in place then, without a copy.
		read := graph.Barrier(whole(t.head(leafAt)), whole(t.head(leafActionAt)), whole(t.head(slotAt)), s.Rows)
		leaf, action, slot := read[0], read[1], read[2]
		here := make([]*graph.Array, len(s.Stored))
		for k, x := range s.Stored {
			here[k] = graph.DynamicIndex(x, leaf, 0)
		}
		step, next := f(params, random.FoldIn(key, i), action, pack.unpack(here))
		check(step, actions)
		stored := slices.Clone(s.Stored)
		for k, x := range pack.pack(next) {
			stored[k] = graph.ScatterSet(s.Stored[k], graph.Reshape(slot, 1), graph.ExpandDims(x, 0)) // dropped where there is no room
		}
		return state{r.backup(read[3], actions, step), stored}
	}, state{rows, stored})
	return Tree[E]{Rows: end.Rows, Embedding: pack.unpackAll(end.Stored), Actions: actions}
}

// set writes element i along the first axis.
func set(x, element *graph.Array, i int) *graph.Array {
	return graph.DynamicUpdateIndex(x, element, graph.Of(int32(i)), 0)
}

func check(s Step, actions int) {
	for _, x := range []struct {
		name  string
		array *graph.Array
		want  graph.Shape
	}{{"reward", s.Reward, graph.ShapeOf(graph.Float32)}, {"discount", s.Discount, graph.ShapeOf(graph.Float32)},
		{"value", s.Value, graph.ShapeOf(graph.Float32)}, {"logits", s.Logits, graph.ShapeOf(graph.Float32, actions)}} {
		if x.array == nil {
			graph.Throw("search", "the model's %s is nil, want %s", x.name, x.want)
		}
		if !x.array.Shape().Equal(x.want) {
			graph.Throw("search", "the model's %s is %s, want %s", x.name, x.array.Shape(), x.want)
		}
	}
}

func checkRoot[E any](r Root[E]) {
	const name = "search"
	if r.Logits == nil || r.Value == nil {
		graph.Throw(name, "the root has no logits or no value, want f32[actions] and f32[]")
	}
	if r.Logits.Rank() != 1 || r.Logits.DType() != graph.Float32 || r.Logits.Size() == 0 {
		graph.Throw(name, "the root's logits are %s, want f32[actions]: a search is of one game, graph.VMap maps it over more", r.Logits.Shape())
	}
	if !r.Value.Shape().Equal(graph.ShapeOf(graph.Float32)) {
		graph.Throw(name, "the root's value is %s, want f32[]", r.Value.Shape())
	}
	if want := graph.ShapeOf(graph.Bool, r.Logits.Size()); r.Legal != nil && !r.Legal.Shape().Equal(want) {
		graph.Throw(name, "the root's legal actions are %s, want %s", r.Legal.Shape(), want)
	}
	if r.Noise != nil && !r.Noise.Shape().Equal(r.Logits.Shape()) {
		graph.Throw(name, "the root's noise is %s, want %s", r.Noise.Shape(), r.Logits.Shape())
	}
	if r.Temperature != nil && !r.Temperature.Shape().Equal(graph.ShapeOf(graph.Float32)) {
		graph.Throw(name, "the temperature is %s, want f32[]", r.Temperature.Shape())
	}
}
