package graph

import (
	"fmt"
	"io"
	"maps"
	"slices"
)

// Phase is a stage of a program on its way to the compiler.
type Phase string

// The phases of a Program, in order. Those from PhaseLowered on depend on the target and, except the last, are the
// names of the passes (see passes).
const (
	PhaseTraced         Phase = "traced"         // as the function and its transforms recorded it
	PhaseSimplified     Phase = "simplified"     // equal ops merged, dead ones dropped; the interpreter runs this
	PhaseSingles        Phase = "singles"        // single numbers of a population's loop for each member, on GPUs
	PhaseLowered        Phase = "lowered"        // only ops that the target takes
	PhaseKeys           Phase = "keys"           // no barriers after keys
	PhaseCollectives    Phase = "collectives"    // all_gathers that do not wait for each other joined
	PhaseConcatenations Phase = "concatenations" // concatenations as selects
	PhaseConstants      Phase = "constants"      // small arrays that depend on no input as constants
	PhaseEnded          Phase = "ended"          // writes of lanes that have ended are dropped
	PhaseExact          Phase = "exact"          // barriers after values that are compared with copies of themselves
	PhaseRolls          Phase = "rolls"          // rolls of one array as slices of it with a border
	PhaseOverwrites     Phase = "overwrites"     // concatenations of another shape than selects
	PhaseHashes         Phase = "hashes"         // barriers after random bits that several others are made of
	PhaseGathers        Phase = "gathers"        // all_gathers that call a kernel numbered
	PhaseLoops          Phase = "loops"          // loops marked that do not become one function
	PhaseWrites         Phase = "writes"         // writes into parts of arrays as calls of kernels
	PhaseCounts         Phase = "counts"         // what counts as calls of kernels
	PhaseFunctions      Phase = "functions"      // ops between calls of kernels made functions
	PhaseStableHLO      Phase = "stablehlo"      // what the compiler gets
)

// Phases lists them.
var Phases = func() []Phase {
	all := []Phase{PhaseTraced, PhaseSimplified}
	for _, p := range passes {
		all = append(all, p.name)
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
