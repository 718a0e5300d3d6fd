package graph

import (
	"fmt"
	"io"
	"maps"
	"slices"
)

// Phase is a stage of a program on its way to the compiler.
type Phase string

// The phases of a Program that are no passes.
const (
	PhaseTraced     Phase = "traced"     // as the function and its transforms recorded it
	PhaseSimplified Phase = "simplified" // equal ops merged, dead ones dropped; the interpreter runs this
	PhaseStableHLO  Phase = "stablehlo"  // what the compiler gets
)

// Phases lists them, in order. Those between simplified and stablehlo depend on the target and have the names of Passes.
var Phases = func() []Phase {
	all := []Phase{PhaseTraced, PhaseSimplified}
	for _, p := range Passes {
		all = append(all, Phase(p.Name))
	}
	return append(all, PhaseStableHLO)
}()

// Dump writes the program as it is after a phase, for a target where the phase depends on it.
func (p *Program) Dump(w io.Writer, phase Phase, t Target) (err error) {
	defer catch(&err)
	var text string
	switch phase {
	case PhaseTraced:
		text = p.traced.String()
	case PhaseSimplified:
		text = p.Graph.String()
	case PhaseStableHLO:
		l, err := p.Lower(t)
		if err != nil {
			return err
		}
		text = l.StableHLO
	default:
		if !slices.Contains(Phases, phase) {
			return fmt.Errorf("graph.Dump: got phase %q, want one of %v", phase, Phases)
		}
		text = p.lowerTo(phase, t).String()
	}
	_, err = io.WriteString(w, text)
	return err
}

// Dump traces f over the shapes of an argument and writes the program as it is after a phase. It shows what VMap, Grad
// or Scan made of a function. The target is TargetCPU if none is given.
func Dump[A, R any](w io.Writer, phase Phase, f func(A) R, a A, target ...Target) error {
	p, err := Trace("dump", f, a)
	if err != nil {
		return err
	}
	return p.Dump(w, phase, append(target, TargetCPU)[0])
}

// OpCount is how often an op stands in a program.
type OpCount struct {
	Op    string `json:"op"`
	Count int    `json:"count"`
}

// Ops counts the graph's ops by name, most frequent first. Ops in bodies count once, however often a loop runs them.
func (g *Graph) Ops() []OpCount {
	counts := map[string]int{}
	var walk func(*Graph)
	walk = func(g *Graph) {
		for _, n := range g.Nodes {
			counts[n.Op.Name]++
			for _, b := range n.Bodies {
				walk(b)
			}
		}
	}
	walk(g)
	var out []OpCount
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		out = append(out, OpCount{name, counts[name]})
	}
	slices.SortStableFunc(out, func(a, b OpCount) int { return b.Count - a.Count })
	return out
}
