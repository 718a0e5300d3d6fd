package graph

import (
	"crypto/sha256"
	"encoding/hex"
	"time"
)

// Lowering turns a simplified program into one of ops that a target takes. It is a list of passes over the graph (see
// passes). Op.Lower, in the op's block, says what one op becomes. A decision that depends on the whole program is a
// pass. The interpreter can run the program after every pass, and tests compare the results, so a wrong pass is found
// by name.

// pass is one step of lowering.
type pass struct {
	name Phase
	// what says what the pass is for.
	what string
	// targets reports for which targets it does anything; nil: all.
	targets func(Target) bool
	// run returns the new graph, or g itself where there is nothing to do.
	run func(g *Graph, t Target) *Graph
}

// apply runs the pass for a target.
func (p pass) apply(g *Graph, t Target) *Graph {
	if p.targets != nil && !p.targets(t) {
		return g
	}
	return p.run(g, t)
}

// passes are run in this order on a simplified graph. The graph is well-formed and gives the same results after each.
var passes = []pass{
	{name: PhaseSingles, run: lowerSingles, targets: func(t Target) bool { return t == TargetCUDA },
		what: "keep single numbers in the carry of a population's loop for each member"},
	{name: PhaseLowered, run: lowerOps, what: "replace ops that the target does not take by others"},
	{name: PhaseKeys, run: lowerKeys, targets: Target.accelerator, what: "no barriers after keys"},
	{name: PhaseCollectives, run: lowerCollectives, targets: func(t Target) bool { return t == TargetTPU },
		what: "one all_gather of those that do not wait for each other"},
	{name: PhaseConcatenations, run: lowerConcatenations, targets: func(t Target) bool { return t == TargetTPU },
		what: "concatenations as selects"},
	{name: PhaseConstants, run: lowerConstants, targets: Target.accelerator,
		what: "small arrays that depend on no input as constants"},
	{name: PhaseEnded, run: lowerEnded, targets: func(t Target) bool { return t == TargetCUDA },
		what: "writes of lanes that have ended are dropped"},
	{name: PhaseExact, run: lowerExact, what: "compute values once that are compared with copies of themselves"},
	{name: PhaseRolls, run: lowerRolls, targets: Target.cpu,
		what: "make rolls of one array slices of that array with a border"},
	{name: PhaseOverwrites, run: lowerOverwrites, targets: Target.kernels,
		what: "concatenations of another shape than selects"},
	{name: PhaseHashes, run: lowerHashes, targets: Target.cpu,
		what: "compute random bits once that several others are made of"},
	{name: PhaseGathers, run: lowerGathers, targets: Target.kernels,
		what: "number the all_gathers that call a kernel, in one order for all devices"},
	{name: PhaseLoops, run: lowerLoops, targets: Target.kernels,
		what: "mark loops that lose if they become one function, and lay out the products in the others"},
	{name: PhaseWrites, run: lowerWrites, targets: Target.kernels,
		what: "write into parts of arrays by calls of kernels, if that is possible for all"},
	{name: PhaseCounts, run: lowerCounts, targets: Target.kernels,
		what: "count by calls of a kernel, where that keeps no loop from being one function"},
	{name: PhaseFunctions, run: lowerFunctions, targets: Target.kernels,
		what: "make functions of the ops between calls of kernels"},
}

// passOrder lists what must hold of the order of passes.
var passOrder = []struct {
	before, after Phase
	why           string
}{
	{PhaseSingles, PhaseLowered, "scans become loops"},
	{PhaseLowered, PhaseKeys, "a key that is split or folded is a hash only then"},
	{PhaseLowered, PhaseCollectives, "what an op becomes may gather"},
	{PhaseCollectives, PhaseConcatenations, "arrays that are gathered together are concatenated"},
	{PhaseLowered, PhaseConcatenations, "what an op becomes may concatenate, or read the parts of a stack"},
	{PhaseLowered, PhaseConstants, "what an op becomes may compare the numbers of elements"},
	{PhaseLowered, PhaseEnded, "mapped loops select, and what an op becomes may write"},
	{PhaseLowered, PhaseExact, "what an op becomes may compare copies"},
	{PhaseLowered, PhaseRolls, "what an op becomes may roll"},
	{PhaseRolls, PhaseOverwrites, "rolls that became slices are no concatenations"},
	{PhaseLowered, PhaseOverwrites, "what an op becomes may select, or concatenate"},
	{PhaseExact, PhaseLoops, "loops are laid out with the barriers in them"},
	{PhaseLowered, PhaseHashes, "a draw is a hash or a call of a kernel only then"},
	{PhaseHashes, PhaseLoops, "loops are laid out with the barriers in them"},
	{PhaseLowered, PhaseGathers, "later passes know only the ops that a target takes: a scan is a while loop"},
	{PhaseGathers, PhaseLoops, "a loop with numbered gathers is no function"},
	{PhaseLoops, PhaseWrites, "loops that are one function write parts in place and need no kernel"},
	{PhaseLoops, PhaseCounts, "only then it is known which loops become one function"},
	{PhaseWrites, PhaseCounts, "writes are laid out as without a count"},
	{PhaseCounts, PhaseFunctions, "a call of a kernel is not part of a function"},
	{PhaseWrites, PhaseFunctions, "the compiler's way to write code, which functions depend on, depends on the writes"},
}

// Lowered is a program as one target gets it.
type Lowered struct {
	Target    Target
	Graph     *Graph // of ops that the target takes
	StableHLO string // the same as MLIR text
	// Facts are measured of Graph, but Work, Grain and LargestArray of the program before, in which loops know their
	// turns.
	Facts Facts
	// Fingerprint identifies the text (hex sha256).
	Fingerprint string
	// Seconds is the time to lower and write it.
	Seconds float64
}

// Lower returns the program for a target. The result is kept for later calls.
func (p *Program) Lower(t Target) (l *Lowered, err error) {
	defer catch(&err)
	p.mu.Lock()
	defer p.mu.Unlock()
	if l = p.lowered[t]; l != nil {
		return l, nil
	}
	start := time.Now()
	l = &Lowered{Target: t, Graph: p.lowerTo(PhaseStableHLO, t)}
	before := p.Graph.Facts(t)
	l.Facts = l.Graph.Facts(t)
	l.Facts.Work, l.Facts.Grain, l.Facts.LargestArray = before.Work, before.Grain, before.LargestArray
	l.StableHLO = emitModule(p.Name, l.Graph, p.aliases(t), p.Replicas)
	sum := sha256.Sum256([]byte(l.StableHLO))
	l.Fingerprint = hex.EncodeToString(sum[:])
	l.Seconds = time.Since(start).Seconds()
	if p.lowered == nil {
		p.lowered = map[Target]*Lowered{}
	}
	p.lowered[t] = l
	return l, nil
}

// lowerTo runs the passes up to and including the named one.
func (p *Program) lowerTo(last Phase, t Target) *Graph {
	g := p.Graph
	for _, pass := range passes {
		g = pass.apply(g, t)
		if pass.name == last {
			break
		}
	}
	return g
}

// lowerOps replaces nodes by what Op.Lower makes of them, until no rule returns anything.
func lowerOps(g *Graph, t Target) *Graph {
	return newLowering(g, t, func(o *Op) lowerRule { return o.Lower }).graph(g)
}
