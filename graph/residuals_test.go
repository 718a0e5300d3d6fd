package graph

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// scans lists the scan nodes of a graph, in order.
func scans(g *Graph) []*Node {
	var out []*Node
	for _, n := range g.Nodes {
		if n.Op.Name == "scan" {
			out = append(out, n)
		}
	}
	return out
}

func countOps(g *Graph, name string) (count int) {
	g.Any(func(n *Node) bool {
		if n.Op.Name == name {
			count++
		}
		return false
	})
	return count
}

func TestCheapOpsAreOps(t *testing.T) {
	for name := range cheapOps {
		require.Contains(t, Table, name)
	}
}

// gatedStep is a recurrent step with a gate: what its derivative needs is cheap to make from few values.
func gatedStep(w *Array) func(h, x *Array) (*Array, *Array) {
	return func(h, x *Array) (*Array, *Array) {
		parts := Split(Add(Dot(h, w), x), 2, -1)
		z := Logistic(parts[0])
		h = Add(Mul(Sub(1, z), Tanh(parts[1])), Mul(z, h))
		return h, h
	}
}

func gatedLoss(p [2]*Array) *Array {
	_, hs := Scan(gatedStep(p[0]), Zeros(ShapeOf(Float32, 2, 3)), p[1])
	return Sum(Square(hs))
}

var gatedInputs = [2]*Array{Abstract(ShapeOf(Float32, 3, 6)), Abstract(ShapeOf(Float32, 5, 2, 6))}

func TestLoopKeepsWhatIsNotCheap(t *testing.T) {
	p, err := Trace("gated", Grad(gatedLoss), gatedInputs)
	require.NoError(t, err)
	require.NoError(t, p.Graph.Verify())
	loops := scans(p.Graph)
	require.Len(t, loops, 2)
	a := loops[0].Attrs.(scanAttrs)
	// h as output, h before the step, the gate and the tanh; not 1-z, z(1-z), 1-tanh^2 and their like.
	require.Len(t, loops[0].Outs[a.Carry:], 4, p.Graph.String())
}

// An output that the derivative needs is stacked once.
func TestLoopKeepsOutputsOnce(t *testing.T) {
	f := func(x *Array) *Array {
		_, ys := Scan(func(c, x *Array) (*Array, *Array) {
			y := Exp(Mul(c, x))
			return y, y
		}, Of(float32(1)), x)
		return Sum(ys)
	}
	p, err := Trace("exp", Grad(f), Abstract(ShapeOf(Float32, 4)))
	require.NoError(t, err)
	loop := scans(p.Graph)[0]
	require.Len(t, loop.Outs[loop.Attrs.(scanAttrs).Carry:], 2, "the output and the carry before the step:\n%s",
		p.Graph)
}

// A mask and what it masks come from one value.
func TestLoopKeepsACommonSource(t *testing.T) {
	f := func(x *Array) *Array {
		_, ys := Scan(func(c, x *Array) (*Array, *Array) {
			s := Sin(Add(c, x))
			y := Select(Le(s, 0), 0, s)
			return c, Mul(y, y)
		}, Of(float32(1)), x)
		return Sum(ys)
	}
	p, err := Trace("relu", Grad(f), Abstract(ShapeOf(Float32, 4)))
	require.NoError(t, err)
	loop := scans(p.Graph)[0]
	for _, o := range loop.Outs {
		require.NotEqual(t, Bool, o.DType(), "%s", p.Graph)
	}
}

// The gradient of weights is one product over all steps, not a sum carried through the loop.
func TestWeightGradientsAreSummedBehindTheLoop(t *testing.T) {
	p, err := Trace("gated", Grad(gatedLoss), gatedInputs)
	require.NoError(t, err)
	back := scans(p.Graph)[1]
	for _, o := range back.Outs[:back.Attrs.(scanAttrs).Carry] {
		require.NotEqual(t, gatedInputs[0].Dims(), o.Dims(), "%s", p.Graph)
	}
	products := 0
	for _, n := range p.Graph.Nodes {
		if n.Op.Name == "dot_general" && len(n.Attrs.(dotAttrs).LeftContract) == 2 {
			products++
		}
	}
	require.Equal(t, 1, products, "%s", p.Graph)

	// The same by hand, step by step.
	w := Sin(Reshape(Iota(18), 3, 6))
	x := Cos(Reshape(Iota(60), 5, 2, 6))
	looped := Grad(gatedLoss)([2]*Array{w, x})
	unrolled := Grad(func(p [2]*Array) *Array {
		step, h := gatedStep(p[0]), Zeros(ShapeOf(Float32, 2, 3))
		loss := Of(float32(0))
		for i := range 5 {
			var y *Array
			h, y = step(h, Index(p[1], i))
			loss = Add(loss, Sum(Square(y)))
		}
		return loss
	})([2]*Array{w, x})
	for i := range looped {
		near(t, tensorOf(t, unrolled[i]), tensorOf(t, looped[i]), 1e-5)
	}
}

func tensorOf(t *testing.T, a *Array) *Tensor {
	t.Helper()
	x, err := ToTensor(a)
	require.NoError(t, err)
	return x
}

// The gradient of pieces is their concatenation, in whatever order they were used, and with gaps a sum of paddings.
func TestPiecesAreJoined(t *testing.T) {
	for _, c := range []struct {
		name        string
		used        []int
		pads, joins int
	}{{"in order", []int{0, 1, 2, 3}, 0, 1}, {"backwards", []int{3, 2, 1, 0}, 0, 1}, {"any order", []int{2, 0, 3, 1}, 0,
		1},
		{"an end missing", []int{1, 0, 2}, 1, 1}, {"a gap", []int{0, 3}, 2, 0}, {"one", []int{2}, 1, 0}} {
		f := func(x *Array) *Array {
			parts := Split(x, 4, 1)
			sum := Of(float32(0))
			for i, k := range c.used {
				sum = Add(sum, Sum(Mul(Sin(parts[k]), i+1)))
			}
			return sum
		}
		p, err := Trace("pieces", Grad(f), Abstract(ShapeOf(Float32, 2, 8)))
		require.NoError(t, err)
		require.NoError(t, p.Graph.Verify())
		require.Equal(t, c.pads, countOps(p.Graph, "pad"), "%s: %s", c.name, p.Graph)
		require.Equal(t, c.joins, countOps(p.Graph, "concatenate"), "%s: %s", c.name, p.Graph)
		x := Sin(Reshape(Iota(16), 2, 8))
		got := tensorOf(t, Grad(f)(x))
		for i := range got.V {
			want := 0.0
			for n, k := range c.used {
				if i%8/2 == k {
					want = float64(n+1) * tensorOf(t, Cos(x)).F(i)
				}
			}
			require.InDelta(t, want, got.F(i), 1e-6, c.name)
		}
	}
}
