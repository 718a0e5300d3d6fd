package lower

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"sort"

	"xlarun/graph"
)

// The phases of a program that are no passes.
const (
	Traced     = "traced"     // as the function and its transforms recorded it
	Simplified = "simplified" // equal ops merged, dead ones dropped; the interpreter runs this
	StableHLO  = "stablehlo"  // what the compiler gets
)

// Phases are the stages of a program on its way to the compiler, in order. Those between Simplified and StableHLO are
// the names of Passes, after which it depends on the target.
var Phases = func() []string {
	all := []string{Traced, Simplified}
	for _, p := range Passes {
		all = append(all, p.Name)
	}
	return append(all, StableHLO)
}()

// Dump writes the program as it is after a phase, for a target where the phase depends on it.
func Dump(w io.Writer, p *graph.Program, phase string, t graph.Target) error {
	var text string
	switch phase {
	case Traced:
		text = p.Traced.String()
	case Simplified:
		text = p.Graph.String()
	case StableHLO:
		l, err := Lower(p, t)
		if err != nil {
			return err
		}
		text = l.StableHLO
	default:
		if !slices.Contains(Phases, phase) {
			return fmt.Errorf("lower.Dump: got phase %q, want one of %v", phase, Phases)
		}
		if err := graph.Try(func() { text = lowerTo(p, phase, t).String() }); err != nil {
			return err
		}
	}
	_, err := io.WriteString(w, text)
	return err
}

// OpCount is how often an op stands in a program.
type OpCount struct {
	Op    string `json:"op"`
	Count int    `json:"count"`
}

// Ops counts a graph's ops by name, most frequent first. Ops in bodies count once, however often a loop runs them.
func Ops(g *graph.Graph) []OpCount {
	counts := map[string]int{}
	var walk func(*graph.Graph)
	walk = func(g *graph.Graph) {
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
	sort.SliceStable(out, func(i, j int) bool { return out[i].Count > out[j].Count })
	return out
}
