package graph

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Short axes in pieces: values stay, and loops neither join nor cut where they need not.
func TestSplitAxes(t *testing.T) {
	steps := func(f func(x *Array) *Array) func(x *Array) *Array {
		return func(x *Array) *Array {
			e, _ := Scan(func(x *Array, _ None) (*Array, None) { return f(x), None{} }, x, None{}, Length(5))
			return e
		}
	}
	lorenz := func(s *Array) *Array {
		x, y, z := Index(s, 0), Index(s, 1), Index(s, 2)
		d := Stack([]*Array{Mul(10, Sub(y, x)), Sub(Mul(x, Sub(28, z)), y), Sub(Mul(x, y), Mul(8./3, z))}, 0)
		return Add(s, Mul(.01, d))
	}
	for i, c := range []struct {
		what string
		dims []int
		f    func(x *Array) *Array
		left int // concatenations that are left in loops
	}{
		{"a state vector", []int{3}, steps(lorenz), 0},
		{"under vmap", []int{4, 3}, VMap(steps(lorenz)), 0},
		{"under vmap, batch last", []int{4, 3}, VMap(steps(lorenz), BatchLast()), 0},
		{"under two vmaps", []int{2, 4, 3}, VMap(VMap(steps(lorenz))), 0},
		{"written with the population's axis", []int{4, 3}, steps(func(s *Array) *Array {
			x, y := IndexAxis(s, 1, 0), SliceAxis(s, 1, 1, 3)
			return Concatenate(1, ExpandDims(Sum(y, 1), 1), Mul(y, ExpandDims(Sin(x), 1)))
		}), 1}, // a piece of two elements is no single one, so only the first is cut
		{"loops in loops", []int{3}, steps(steps(lorenz)), 0},
		{"the length of a vector", []int{3}, steps(func(s *Array) *Array {
			return Div(lorenz(s), Sqrt(Sum(Square(s))))
		}), 0},
		{"its greatest element, and all of it", []int{4, 3}, VMap(steps(func(s *Array) *Array {
			d := lorenz(s)
			return Select(Gt(ReduceMax(d), 1), Dot(Eye(Float32, 3), d), d)
		})), 1}, // a product wants the whole, once, and gives it
		{"while", []int{3}, func(x *Array) *Array {
			type st struct{ I, X *Array }
			return While(func(s st) *Array {
				return Lt(Add(s.I, Index(s.X, 0)), 4)
			}, func(s st) st { return st{Add(s.I, 1), lorenz(s.X)} }, st{Scalar(0), x}).X
		}, 0},
		{"a while loop a lane", []int{4, 3}, VMap(func(x *Array) *Array {
			type st struct{ I, X *Array }
			return While(func(s st) *Array {
				return Lt(Add(s.I, Index(s.X, 0)), 4)
			}, func(s st) st { return st{Add(s.I, 1), lorenz(s.X)} }, st{Scalar(0), x}).X
		}), 0},
		{"a carry that changes sides", []int{2, 2}, steps(func(s *Array) *Array {
			a, b := Index(s, 0), Index(s, 1)
			return Transpose(Stack([]*Array{Add(a, b), Mul(a, .5)}, 0))
		}), 1},
		{"a gradient", []int{3}, Grad(func(x *Array) *Array { return Sum(steps(lorenz)(x)) }), 0},
		{"stacked outputs", []int{4, 3}, VMap(func(x *Array) *Array {
			_, ys := Scan(func(s *Array, _ None) (*Array, *Array) { s = lorenz(s); return s, s }, x, None{}, Length(4))
			return ys
		}), 1},
		{"scanned inputs", []int{5, 2}, func(x *Array) *Array {
			e, _ := Scan(func(c, x *Array) (*Array, None) {
				return Stack([]*Array{Add(Index(c, 1), Index(x, 0)), Mul(Index(c, 0), Index(x, 1))}, 0), None{}
			}, Ones(ShapeOf(Float32, 2)), x)
			return e
		}, 0},
		{"an axis too long", []int{mostPieces + 1}, steps(func(s *Array) *Array {
			return Concatenate(0, SliceAxis(s, 0, 0, mostPieces), ExpandDims(Sin(Index(s, 0)), 0))
		}), 1},
	} {
		name := fmt.Sprintf("case %d: %s", i+1, c.what)
		x := Case{}.Input(rand.New(rand.NewPCG(1, 2)), ShapeOf(Float32, c.dims...))
		p, err := Trace(c.what, c.f, x)
		require.NoError(t, err, name)
		require.NoError(t, p.Graph.Verify(), name)
		in, err := ToTensor(x)
		require.NoError(t, err)
		want, err := Interpret(p.Traced, []*Tensor{in}, nil)
		require.NoError(t, err, name)
		got, err := Interpret(p.Graph, []*Tensor{in}, nil)
		require.NoError(t, err, name)
		for k := range want[0].V {
			require.InDelta(t, want[0].F(k), got[0].F(k), 1e-4, name)
		}
		left := 0
		for _, n := range p.Graph.Nodes {
			for _, b := range n.Bodies {
				left += countOps(b, "concatenate")
			}
		}
		require.Equal(t, c.left, left, "%s:\n%s", name, p.Graph)
	}
}

// A loop by another name is split as While is: what is done with loops goes by Op.Loop.
func TestLoopsByAnotherNameAreSplit(t *testing.T) {
	other := *op("while")
	other.Name = "repeat"
	Table[other.Name] = &other
	defer delete(Table, other.Name)
	type state struct{ I, X *Array }
	p, err := Trace("f", func(x *Array) *Array {
		return While(func(s state) *Array { return Lt(s.I, 9) }, func(s state) state {
			return state{Add(s.I, 1), Stack([]*Array{Add(Index(s.X, 0), Index(s.X, 1)), Mul(Index(s.X, 0), 2)}, 0)}
		}, state{Scalar(0, Int32), x}).X
	}, Abstract(ShapeOf(Float32, 2, 100)))
	require.NoError(t, err)
	split := func() string { return strings.ReplaceAll(p.Traced.splitAxes().String(), "repeat", "while") }
	want := split()
	require.NotEqual(t, p.Traced.String(), want, "it is split")
	for _, n := range p.Traced.Nodes {
		if n.Op.Name == "while" {
			n.Op = &other
		}
	}
	require.Equal(t, want, split())
}
