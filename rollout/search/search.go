package search

import (
	"slices"

	"xlarun/graph"
	"xlarun/graph/random"
)

// Recurrent is the model of a search, mctx's recurrent_fn for one game. It returns the result of an action, i32[], in
// the state of an embedding, and the next embedding. params are the network's, the same in all nodes. Each simulation
// has another key.
type Recurrent[P, E any] func(params P, key random.Key, action *graph.Array, embedding E) (Step, E)

// Step is the result of an action, mctx's RecurrentFnOutput. A is the number of actions.
type Step struct {
	Reward *graph.Array // f32[]: for the player who moved
	// Discount, f32[], is the factor of the next state's value for the player who moved: -1 if the other player moves
	// next, 0 if the game is over.
	Discount    *graph.Array
	PriorLogits *graph.Array // f32[A]: in the next state; -Inf or a low number for illegal actions
	Value       *graph.Array // f32[]: of the next state, for the player who moves there
}

// Root is the root of a search, mctx's RootFnOutput. A is the number of actions.
type Root[E any] struct {
	PriorLogits *graph.Array // f32[A]
	Value       *graph.Array // f32[]: for the player to move
	Embedding   E            // leaves [...]: the model's state
	Legal       *graph.Array `tree:"optional"` // bool[A]; nil: all
	// Noise, f32[A], replaces the policy's own draws: Dirichlet noise for PUCT, Gumbel noise for Gumbel.
	Noise *graph.Array `tree:"optional"`
	// Temperature, f32[], is used by PUCT: it draws an action by visits^(1/temperature); 0: the most visited action.
	// nil: 1.
	Temperature *graph.Array `tree:"optional"`
}

// Options are the options that all searches share.
type Options struct {
	Simulations int // evaluations of the model, 1 or more
	// Nodes is the capacity of the tree; 0: Simulations + 1, enough for all. When the tree is full, evaluations still
	// update the nodes above, but add no node.
	Nodes int
	// MaxDepth is the largest number of actions from the root to a node. A node at that depth is evaluated again
	// instead of expanded. 0: Simulations.
	MaxDepth int
}

func (o Options) resolved(name string) Options {
	if o.Simulations < 1 {
		graph.Throw(name, "got %d simulations, want 1 or more", o.Simulations)
	}
	if o.Nodes < 0 || o.MaxDepth < 0 {
		graph.Throw(name, "got %d nodes and a depth of %d, want 1 or more, or 0 for as many as there are simulations",
			o.Nodes, o.MaxDepth)
	}
	if o.Nodes == 0 {
		o.Nodes = o.Simulations + 1
	}
	if o.MaxDepth == 0 {
		o.MaxDepth = o.Simulations
	}
	return o
}

// Bytes returns the memory of the trees of some games. embedding is the size of one embedding in bytes.
func (o Options) Bytes(games, actions, embedding int) int {
	o = o.resolved("Bytes")
	return games * o.Nodes * (4*columns(actions) + embedding)
}

// Result is mctx's PolicyOutput.
type Result[E any] struct {
	Action *graph.Array // i32[]: to be played
	// ActionWeights, f32[A], are the target for the policy; their sum is 1. PUCT: the shares of the visits. Gumbel: the
	// policy improved by the completed Q-values.
	ActionWeights *graph.Array
	Tree          Tree[E]
}

// Policy is PUCT or Gumbel.
type Policy interface {
	options() Options
	// prepare returns the rule of action selection, and the root's prior logits with noise and mask, f32[A]. logits and
	// noise are f32[A]; noise may be nil. invalid, f32[A], is 1 for illegal actions. reusedVisits, f32[A], are the
	// visits of the root's actions before the search.
	prepare(key random.Key, logits, invalid, noise, reusedVisits *graph.Array) (rule, *graph.Array)
	// decide returns the action, i32[], and the action weights, f32[A], after the search.
	decide(key random.Key, r rule, root row, temperature *graph.Array) (action, weights *graph.Array)
}

// Run searches from a root. It is traced, for one game; graph.VMap maps it over games. reused is empty, or the tree of
// the previous move (see Reroot). Like all functions of graph, it throws errors for shapes that do not fit.
func Run[P, E any](p Policy, params P, key random.Key, root Root[E], f Recurrent[P, E], reused ...Reused[E]) Result[E] {
	checkRoot(root)
	if len(reused) > 1 {
		graph.Throw("search", "got %d trees to reuse, want at most one", len(reused))
	}
	keys := random.SplitN(key, 3)
	invalid := graph.ZerosLike(root.PriorLogits)
	if root.Legal != nil {
		invalid = root.Legal.Not().Convert(graph.Float32)
	}
	reusedVisits := graph.ZerosLike(root.PriorLogits)
	if len(reused) > 0 {
		reusedVisits = reused[0].rootVisits()
	}
	rule, logits := p.prepare(keys[0], root.PriorLogits, invalid, root.Noise, reusedVisits)
	s := searcher[P, E]{
		options: p.options(), rule: rule, params: params, model: f,
		packing: embeddingPacking(root.Embedding), actions: logits.Size(),
	}
	tree := s.search(keys[1], root, logits, reused)
	action, weights := p.decide(keys[2], rule, tree.root(), root.Temperature)
	return Result[E]{Action: action, ActionWeights: weights, Tree: tree}
}

// searcher holds what stays the same in all simulations of a search.
type searcher[P, E any] struct {
	options Options
	rule    rule
	params  P
	model   Recurrent[P, E]
	packing *graph.Packing // of embeddings
	actions int
}

// nodes are the arrays of a tree while it is searched.
type nodes struct {
	Rows       *graph.Array   // f32[nodes, columns], see Tree
	Embeddings []*graph.Array // [nodes, elements] each: packed
}

// selection is the edge that a simulation ends with.
type selection struct {
	Parent *graph.Array // i32[]: mctx's parent_index
	Action *graph.Array // i32[]
	// Next, i32[], is the child's node, mctx's next_node_index. Without a child it is a free node, or the capacity of
	// the tree if the tree is full.
	Next *graph.Array
	Used *graph.Array // i32[]: nodes in use; a child that is not yet evaluated is none of them
}

// search runs all simulations. logits, f32[A], are the root's, with noise and mask.
func (s searcher[P, E]) search(key random.Key, root Root[E], logits *graph.Array, reused []Reused[E]) Tree[E] {
	start := s.instantiate(root, logits, reused)
	end := graph.ForiLoop(0, s.options.Simulations, func(i *graph.Array, t nodes) nodes {
		edge, t := s.simulate(t)
		step, embeddings := s.expand(random.FoldIn(key, i), t, edge)
		return nodes{s.rule.at(i.Add(1)).backward(t.Rows, s.actions, edge, step), embeddings}
	}, start)
	embedding, _ := s.packing.Unpack(end.Embeddings).(E)
	return Tree[E]{Rows: end.Rows, Embedding: embedding, Actions: s.actions}
}

// instantiate returns a tree with only the root, or with the nodes of a reused tree.
func (s searcher[P, E]) instantiate(root Root[E], logits *graph.Array, reused []Reused[E]) nodes {
	embedding := s.packing.Pack(root.Embedding)
	node := newRow(map[int]*graph.Array{nodeVisits: graph.Scalar(1), nodeValue: root.Value, rawValue: root.Value},
		logits)
	t := nodes{Rows: graph.Zeros(graph.ShapeOf(graph.Float32, s.options.Nodes, columns(s.actions)))}
	used := graph.Of(int32(1))
	for _, x := range embedding {
		t.Embeddings = append(t.Embeddings,
			graph.Zeros(graph.Shape{DType: x.DType(), Dims: []int{s.options.Nodes, x.Size()}}))
	}
	if len(reused) > 0 {
		reused[0].check(t.Rows.Shape())
		node, used = reused[0].graft(node)
		t = nodes{reused[0].Tree.Rows, s.packing.Pack(reused[0].Tree.Embedding)}
	}
	first := graph.Of(int32(0))
	node = s.rule.at(first).selectLeaf(Tree[graph.None]{Rows: t.Rows, Actions: s.actions}, node, first, used)
	t.Rows = setRow(t.Rows, node.all, 0)
	for i, x := range embedding {
		t.Embeddings[i] = setRow(t.Embeddings[i], x, 0)
	}
	return t
}

// simulate returns the edge where the best line of play from the root ends. Unlike mctx's simulate it does not walk
// down the tree: backward stores the end of the line in each node.
func (s searcher[P, E]) simulate(t nodes) (selection, nodes) {
	root := row{t.Rows.Index(0), s.actions}
	of := func(column int) *graph.Array { return index(root.field(column)) }
	// The numbers are read before the rows are written, so that the compiler writes them in place.
	type read struct {
		Edge selection
		Rows *graph.Array
	}
	r := graph.Once(read{selection{of(leafNode), of(leafAction), of(nextNode), of(usedNodes)}, t.Rows})
	return r.Edge, nodes{r.Rows, t.Embeddings}
}

// expand evaluates the selected action and stores the next embedding. It returns the evaluation and all embeddings.
func (s searcher[P, E]) expand(key random.Key, t nodes, edge selection) (Step, []*graph.Array) {
	parent := make([]*graph.Array, len(t.Embeddings))
	for k, x := range t.Embeddings {
		parent[k] = graph.DynamicIndex(x, edge.Parent, 0)
	}
	embedding, _ := s.packing.Unpack(parent).(E)
	step, next := s.model(s.params, key, edge.Action, embedding)
	checkStep(step, s.actions)
	checkEmbedding(s.packing, next)
	embeddings := slices.Clone(t.Embeddings)
	for k, x := range s.packing.Pack(next) {
		// A full tree has no row Next: the write is dropped.
		embeddings[k] = graph.ScatterSet(t.Embeddings[k], edge.Next.Reshape(1), x.ExpandDims(0))
	}
	return step, embeddings
}

// setRow writes element i along the first axis.
func setRow(x, element *graph.Array, i int) *graph.Array {
	return graph.DynamicUpdateIndex(x, element, graph.Of(int32(i)), 0)
}

func checkStep(s Step, actions int) {
	for _, x := range []struct {
		name  string
		array *graph.Array
		want  graph.Shape
	}{
		{"reward", s.Reward, graph.ShapeOf(graph.Float32)}, {"discount", s.Discount, graph.ShapeOf(graph.Float32)},
		{"value", s.Value, graph.ShapeOf(graph.Float32)},
		{"logits", s.PriorLogits, graph.ShapeOf(graph.Float32, actions)},
	} {
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
	if r.PriorLogits == nil || r.Value == nil {
		graph.Throw(name, "the root has no logits or no value, want f32[actions] and f32[]")
	}
	if r.PriorLogits.Rank() != 1 || r.PriorLogits.DType() != graph.Float32 || r.PriorLogits.Size() == 0 {
		graph.Throw(name, "the root's logits are %s, want f32[actions] of one game: graph.VMap maps a search over "+
			"games", r.PriorLogits.Shape())
	}
	if !r.Value.Shape().Equal(graph.ShapeOf(graph.Float32)) {
		graph.Throw(name, "the root's value is %s, want f32[]", r.Value.Shape())
	}
	if want := graph.ShapeOf(graph.Bool, r.PriorLogits.Size()); r.Legal != nil && !r.Legal.Shape().Equal(want) {
		graph.Throw(name, "the root's legal actions are %s, want %s", r.Legal.Shape(), want)
	}
	if r.Noise != nil && !r.Noise.Shape().Equal(r.PriorLogits.Shape()) {
		graph.Throw(name, "the root's noise is %s, want %s", r.Noise.Shape(), r.PriorLogits.Shape())
	}
	if r.Temperature != nil && !r.Temperature.Shape().Equal(graph.ShapeOf(graph.Float32)) {
		graph.Throw(name, "the temperature is %s, want f32[]", r.Temperature.Shape())
	}
}
