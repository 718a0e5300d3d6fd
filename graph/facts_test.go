package graph

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestShortLoops(t *testing.T) {
	loop := func(f func(x *Array) *Array) func(x *Array) *Array {
		return func(x *Array) *Array {
			e, _ := Scan(func(x *Array, _ None) (*Array, None) { return f(x), None{} }, x, None{}, Length(3))
			return e
		}
	}
	sin := func(x *Array) *Array { return Sin(x) }
	for i, c := range []struct {
		what string
		dims []int
		f    func(x *Array) *Array
		want float64
		most int // the largest array
	}{
		{"no loop", []int{100, 4}, sin, 0, 400},
		{"a short axis", []int{100, 4}, loop(sin), 1, 400},
		{"a long axis", []int{4, 100}, loop(sin), 0, 400},
		{"nothing but a few", []int{4, 4}, loop(sin), 0, 16},
		{"batch first", []int{1000, 6}, VMap(loop(func(x *Array) *Array {
			return Add(x, CumSum(Sin(x), 0))
		})), 1, 6000},
		{"a large product", []int{100, 4}, loop(func(x *Array) *Array {
			return Dot(Sin(Dot(x, Ones(ShapeOf(Float32, 4, 64)))), Ones(ShapeOf(Float32, 64, 4)))
		}), 0, 6400},
		{"loops in loops", []int{100, 4}, loop(loop(sin)), 1, 400},
	} {
		p, err := Trace(c.what, c.f, Abstract(ShapeOf(Float32, c.dims...)))
		require.NoError(t, err)
		require.InDelta(t, c.want, Measure(p.Graph, TargetCPU).ShortLoops, .01, "case %d: %s", i+1, c.what)
		require.Equal(t, c.most, Measure(p.Graph, TargetCPU).LargestArray, "case %d: %s", i+1, c.what)
	}
}

func TestGrain(t *testing.T) {
	neg := func(x *Array) *Array { return Neg(x) }
	steps := func(n int, f func(x *Array) *Array) func(x *Array) *Array {
		return func(x *Array) *Array {
			e, _ := Scan(func(x *Array, _ None) (*Array, None) { return f(x), None{} }, x, None{}, Length(n))
			return e
		}
	}
	for i, c := range []struct {
		what        string
		dims        []int
		f           func(x *Array) *Array
		grain, work float64
	}{
		{"one op", []int{100, 4}, neg, 400, 400},
		{"no op", []int{100, 4}, func(x *Array) *Array { return x }, 0, 0},
		{"no elements", []int{0, 4}, neg, 0, 0},
		{"a reduction works on what it reads", []int{100}, func(x *Array) *Array { return Sum(x) }, 100, 100},
		{"a loop runs its ops at each step", []int{10}, steps(7, neg), 10, 70},
		{"loops in loops", []int{10}, steps(7, steps(3, neg)), 10, 210},
		{"the mean is by operations", []int{10}, func(x *Array) *Array {
			return Neg(BroadcastTo(steps(9, neg)(x), 3, 10))
		}, (90*10 + 30*30) / 120., 120},
		{"a product", []int{2, 3}, func(x *Array) *Array { return MatMul(x, Ones(ShapeOf(Float32, 3, 5))) }, 10, 60},
	} {
		p, err := Trace(c.what, c.f, Abstract(ShapeOf(Float32, c.dims...)))
		require.NoError(t, err)
		facts := Measure(p.Graph, TargetCPU)
		require.InDelta(t, c.work, facts.Work, .03*c.work, "case %d: %s", i+1, c.what) // a loop counts its turns, too
		require.InDelta(t, c.grain, facts.Grain, .1*c.grain, "case %d: %s", i+1, c.what)
	}
}

// What is done with loops goes by Op.Loop: an op of another name that is a loop is split, counted and weighed as While
// is.
func TestLoopsByAnotherName(t *testing.T) {
	other := *op("while")
	other.Name = "repeat"
	Table[other.Name] = &other
	defer delete(Table, other.Name)
	renamed := func(g *Graph) string { return strings.ReplaceAll(g.String(), "repeat", "while") }
	var rename func(g *Graph)
	rename = func(g *Graph) {
		for _, n := range g.Nodes {
			if n.Op.Name == "while" {
				n.Op = &other
			}
			for _, b := range n.Bodies {
				rename(b)
			}
		}
	}
	type state struct{ I, X *Array }
	repeat := func(step func(s state) *Array) func(x *Array) *Array {
		return func(x *Array) *Array {
			return While(func(s state) *Array {
				return Lt(s.I, 9)
			}, func(s state) state { return state{Add(s.I, 1), step(s)} },
				state{Scalar(0, Int32), x}).X
		}
	}
	for i, c := range []struct {
		description string
		dims        []int
		f           func(x *Array) *Array
		of          func(p *Program) any
	}{
		{"1: the carry is split", []int{2, 100}, repeat(func(s state) *Array {
			return Stack([]*Array{Add(Index(s.X, 0), Index(s.X, 1)), Mul(Index(s.X, 0), 2)}, 0)
		}), func(p *Program) any { return renamed(p.Traced.splitAxes()) }},
		{"2: what is computed in it is counted", []int{100, 4}, repeat(func(s state) *Array { return Sin(s.X) }),
			func(p *Program) any { return Measure(p.Graph, TargetCPU).ShortLoops }},
		{"3: a kernel's call is weighed against its step", []int{100, 20}, repeat(func(s state) *Array {
			return DynamicUpdateSlice(s.X, Ones(ShapeOf(Float32, 2, 19)), []*Array{s.I, Scalar(0, Int32)})
		}), func(p *Program) any { return renamed(lowerTo(p, "writes", TargetCPUKernels)) }},
	} {
		p, err := Trace("f", c.f, Abstract(ShapeOf(Float32, c.dims...)))
		require.NoError(t, err)
		want := c.of(p)
		rename(p.Graph)
		rename(p.Traced)
		require.Equal(t, want, c.of(p), "case %d %s", i+1, c.description)
		if i == 0 {
			require.NotEqual(t, renamed(p.Traced), want, "it is split")
		}
	}
}
