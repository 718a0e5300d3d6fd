package graph

import (
	"fmt"
	"strings"
)

// Graph is a closed program in SSA form: every node's inputs are parameters or results of earlier nodes.
type Graph struct {
	Params  []*Array
	Nodes   []*Node
	Results []*Array
}

// String prints the graph, one node a line:
//
//	(a f32[3], b f32[]) {
//	  c f32[3] = mul a b        // main.go:7
//	} -> c
func (g *Graph) String() string {
	var b strings.Builder
	p := &printer{w: &b, names: map[*Array]string{}}
	p.graph(g, "")
	b.WriteByte('\n')
	return b.String()
}

type printer struct {
	w     *strings.Builder
	names map[*Array]string
}

func (p *printer) name(a *Array) string {
	s, ok := p.names[a]
	if !ok {
		i := len(p.names)
		for s = string(rune('a' + i%26)); i >= 26; s = string(rune('a'+i%26)) + s {
			i = i/26 - 1
		}
		p.names[a] = s
	}
	return s
}

func (p *printer) graph(g *Graph, indent string) {
	p.w.WriteByte('(')
	for i, a := range g.Params {
		if i > 0 {
			p.w.WriteString(", ")
		}
		fmt.Fprintf(p.w, "%s %s", p.name(a), a.shape)
	}
	p.w.WriteString(") {\n")
	for _, n := range g.Nodes {
		p.w.WriteString(indent + "  ")
		for i, o := range n.Outs {
			if i > 0 {
				p.w.WriteString(", ")
			}
			fmt.Fprintf(p.w, "%s %s", p.name(o), o.shape)
		}
		fmt.Fprintf(p.w, " = %s", n.Op.Name)
		if c, ok := n.Attrs.(constantAttrs); ok {
			fmt.Fprintf(p.w, " %s", c)
		} else if n.Attrs != nil {
			fmt.Fprintf(p.w, "%+v", n.Attrs)
		}
		for _, a := range n.Inputs {
			p.w.WriteString(" " + p.name(a))
		}
		for _, body := range n.Bodies {
			p.w.WriteString(" ")
			p.graph(body, indent+"  ")
		}
		if where := n.Where(); where != "" && len(n.Bodies) == 0 {
			p.w.WriteString("  // " + where)
		}
		p.w.WriteByte('\n')
	}
	p.w.WriteString(indent + "} ->")
	for _, r := range g.Results {
		p.w.WriteString(" " + p.name(r))
	}
}

// Verify checks that the graph is closed and in order, and that every node's recorded shapes are what its op infers.
func (g *Graph) Verify() (err error) {
	defer catch(&err)
	known := map[*Array]bool{}
	for _, p := range g.Params {
		if known[p] {
			throw("Verify", "parameter %s stands twice", p.shape)
		}
		known[p] = true
	}
	for i, n := range g.Nodes {
		in := make([]Shape, len(n.Inputs))
		for j, a := range n.Inputs {
			if !known[a] {
				throw("Verify", "node %d (%s, %s) uses as input %d a value that is not made before it", i, n.Op.Name,
					n.Where(), j)
			}
			in[j] = a.shape
		}
		for _, body := range n.Bodies {
			if err := body.Verify(); err != nil {
				throw("Verify", "in node %d (%s): %v", i, n.Op.Name, err)
			}
		}
		if Table[n.Op.Name] != n.Op {
			throw("Verify", "node %d: op %s is not in the table", i, n.Op.Name)
		}
		shapes := n.Op.Shape(&call{op: n.Op, attrs: n.Attrs, in: in, inputs: n.Inputs, bodies: n.Bodies})
		if len(shapes) != len(n.Outs) {
			throw("Verify", "node %d (%s) has %d results, its op infers %d", i, n.Op.Name, len(n.Outs), len(shapes))
		}
		for j, o := range n.Outs {
			if !o.shape.Equal(shapes[j]) {
				throw("Verify", "node %d (%s): result %d is recorded as %s, its op infers %s", i, n.Op.Name, j, o.shape,
					shapes[j])
			}
			if known[o] {
				throw("Verify", "node %d (%s): result %d is made twice", i, n.Op.Name, j)
			}
			known[o] = true
		}
	}
	for i, r := range g.Results {
		if !known[r] {
			throw("Verify", "result %d is not made in the graph", i)
		}
	}
	return nil
}

// Count is the number of nodes, those of nested graphs included.
func (g *Graph) Count() int {
	n := len(g.Nodes)
	for _, x := range g.Nodes {
		for _, b := range x.Bodies {
			n += b.Count()
		}
	}
	return n
}

// LoopName is the name that a loop was given by LoopName or NamedWhile, "" for others: what watches a program finds its
// loops by it. It is no part of what is compiled.
func (n *Node) LoopName() string {
	switch a := n.Attrs.(type) {
	case scanAttrs:
		return a.Name
	case whileAttrs:
		return a.Name
	}
	return ""
}
