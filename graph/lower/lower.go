// Package lower makes of a traced program one of ops that a target takes, and writes it as StableHLO. It is a list of
// passes over the graph (Passes). Op.Lower, in the op's block in package graph, says what one op becomes; a decision
// that depends on the whole program is a pass, in a file of its own. The interpreter can run the program after every
// pass, and tests compare the results, so a wrong pass is found by name. "xlarun inspect --phase" shows the program
// after each.
//
// Passes change how a compiler computes, and not what. The text is the same at each start, and compiled programs are
// cached by it.
//
// Facts measures a program, and Policy decides by it how XLA's CPU compiler writes it. Package xlabridge has the names
// of the compiler's options. Memory estimates what a program needs before it is compiled.
package lower

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"time"

	"xlarun/graph"
)

// Pass is one step of lowering. What one op becomes is no pass, but its Lower.
type Pass struct {
	Name string
	// Doc says in a few words what the pass does.
	Doc string
	// For reports for which targets it does anything; nil: all.
	For func(graph.Target) bool
	// After are passes that come before it.
	After []Order
	Keeps Promise
	// Begin looks at a program and makes the state of one run over it. nil: there is nothing to do.
	Begin func(g *graph.Graph, t graph.Target) Run
}

// Run returns the program that a pass makes of the one that it began with.
type Run func(g *graph.Graph) *graph.Graph

// Order is a pass that comes before another one, and why.
type Order struct{ Pass, Why string }

// Promise is what a pass keeps of the results.
type Promise int

// The values of Promise.
const (
	// Exact: the interpreter computes the same bits.
	Exact Promise = iota
	// Rounded: the last digits may differ, such as those of a sum in another order.
	Rounded
)

// Passes are run in this order on a simplified program. It is well-formed after each, and gives the same results up to
// the pass's Keeps.
var Passes = []Pass{passSingles, passOps, passKeys, passCollectives, passConcatenations, passConstants, passEnded,
	passExact, passRolls, passOverwrites, passOnce, passGathers, passLoops, passWrites, passCounts, passFunctions,
	passHashCalls}

// Apply runs the pass on a program for a target.
func (p Pass) Apply(g *graph.Graph, t graph.Target) *graph.Graph {
	if p.For != nil && !p.For(t) {
		return g
	}
	if run := p.Begin(g, t); run != nil {
		return run(g)
	}
	return g
}

var passOps = Pass{
	Name: "ops", Doc: "replace ops that the target does not take by others", Keeps: Rounded,
	After: []Order{{"singles", "scans become loops"}},
	Begin: func(_ *graph.Graph, t graph.Target) Run {
		return func(g *graph.Graph) *graph.Graph {
			return graph.Rewrite(g, t, func(o *graph.Op) graph.LoweringRule { return o.Lower })
		}
	},
}

// byNode is a run that applies a rule to the nodes of the named ops; no names: to all.
func byNode(t graph.Target, rule graph.LoweringRule, names ...string) Run {
	return func(g *graph.Graph) *graph.Graph {
		return graph.Rewrite(g, t, func(o *graph.Op) graph.LoweringRule {
			if len(names) == 0 || slices.Contains(names, o.Name) {
				return rule
			}
			return nil
		})
	}
}

// Lowered is a program as one target gets it.
type Lowered struct {
	Target    graph.Target
	Graph     *graph.Graph // of ops that the target takes
	StableHLO string       // the same as MLIR text
	// Facts are measured of Graph, but Work, Grain and LargestArray of the program before, in which loops know their
	// iterations.
	Facts Facts
	// Seconds is the time to lower and write it.
	Seconds float64
}

// Fingerprint identifies the text (hex sha256).
func (l *Lowered) Fingerprint() string {
	sum := sha256.Sum256([]byte(l.StableHLO))
	return hex.EncodeToString(sum[:])
}

// Lower returns the program for a target. The result is kept for later calls.
func Lower(p *graph.Program, t graph.Target) (l *Lowered, err error) {
	err = graph.Try(func() {
		l = p.Kept(loweredFor{t}, func() any { return lower(p, t) }).(*Lowered)
	})
	return l, err
}

// loweredFor is the key of what is lowered for a target.
type loweredFor struct{ graph.Target }

func lower(p *graph.Program, t graph.Target) *Lowered {
	start := time.Now()
	l := &Lowered{Target: t, Graph: lowerTo(p, StableHLO, t)}
	before := Measure(p.Graph, t)
	l.Facts = Measure(l.Graph, t)
	l.Facts.Work, l.Facts.Grain, l.Facts.LargestArray = before.Work, before.Grain, before.LargestArray
	l.StableHLO = l.Graph.StableHLO(p.Name, aliases(p, t), p.Replicas)
	l.Seconds = time.Since(start).Seconds()
	return l
}

// lowerTo runs the passes up to and including the named one.
func lowerTo(p *graph.Program, last string, t graph.Target) *graph.Graph {
	g := p.Graph
	for _, pass := range Passes {
		g = pass.Apply(g, t)
		if pass.Name == last {
			break
		}
	}
	return g
}
