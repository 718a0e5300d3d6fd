package graph

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"time"
)

// Lowering turns a simplified program into one of ops that a target takes. It is a list of passes over the graph (see
// passes). Op.Lower, in the op's block, says what one op becomes. A decision that depends on the whole program is a
// pass. The interpreter can run the program after every pass, and tests compare the results, so a wrong pass is found
// by name.

// Target is what a program is lowered for.
type Target struct {
	// Platform is that of a PJRT plugin: "cpu", "cuda" or "tpu". Another gets ops that every compiler takes.
	Platform string
	// Kernels says whether programs call the kernels of xlabridge.
	Kernels Kernels
	// BF16 and Int8 say that there are instructions for products of bfloat16 and of int8. With them, kernels compute
	// these products.
	BF16, Int8 bool
}

// Kernels says whether programs call kernels.
type Kernels uint8

// The values of Kernels.
const (
	NoKernels Kernels = iota
	// WithKernels calls them where they pay.
	WithKernels
	// AlwaysKernels calls them for the smallest arrays too, and for products of all dtypes: slower, for tests.
	AlwaysKernels
)

// The targets that there are passes for, without instructions for products.
var (
	TargetCPU              = Target{Platform: "cpu"}
	TargetCUDA             = Target{Platform: "cuda"}
	TargetTPU              = Target{Platform: "tpu"}
	TargetCPUKernels       = Target{Platform: "cpu", Kernels: WithKernels}
	TargetCPUKernelsAlways = Target{Platform: "cpu", Kernels: AlwaysKernels}
)

// Targets lists them, and those with instructions for products.
var Targets = []Target{TargetCPU, TargetCUDA, TargetTPU, TargetCPUKernels,
	{Platform: "cpu", Kernels: WithKernels, BF16: true}, {Platform: "cpu", Kernels: WithKernels, Int8: true},
	{Platform: "cpu", Kernels: WithKernels, BF16: true, Int8: true}, TargetCPUKernelsAlways}

// String is such as "cpu with kernels +BFloat16".
func (t Target) String() string {
	s := t.Platform + [...]string{"", " with kernels", " with kernels, always"}[t.Kernels]
	if t.BF16 {
		s += " +" + BFloat16.String()
	}
	if t.Int8 {
		s += " +" + Int8.String()
	}
	return s
}

// MarshalText is String, for JSON.
func (t Target) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// products reports whether products of a dtype, BFloat16 or Int8, have a kernel.
func (t Target) products(d DType) bool {
	return t.Kernels == AlwaysKernels || d == BFloat16 && t.BF16 || d == Int8 && t.Int8
}

func (t Target) kernels() bool { return t.Kernels != NoKernels }

func (t Target) cpu() bool { return t.Platform == "cpu" }

// atLeast returns the size from which a kernel pays: size, or 0 for the target that always calls kernels.
func (t Target) atLeast(size int) int {
	if t.Kernels == AlwaysKernels {
		return 0
	}
	return size
}

// paysKernel reports whether a kernel is called for so many elements: it pays from least elements on.
func (t Target) paysKernel(size, least int) bool {
	return t.kernels() && size >= max(1, t.atLeast(least))
}

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

// Uses reports whether the graph or a body of it has a node of one of the ops.
func (g *Graph) Uses(ops ...string) bool {
	return g.any(func(n *Node) bool { return slices.Contains(ops, n.Op.Name) })
}

// any reports whether f is true for a node of the graph or of its bodies.
func (g *Graph) any(f func(*Node) bool) bool {
	return slices.ContainsFunc(g.Nodes, func(n *Node) bool {
		return f(n) || slices.ContainsFunc(n.Bodies, func(b *Graph) bool { return b.any(f) })
	})
}

// lowerOps replaces nodes by what Op.Lower makes of them, until no rule returns anything.
func lowerOps(g *Graph, t Target) *Graph {
	return newLowering(g, t, func(o *Op) lowerRule { return o.Lower }).graph(g)
}

// lowerRule returns a node's results, made by other ops in the open scope, or nil if the node stays as it is.
type lowerRule func(l *lowering, n *Node, in []*Array) []*Array

// lowering is a pass that rewrites nodes one by one.
type lowering struct {
	target  Target
	program *Graph // before the pass
	rule    func(*Op) lowerRule
	done    map[*Node]bool      // nodes whose rule returned nil and whose bodies are rewritten
	loop    *Graph              // the body of the innermost loop around, before the pass
	scan    *Graph              // the body of the scan that is being lowered, if it is inside of loop
	cut     map[cutKey][]*Array // constants of the scans around; see rowsApart
	trace   *trace
	unset   int   // see the op unset
	huge    *bool // whether the program has products that are too large for tiles; nil: not computed yet
}

func newLowering(g *Graph, t Target, rule func(*Op) lowerRule) *lowering {
	return &lowering{target: t, program: g, rule: rule, done: map[*Node]bool{}}
}

// lowerNamed returns a graph with a rule applied to the nodes of the named ops.
func lowerNamed(g *Graph, t Target, rule lowerRule, names ...string) *Graph {
	return newLowering(g, t, func(o *Op) lowerRule {
		if slices.Contains(names, o.Name) {
			return rule
		}
		return nil
	}).graph(g)
}

// concerns reports whether a node has to be looked at.
func (l *lowering) concerns(n *Node) bool {
	if l.done[n] {
		return false
	}
	return l.rule(n.Op) != nil || slices.ContainsFunc(n.Bodies, func(g *Graph) bool {
		return slices.ContainsFunc(g.Nodes, l.concerns)
	})
}

// graph rewrites a closed graph.
func (l *lowering) graph(g *Graph) *Graph {
	if !slices.ContainsFunc(g.Nodes, l.concerns) {
		return g
	}
	return closedGraph("Lower", shapesOf(g.Params), func(p []*Array) []*Array {
		if l.trace == nil {
			l.trace = currentTrace()
			defer positions()()
		}
		return l.inline(g, p)
	})
}

// inline adds the rewritten nodes of g to the open scope and returns g's results for args.
func (l *lowering) inline(g *Graph, args []*Array) []*Array {
	env := make(map[*Array]*Array, 2*len(g.Nodes)+len(args))
	for i, p := range g.Params {
		env[p] = args[i]
	}
	for _, n := range g.Nodes {
		l.trace.pos = n.pos
		for i, o := range l.node(n, lookUp(env, n.Inputs)) {
			env[n.Outs[i]] = o
		}
	}
	return lookUp(env, g.Results)
}

// node adds a rewritten node over the inputs in to the open scope and returns its results.
func (l *lowering) node(n *Node, in []*Array) []*Array {
	s := l.trace.cur
	before := len(s.nodes)
	if rule := l.rule(n.Op); rule != nil && !l.done[n] {
		if outs := rule(l, n, in); outs != nil {
			results := make([]*Array, len(outs))
			for i, o := range outs {
				results[i] = s.use(o) // what was made of nothing is lazy
			}
			return l.again(s, before, results)
		}
		s.nodes = s.nodes[:before]
	}
	bodies, concerns := slices.Clone(n.Bodies), l.concerns(n)
	if concerns {
		outside, scan := l.loop, l.scan
		if n.Op.Loop != nil {
			l.loop, l.scan = n.Bodies[n.Op.Loop(n).step], nil
		}
		for i, b := range n.Bodies {
			bodies[i] = l.graph(b)
		}
		l.loop, l.scan = outside, scan
	}
	c := s.copyOf(n, in, bodies)
	if concerns {
		l.done[c] = true
	}
	return c.Outs
}

// copyOf adds a copy of a node with other inputs and bodies.
func (s *scope) copyOf(n *Node, in []*Array, bodies []*Graph) *Node {
	c := &Node{Op: n.Op, Attrs: n.Attrs, Inputs: in, Outs: make([]*Array, len(n.Outs)), Bodies: bodies, pos: n.pos}
	for i, o := range n.Outs {
		c.Outs[i] = &Array{shape: o.shape, node: c, index: i, scope: s}
	}
	s.nodes = append(s.nodes, c)
	return c
}

// again rewrites what a rule made, which are the scope's nodes from a place on, and returns its results rewritten.
func (l *lowering) again(s *scope, from int, results []*Array) []*Array {
	made := slices.Clone(s.nodes[from:])
	s.nodes = s.nodes[:from]
	moved := map[*Array]*Array{}
	for _, n := range made {
		for i, a := range n.Inputs {
			n.Inputs[i] = orSelf(moved, a)
		}
		if !l.concerns(n) {
			s.nodes = append(s.nodes, n)
			continue
		}
		for i, o := range l.node(n, n.Inputs) {
			moved[n.Outs[i]] = o
		}
	}
	for lazy, a := range s.imported {
		s.imported[lazy] = orSelf(moved, a)
	}
	out := make([]*Array, len(results))
	for i, r := range results {
		out[i] = orSelf(moved, r)
	}
	return out
}

// lowerBody is the Lower rule of ops that matter to derivatives only: they are their first body.
func lowerBody(l *lowering, n *Node, in []*Array) []*Array { return l.inline(n.Bodies[0], in) }

// lowerMatrices is the Lower rule of a factorisation that is a program over single matrices, in the arrays' last two
// axes.
func lowerMatrices(l *lowering, in []*Array, f func(in []*Array) []*Array) []*Array {
	g := closedGraph("Lower", shapesOf(in), func(p []*Array) []*Array { return eachMatrix(in[0].Rank()-2, p, f) })
	return l.inline(g.Simplify(), in)
}
