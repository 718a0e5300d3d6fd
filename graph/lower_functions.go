package graph

import "slices"

// In a program whose loops are functions with products in tiles (lower_products.go), what is left between calls of kernels is some dozens to hundreds of small
// operations, among them those loops, each a call of the runtime's with a place in its queues. lowerFunctions makes functions of them, too: a body is cut into stages at the nodes that
// cannot be part of one, and what a stage has is one call. In a loop on whose every turn devices meet, that halves the time of a turn of a tenth of a millisecond.

const (
	// leastOps is the number of operations that are worth a function.
	leastOps = 8
	// mostTiledOnce is the number of multiplications up to which a product that is computed once is part of a function: what a library gains beyond is more than a call.
	mostTiledOnce = 1 << 23
)

// lowerFunctions makes functions of what lies between the nodes that cannot be part of one.
func lowerFunctions(g *Graph, t Target) *Graph {
	l := newLowering(g, t, nil)
	product := func(n *Node) bool { return n.Op.Name == "dot_general" && largeProduct(n) }
	meeting := func(n *Node) bool { // a loop of products that would be a function but that devices meet in it
		return n.Op.Name == "while" && meets(n) && n.Bodies[1].any(product) && l.tileable(n, meets)
	}
	if !g.WholeLoops(t) || !g.TiledProducts() && !g.any(meeting) {
		return g
	}
	f := &functionsPass{target: t}
	return f.graph(g)
}

// functionsPass is what the pass knows.
type functionsPass struct {
	target Target
	number int // of functions so far
}

// stage is what a body can do in one go: a function's nodes, and those that stay calls of the runtime's and come before it, as they need nothing, or behind it.
type stage struct{ first, inside, last []*Node }

// outside tells whether a node stays a call of the runtime's.
func (f *functionsPass) outside(n *Node) bool {
	switch n.Op.Name {
	case "while":
		return !whole(n)
	case "dot_general":
		rows, inner, columns := productSizes(n)
		return largeProduct(n) && (n.Outs[0].DType() != Float32 || rows*inner*columns > mostTiledOnce)
	case "custom_call":
		return n.Attrs.(customCallAttrs).kernel != turnKernel
	}
	return n.Op.effect || n.Op.Apart != nil && n.Op.Apart(n) || slices.ContainsFunc(n.Bodies, func(b *Graph) bool { return b.any(f.outside) })
}

// cheap marks what costs nothing to make again: constants, and what spreads them.
func cheap(g *Graph) map[*Array]*Node {
	made := map[*Array]*Node{}
	for _, n := range g.Nodes {
		if n.Op.Name != "constant" && n.Op.Name != "iota" && (n.Op.Name != "broadcast_in_dim" || made[n.Inputs[0]] == nil) {
			continue
		}
		made[n.Outs[0]] = n
	}
	return made
}

// stages cuts a body; what is cheap is in none of them. home is the stage in whose function an array is made, for those that are.
func (f *functionsPass) stages(g *Graph, cheap map[*Array]*Node) (stages []stage, home map[*Array]int) {
	home = map[*Array]int{}
	from := map[*Array]int{} // the first stage that can read an array
	for _, n := range g.Nodes {
		if len(n.Outs) > 0 && cheap[n.Outs[0]] != nil {
			continue
		}
		k := 0
		for _, a := range n.Inputs {
			k = max(k, from[a])
		}
		for len(stages) <= k {
			stages = append(stages, stage{})
		}
		s, next := &stages[k], k
		switch {
		case !f.outside(n):
			s.inside = append(s.inside, n)
			for _, o := range n.Outs {
				home[o] = k
			}
		case len(n.Inputs) == 0 && !n.Op.effect:
			s.first = append(s.first, n)
		default:
			s.last = append(s.last, n)
			next++
		}
		for _, o := range n.Outs {
			from[o] = next
		}
	}
	return stages, home
}

// graph rewrites a body.
func (f *functionsPass) graph(g *Graph) *Graph {
	cheap := cheap(g)
	stages, home := f.stages(g, cheap)
	for k := range stages {
		if s := &stages[k]; len(s.inside) < leastOps {
			for _, n := range s.inside {
				for _, o := range n.Outs {
					delete(home, o)
				}
			}
			s.first, s.inside = append(s.first, s.inside...), nil
		}
	}
	given := map[int][]*Array{} // by stage, what its function makes for others
	known := map[*Array]bool{}
	use := func(by int, arrays []*Array) {
		for _, a := range arrays {
			if k, ok := home[a]; ok && k != by && !known[a] {
				known[a] = true
				given[k] = append(given[k], a)
			}
		}
	}
	for k, s := range stages {
		for _, n := range s.inside {
			use(k, n.Inputs)
		}
		for _, n := range slices.Concat(s.first, s.last) {
			use(-1, n.Inputs)
		}
	}
	use(-1, g.Results)
	out := &copying{cheap: cheap, made: map[*Array]*Array{}}
	out.Params = g.Params
	for _, p := range g.Params {
		out.made[p] = p
	}
	for k, s := range stages {
		for _, n := range s.first {
			out.add(n)
		}
		if len(s.inside) > 0 {
			f.function(out, s.inside, given[k])
		}
		for _, n := range s.last {
			c := out.add(n)
			if n.Op.Name == "while" {
				c.Bodies = []*Graph{n.Bodies[0], f.graph(n.Bodies[1])}
			}
		}
	}
	for _, r := range g.Results {
		out.Results = append(out.Results, out.at(r))
	}
	return &out.Graph
}

// function adds a call of a function of nodes that gives some of what they make.
func (f *functionsPass) function(out *copying, nodes []*Node, gives []*Array) {
	f.number++
	call := &Node{Op: op("function"), Attrs: functionAttrs{f.number}, pos: nodes[0].pos}
	body := &copying{cheap: out.cheap, made: map[*Array]*Array{}}
	body.outer = func(a *Array) *Array {
		p := &Array{shape: a.shape}
		body.Params = append(body.Params, p)
		call.Inputs = append(call.Inputs, out.at(a))
		return p
	}
	for _, n := range nodes {
		body.add(n)
	}
	for _, a := range gives {
		body.Results = append(body.Results, body.at(a))
		o := &Array{shape: a.shape, node: call, index: len(call.Outs)}
		call.Outs = append(call.Outs, o)
		out.made[a] = o
	}
	call.Bodies = []*Graph{newLowering(&body.Graph, f.target, nil).tiles(&body.Graph)}
	out.Nodes = append(out.Nodes, call)
}

// copying is a graph that is made of nodes of another one.
type copying struct {
	Graph
	cheap map[*Array]*Node
	made  map[*Array]*Array   // of the other's arrays
	outer func(*Array) *Array // what stands for an array that no node added so far made
}

// add copies a node.
func (c *copying) add(n *Node) *Node {
	m := &Node{Op: n.Op, Attrs: n.Attrs, Bodies: n.Bodies, pos: n.pos}
	for _, a := range n.Inputs {
		m.Inputs = append(m.Inputs, c.at(a))
	}
	for i, o := range n.Outs {
		m.Outs = append(m.Outs, &Array{shape: o.shape, node: m, index: i})
		c.made[o] = m.Outs[i]
	}
	c.Nodes = append(c.Nodes, m)
	return m
}

// at is what stands for an array.
func (c *copying) at(a *Array) *Array {
	if c.made[a] == nil {
		if n := c.cheap[a]; n != nil {
			c.add(n)
		} else {
			c.made[a] = c.outer(a)
		}
	}
	return c.made[a]
}
