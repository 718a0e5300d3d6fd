package graphtest_test

import (
	"flag"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	. "xlarun/graph/graphtest"
	"xlarun/graph/lower"
)

var (
	programs = flag.Int("programs", 60, "random programs to check")
	seed     = flag.Uint64("seed", 0, "first seed; one program with -programs 1 replays it")
)

// Random whole programs are the same when they are lowered.
func TestRandomProgramsLowered(t *testing.T) {
	for i := range *programs / 4 {
		s := *seed + uint64(i)
		for _, target := range graph.Targets {
			lowered := func(p *graph.Program, in []*graph.Array) ([]*graph.Array, error) {
				l, err := lower.Lower(p, target)
				if err != nil {
					return nil, err
				}
				return Interpreted(&graph.Program{Name: p.Name, Graph: l.Graph, Inputs: p.Inputs, Captured: p.Captured},
					in)
			}
			p := Random(s, s%4 != 0)
			require.NoError(t, p.CheckSame(lowered, s%4 != 0), "%s, seed %d: %s", target, s, p)
		}
	}
}

// Random whole programs on the interpreter. Long form: go test ./graph/graphtest -programs 20000 -timeout 0
func TestRandomPrograms(t *testing.T) {
	for i := range *programs {
		s := *seed + uint64(i)
		reverse := s%4 != 0
		check := func(p *Program) error { return p.Check(reverse) }
		p := Random(s, reverse)
		if err := check(p); err != nil {
			small := p.Shrink(func(q *Program) bool { return check(q) != nil })
			require.NoError(t, check(small), "replay: go test ./graph/graphtest -programs 1 -seed %d\nshrunk from %d "+
				"steps: %s\nfirst error: %v", s, len(p.Steps), small, err)
		}
	}
}
