package graph

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// learning is a program like a learner's: a loop of products, and between two sorts for which there is no kernel some
// operations that need neither, one or both.
func learning(x *Array) []*Array {
	several := func(x *Array) *Array { // operations that a function is worth
		for range 4 {
			x = Add(Mul(Sin(x), .5), Mul(x, .25))
		}
		return x
	}
	loop := func(x *Array) *Array {
		y, _ := Scan(func(c *Array, _ None) (*Array, None) {
			return Sin(Mul(Dot(c, x), .1)), None{}
		}, x, None{}, Length(3))
		return y
	}
	zero := Zeros(x.Shape()) // cheap: every function makes it for itself
	before := several(Add(x, zero))
	sorted := sortByTwo(before, 0)
	between := loop(several(Add(sorted, zero)))
	again := sortByTwo(between, 1)
	after := several(Add(again, Mul(before, sorted)))
	return []*Array{after, before, zero, Sum(again)}
}

// What lies between calls of the runtime's is functions: of a program, and of a loop with such calls; what is too
// little stays as it is.
func TestFunctions(t *testing.T) {
	const n = 20
	shape := ShapeOf(Float32, n, n)
	for _, c := range []struct {
		description string
		f           func(x *Array) []*Array
		functions   int
	}{
		{"1: three stages", learning, 3},
		{"2: three stages in a loop that no function can be, which begins with little", func(x *Array) []*Array {
			y, _ := Scan(func(c *Array, _ None) (*Array, None) { return learning(c)[0], None{} }, x, None{}, Length(2))
			return []*Array{y}
		}, 3},
		{"3: no loop of products", func(x *Array) []*Array {
			return []*Array{sortByTwo(Sin(Cos(Sin(Cos(Sin(Cos(Sin(Cos(Sin(x))))))))), 0)}
		}, 0},
		{"4: a loop of products and little else", func(x *Array) []*Array {
			y, _ := Scan(func(c *Array, _ None) (*Array, None) { return Sin(Dot(c, x)), None{} }, x, None{}, Length(3))
			return []*Array{y}
		}, 0},
	} {
		p, err := Trace("learning", c.f, Abstract(shape))
		require.NoError(t, err)
		l, err := Lower(p, TargetCPUKernels)
		require.NoError(t, err)
		require.NoError(t, l.Graph.Verify())
		functions := 0
		l.Graph.Any(func(n *Node) bool {
			if n.Op.Name == "function" {
				functions++
				require.False(t, n.Bodies[0].Any((&functionsPass{}).outside), "case %s", c.description)
			}
			return false
		})
		require.Equal(t, c.functions, functions, "case %s: %s", c.description, l.Graph)
		r := rand.New(rand.NewPCG(1, 2))
		checkPasses(t, p, []*Tensor{randomTensor(r, shape, -1, 1)}, 1e-4)
		for _, target := range []Target{TargetCPU, TargetCUDA} {
			l, err := Lower(p, target)
			require.NoError(t, err)
			require.False(t, l.Graph.Uses("function"), "case %s, for %s", c.description, target)
		}
	}
}
