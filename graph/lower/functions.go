package lower

import (
	"slices"

	"xlarun/graph"
	"xlarun/graph/internal/attr"
)

// A program whose loops are functions with products in tiles (tiles.go) also has some dozens to hundreds of small
// operations between calls of kernels, those loops among them. Each is a call by the runtime, with a place in its
// queues. The pass makes functions of them: a body is cut into stages at the nodes that cannot be part of a
// function, and the other nodes of a stage become one call. In a loop in which devices gather at every iteration, that
// halves the time of an iteration of a tenth of a millisecond.

const (
	// leastOps is the number of operations from which on a function pays.
	leastOps = 8
	// mostTiledOnce is the number of multiplications up to which a product that is computed once is part of a function.
	// For larger ones a library gains more than a call costs.
	mostTiledOnce = 1 << 23
)

var passFunctions = Pass{
	Name: "functions", Doc: "make functions of the ops between calls of kernels", Keeps: Rounded,
	For: graph.Target.HasKernels,
	After: []Order{{"counts", "a call of a kernel is not part of a function"},
		{"writes", "the compiler's way to write code, which functions depend on, depends on the writes"}},
	Begin: func(g *graph.Graph, t graph.Target) Run {
		if !wantsFunctions(g, t) {
			return nil
		}
		return func(g *graph.Graph) *graph.Graph {
			return byNode(t, splitProduct, "dot_general")((&functionsPass{target: t, once: true}).graph(g))
		}
	},
}

// splitProduct lays out a large product outside of functions for the compiler's own code, too. In a program with tiles
// no product is handed to a library but those that lie otherwise: to Eigen, whose results depend on how many threads it
// cuts them for.
func splitProduct(_ *graph.Cursor, n *graph.Node, in []*graph.Array) []*graph.Array {
	if !n.Outs[0].DType().IsFloat() || !n.Attrs.(attr.Dot).Split(in[0].Dims(), in[1].Dims()) {
		return nil
	}
	return tiledProduct(n, in)
}

// wantsFunctions reports whether functions pay in a program.
func wantsFunctions(g *graph.Graph, t graph.Target) bool {
	large := largeProducts(g)
	product := func(n *graph.Node) bool { return n.Op.Name == "dot_general" && n.Op.Apart(n) }
	// A loop of products would be a function if devices did not gather in it.
	gathering := func(n *graph.Node) bool {
		return n.Op.Name == "while" && hasRendezvous(n) && n.Bodies[1].Any(product) && !large &&
			tileable(n, hasRendezvous)
	}
	facts := Measure(g, t)
	c, _ := facts.Codegen(Use{})
	return c.WholeLoops && (facts.Tiles || g.Any(gathering))
}

// functionsPass is the state of the pass.
type functionsPass struct {
	target graph.Target
	number int // of functions so far
	// once: the body is the program's own, which runs once. Its hashes are calls of a kernel (hashcalls.go): they take
	// a sixth of the time to compile an update of PPO, and a call costs less than a microsecond.
	once bool
}

// outside reports whether the runtime has to call a node, so that it is not part of a function.
func (f *functionsPass) outside(n *graph.Node) bool {
	switch n.Op.Name {
	case "while":
		return !whole(n)
	case "dot_general":
		rows, inner, columns := matrices(n)
		return n.Op.Apart(n) && (!ofFloat32(n) || rows*inner*columns > mostTiledOnce)
	case "custom_call":
		return n.Kernel().Target != attr.Transposes
	}
	return n.Op.Effect || n.Op.Apart != nil && n.Op.Apart(n) || slices.ContainsFunc(n.Bodies,
		func(b *graph.Graph) bool {
			return b.Any(f.outside)
		})
}

// graph rewrites a body.
func (f *functionsPass) graph(g *graph.Graph) *graph.Graph {
	c := f.cut(g)
	f.once = false
	c.dropSmall()
	c.findResults(g)
	out := newCopying(g, c.repeatable)
	for _, s := range c.stages {
		for _, n := range s.before {
			out.add(n)
		}
		if len(s.inside) > 0 {
			f.function(out, s.inside, s.results)
		}
		for _, n := range s.after {
			m := out.add(n)
			if n.Op.Name == "while" {
				m.Bodies = []*graph.Graph{n.Bodies[0], f.graph(n.Bodies[1])}
			}
		}
	}
	for _, r := range g.Results {
		out.Results = append(out.Results, out.at(r))
	}
	return &out.Graph
}

// stage is what a body can compute before the runtime has to make the next call that depends on it.
type stage struct {
	before  []*graph.Node  // called by the runtime first: they need nothing
	inside  []*graph.Node  // of the stage's function
	after   []*graph.Node  // called by the runtime after the function
	results []*graph.Array // what the function computes for other stages, calls, or the body's results
}

// cutBody is a body in stages.
type cutBody struct {
	stages     []*stage
	madeIn     map[*graph.Array]int         // the stage in whose function an array is computed, for those that are
	repeatable map[*graph.Array]*graph.Node // see repeatable; such nodes are in no stage
}

// cut puts each node into the first stage in which its inputs are there.
func (f *functionsPass) cut(g *graph.Graph) *cutBody {
	c := &cutBody{madeIn: map[*graph.Array]int{}, repeatable: repeatable(g)}
	from := map[*graph.Array]int{} // the first stage that can read an array
	for _, n := range g.Nodes {
		if len(n.Outs) > 0 && c.repeatable[n.Outs[0]] != nil {
			continue
		}
		k := 0
		for _, a := range n.Inputs {
			k = max(k, from[a])
		}
		for len(c.stages) <= k {
			c.stages = append(c.stages, &stage{})
		}
		s, next := c.stages[k], k
		switch {
		case !(f.once && n.Op.Name == "threefry2x32") && !f.outside(n):
			s.inside = append(s.inside, n)
			for _, o := range n.Outs {
				c.madeIn[o] = k
			}
		case len(n.Inputs) == 0 && !n.Op.Effect:
			s.before = append(s.before, n)
		default:
			s.after = append(s.after, n)
			next++
		}
		for _, o := range n.Outs {
			from[o] = next
		}
	}
	return c
}

// repeatable are the nodes, by their result, that cost nothing to compute again: constants and broadcasts of them.
func repeatable(g *graph.Graph) map[*graph.Array]*graph.Node {
	made := map[*graph.Array]*graph.Node{}
	for _, n := range g.Nodes {
		switch n.Op.Name {
		case "constant", "iota":
			made[n.Outs[0]] = n
		case "broadcast_in_dim":
			if made[n.Inputs[0]] != nil {
				made[n.Outs[0]] = n
			}
		}
	}
	return made
}

// dropSmall leaves the nodes of stages that are not worth a function to the runtime.
func (c *cutBody) dropSmall() {
	for _, s := range c.stages {
		if len(s.inside) >= leastOps {
			continue
		}
		for _, n := range s.inside {
			for _, o := range n.Outs {
				delete(c.madeIn, o)
			}
		}
		s.before, s.inside = append(s.before, s.inside...), nil
	}
}

// findResults finds what each stage's function has to return, in the order in which it is read.
func (c *cutBody) findResults(g *graph.Graph) {
	const noStage = -1
	seen := map[*graph.Array]bool{}
	read := func(by int, arrays []*graph.Array) {
		for _, a := range arrays {
			if k, ok := c.madeIn[a]; ok && k != by && !seen[a] {
				seen[a] = true
				c.stages[k].results = append(c.stages[k].results, a)
			}
		}
	}
	for k, s := range c.stages {
		for _, n := range s.inside {
			read(k, n.Inputs)
		}
		for _, n := range slices.Concat(s.before, s.after) {
			read(noStage, n.Inputs)
		}
	}
	read(noStage, g.Results)
}

// function adds a call of a function of nodes that returns results.
func (f *functionsPass) function(out *copying, nodes []*graph.Node, results []*graph.Array) {
	f.number++
	call := nodes[0].Like(graph.Table["function"], attr.Function{Number: f.number}, graph.ShapesOf(results))
	body := &copying{repeatable: out.repeatable, made: map[*graph.Array]*graph.Array{}}
	body.outer = func(a *graph.Array) *graph.Array {
		p := graph.Abstract(a.Shape())
		body.Params = append(body.Params, p)
		call.Inputs = append(call.Inputs, out.at(a))
		return p
	}
	for _, n := range nodes {
		body.add(n)
	}
	for i, a := range results {
		body.Results = append(body.Results, body.at(a))
		out.made[a] = call.Outs[i]
	}
	call.Bodies = []*graph.Graph{tiles(&body.Graph, f.target)}
	out.Nodes = append(out.Nodes, call)
}

// copying is a graph that is made of nodes of another one.
type copying struct {
	graph.Graph
	repeatable map[*graph.Array]*graph.Node    // of the other; they are copied where something reads them
	made       map[*graph.Array]*graph.Array   // the other's arrays -> the copies
	outer      func(*graph.Array) *graph.Array // copies an array that no node added so far computes
}

// newCopying starts a copy of g, with the same parameters.
func newCopying(g *graph.Graph, repeatable map[*graph.Array]*graph.Node) *copying {
	c := &copying{repeatable: repeatable, made: map[*graph.Array]*graph.Array{}}
	c.Params = g.Params
	for _, p := range g.Params {
		c.made[p] = p
	}
	return c
}

// add copies a node.
func (c *copying) add(n *graph.Node) *graph.Node {
	m := n.Like(n.Op, n.Attrs, graph.ShapesOf(n.Outs), n.Bodies...)
	for _, a := range n.Inputs {
		m.Inputs = append(m.Inputs, c.at(a))
	}
	for i, o := range n.Outs {
		c.made[o] = m.Outs[i]
	}
	c.Nodes = append(c.Nodes, m)
	return m
}

// at is the copy of an array.
func (c *copying) at(a *graph.Array) *graph.Array {
	if c.made[a] == nil {
		if n := c.repeatable[a]; n != nil {
			c.add(n)
		} else {
			c.made[a] = c.outer(a)
		}
	}
	return c.made[a]
}

// hasRendezvous reports whether a node is a numbered gather, at which devices wait for each other, or holds one.
func hasRendezvous(n *graph.Node) bool {
	if a, ok := n.Attrs.(attr.Collective); ok && a.Rendezvous > 0 {
		return true
	}
	return slices.ContainsFunc(n.Bodies, func(b *graph.Graph) bool { return b.Any(hasRendezvous) })
}
