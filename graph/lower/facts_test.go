package lower

import (
	"strings"
	"testing"

	"xlarun/graph"

	"github.com/stretchr/testify/require"
)

func TestShortLoops(t *testing.T) {
	loop := func(f func(x *graph.Array) *graph.Array) func(x *graph.Array) *graph.Array {
		return func(x *graph.Array) *graph.Array {
			e, _ := graph.Scan(func(x *graph.Array, _ graph.None) (*graph.Array, graph.None) {
				return f(x),
					graph.None{}
			}, x, graph.None{}, graph.Length(3))
			return e
		}
	}
	sin := func(x *graph.Array) *graph.Array { return graph.Sin(x) }
	for i, c := range []struct {
		what string
		dims []int
		f    func(x *graph.Array) *graph.Array
		want float64
		most int // the largest array
	}{
		{"no loop", []int{100, 4}, sin, 0, 400},
		{"a short axis", []int{100, 4}, loop(sin), 1, 400},
		{"a long axis", []int{4, 100}, loop(sin), 0, 400},
		{"nothing but a few", []int{4, 4}, loop(sin), 0, 16},
		{"batch first", []int{1000, 6}, graph.VMap(loop(func(x *graph.Array) *graph.Array {
			return graph.Add(x, graph.CumSum(graph.Sin(x), 0))
		})), 1, 6000},
		{"a large product", []int{100, 4}, loop(func(x *graph.Array) *graph.Array {
			return graph.Dot(graph.Sin(graph.Dot(x, graph.Ones(graph.ShapeOf(graph.Float32, 4, 64)))),
				graph.Ones(graph.ShapeOf(graph.Float32, 64, 4)))
		}), 0, 6400},
		{"loops in loops", []int{100, 4}, loop(loop(sin)), 1, 400},
	} {
		p, err := graph.Trace(c.what, c.f, graph.Abstract(graph.ShapeOf(graph.Float32, c.dims...)))
		require.NoError(t, err)
		require.InDelta(t, c.want, Measure(p.Graph, graph.TargetCPU).ShortLoops, .01, "case %d: %s", i+1, c.what)
		require.Equal(t, c.most, Measure(p.Graph, graph.TargetCPU).LargestArray, "case %d: %s", i+1, c.what)
	}
}

func TestGrain(t *testing.T) {
	neg := func(x *graph.Array) *graph.Array { return graph.Neg(x) }
	steps := func(n int, f func(x *graph.Array) *graph.Array) func(x *graph.Array) *graph.Array {
		return func(x *graph.Array) *graph.Array {
			e, _ := graph.Scan(func(x *graph.Array, _ graph.None) (*graph.Array, graph.None) {
				return f(x),
					graph.None{}
			}, x, graph.None{}, graph.Length(n))
			return e
		}
	}
	for i, c := range []struct {
		what        string
		dims        []int
		f           func(x *graph.Array) *graph.Array
		grain, work float64
	}{
		{"one op", []int{100, 4}, neg, 400, 400},
		{"no op", []int{100, 4}, func(x *graph.Array) *graph.Array { return x }, 0, 0},
		{"no elements", []int{0, 4}, neg, 0, 0},
		{"a reduction works on what it reads", []int{100}, func(x *graph.Array) *graph.Array { return graph.Sum(x) },
			100, 100},
		{"a loop runs its ops at each step", []int{10}, steps(7, neg), 10, 70},
		{"loops in loops", []int{10}, steps(7, steps(3, neg)), 10, 210},
		{"the mean is by operations", []int{10}, func(x *graph.Array) *graph.Array {
			return graph.Neg(graph.BroadcastTo(steps(9, neg)(x), 3, 10))
		}, (90*10 + 30*30) / 120., 120},
		{"a product", []int{2, 3}, func(x *graph.Array) *graph.Array {
			return graph.MatMul(x, graph.Ones(graph.ShapeOf(graph.Float32, 3, 5)))
		}, 10, 60},
	} {
		p, err := graph.Trace(c.what, c.f, graph.Abstract(graph.ShapeOf(graph.Float32, c.dims...)))
		require.NoError(t, err)
		facts := Measure(p.Graph, graph.TargetCPU)
		require.InDelta(t, c.work, facts.Work, .03*c.work, "case %d: %s", i+1, c.what) // a loop counts all iterations
		require.InDelta(t, c.grain, facts.Grain, .1*c.grain, "case %d: %s", i+1, c.what)
	}
}

// What is done with loops goes by Op.Loop: an op of another name that is a loop is counted and weighed as While is.
func TestLoopsByAnotherName(t *testing.T) {
	other := *graph.Table["while"]
	other.Name = "repeat"
	graph.Table[other.Name] = &other
	defer delete(graph.Table, other.Name)
	renamed := func(g *graph.Graph) string { return strings.ReplaceAll(g.String(), "repeat", "while") }
	var rename func(g *graph.Graph)
	rename = func(g *graph.Graph) {
		for _, n := range g.Nodes {
			if n.Op.Name == "while" {
				n.Op = &other
			}
			for _, b := range n.Bodies {
				rename(b)
			}
		}
	}
	type state struct{ I, X *graph.Array }
	repeat := func(step func(s state) *graph.Array) func(x *graph.Array) *graph.Array {
		return func(x *graph.Array) *graph.Array {
			return graph.While(func(s state) *graph.Array {
				return graph.Lt(s.I, 9)
			}, func(s state) state { return state{graph.Add(s.I, 1), step(s)} },
				state{graph.Scalar(0, graph.Int32), x}).X
		}
	}
	for i, c := range []struct {
		description string
		dims        []int
		f           func(x *graph.Array) *graph.Array
		of          func(p *graph.Program) any
	}{
		{"what is computed in it is counted", []int{100, 4},
			repeat(func(s state) *graph.Array { return graph.Sin(s.X) }),
			func(p *graph.Program) any { return Measure(p.Graph, graph.TargetCPU).ShortLoops }},
		{"a kernel's call is weighed against its step", []int{100, 20}, repeat(func(s state) *graph.Array {
			return graph.DynamicUpdateSlice(s.X, graph.Ones(graph.ShapeOf(graph.Float32, 2, 19)),
				[]*graph.Array{s.I, graph.Scalar(0, graph.Int32)})
		}), func(p *graph.Program) any { return renamed(lowerTo(p, "writes", graph.TargetCPUKernels)) }},
	} {
		p, err := graph.Trace("f", c.f, graph.Abstract(graph.ShapeOf(graph.Float32, c.dims...)))
		require.NoError(t, err)
		want := c.of(p)
		rename(p.Graph)
		require.Equal(t, want, c.of(p), "case %d %s", i+1, c.description)
	}
}
