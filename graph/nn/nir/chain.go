package nir

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// flat inlines nested graphs: their nodes get the name OUTER/INNER, and their Input and Output are removed.
func (g *Graph) flat() *Graph {
	out := &Graph{Nodes: map[string]*Node{}}
	first, last := map[string][]string{}, map[string][]string{} // the replacements of a node as an edge's end and start
	for name, n := range g.Nodes {
		if n.Sub == nil {
			out.Nodes[name], first[name], last[name] = n, []string{name}, []string{name}
			continue
		}
		sub := n.Sub.flat()
		inside := func(inner string) string { return name + "/" + inner }
		for inner, m := range sub.Nodes {
			if m.Type != "Input" && m.Type != "Output" {
				out.Nodes[inside(inner)] = m
			}
		}
		for _, e := range sub.Edges {
			from, to := sub.Nodes[e[0]], sub.Nodes[e[1]]
			switch {
			case from.Type == "Input":
				first[name] = append(first[name], inside(e[1]))
			case to.Type == "Output":
				last[name] = append(last[name], inside(e[0]))
			default:
				out.Edges = append(out.Edges, [2]string{inside(e[0]), inside(e[1])})
			}
		}
	}
	for _, e := range g.Edges {
		for _, from := range last[e[0]] {
			for _, to := range first[e[1]] {
				out.Edges = append(out.Edges, [2]string{from, to})
			}
		}
	}
	return out
}

// link is a node of a chain.
type link struct {
	name string
	node *Node
}

// chain returns a graph's nodes from its input to its output, and own, the weights from nodes to themselves, by the
// node's name.
func (g *Graph) chain() (chain []link, own map[string]*Node, err error) {
	next, before := map[string][]string{}, map[string][]string{}
	for _, e := range g.Edges {
		if !slices.Contains(next[e[0]], e[1]) {
			next[e[0]], before[e[1]] = append(next[e[0]], e[1]), append(before[e[1]], e[0])
		}
	}
	own = map[string]*Node{}
	for _, name := range slices.Sorted(maps.Keys(g.Nodes)) {
		n := g.Nodes[name]
		if n.Type != "Linear" || len(next[name]) != 1 || !slices.Contains(before[name], next[name][0]) {
			continue
		}
		spiking := next[name][0]
		// In Spyx's files the input of a recurrent layer also goes to its recurrent weights.
		for _, from := range before[name] {
			if from != spiking && !slices.Contains(next[from], spiking) {
				next[from], before[spiking] = append(next[from], spiking), append(before[spiking], from)
			}
			next[from] = without(next[from], name)
		}
		own[spiking] = n
		before[spiking] = without(before[spiking], name)
		delete(next, name)
	}
	at := ""
	for _, name := range slices.Sorted(maps.Keys(g.Nodes)) {
		if g.Nodes[name].Type != "Input" {
			continue
		}
		if at != "" {
			return nil, nil, fmt.Errorf("nir: the graph has the inputs %s and %s, want one", at, name)
		}
		at = name
	}
	if at == "" {
		return nil, nil, fmt.Errorf("nir: the graph has no Input")
	}
	for {
		chain = append(chain, link{at, g.Nodes[at]})
		if g.Nodes[at].Type == "Output" {
			return chain, own, nil
		}
		if len(next[at]) != 1 || len(chain) > len(g.Nodes) {
			return nil, nil, fmt.Errorf("nir: the graph is no chain: after %s comes %s", at,
				strings.Join(append(next[at], "nothing")[:max(1, len(next[at]))], ", "))
		}
		to := next[at][0]
		if len(before[to]) != 1 {
			return nil, nil, fmt.Errorf("nir: the graph is no chain: %s is fed by %s", to,
				strings.Join(before[to], ", "))
		}
		at = to
	}
}

func without(names []string, name string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(n string) bool { return n == name })
}
