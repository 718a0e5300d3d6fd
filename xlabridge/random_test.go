package xlabridge

import (
	"flag"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/graph/graphtest"
	"xlarun/internal/long"
)

var (
	count = flag.Int("programs", 0, "random programs to compile (default 8, in the long form 140)")
	seed  = flag.Uint64("seed", 0, "first seed; one program with -programs 1 replays it")
)

// Random whole programs and their gradients give compiled what they give interpreted. Package graphtest interprets more
// of them. For a long search: go test ./xlabridge -run RandomPrograms -programs 5000 -timeout 0
func TestRandomPrograms(t *testing.T) {
	t.Parallel()
	client := always(open(t, Options{}))
	run := func(p *graph.Program, in []*graph.Array) ([]*graph.Array, error) {
		x, err := client.Compile(p, CompileOptions{})
		if err != nil {
			return nil, fmt.Errorf("%w\n%s", err, p.Graph)
		}
		defer x.Close()
		return x.Call(in)
	}
	n := *count
	if n == 0 {
		if n = 5; long.On() {
			n = 140
		}
	}
	for i := range n {
		s := *seed + uint64(i)
		reverse := s%4 != 0
		check := func(p *graphtest.Program) error { return p.CheckSame(run, reverse) }
		p := graphtest.Random(s, reverse)
		if err := check(p); err != nil {
			small := p.Shrink(func(q *graphtest.Program) bool { return check(q) != nil })
			require.NoError(t, check(small), "replay: go test ./xlabridge -run RandomPrograms -programs 1 -seed "+
				"%d\nshrunk from %d steps: %s\nfirst error: %v", s, len(p.Steps), small, err)
		}
	}
}
