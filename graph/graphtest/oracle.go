package graphtest

import (
	"fmt"
	"math"
	"testing"

	"github.com/gomlx/compute/dtypes"

	"xlarun/graph"
	"xlarun/third_party/oracles"
)

// FromOracle is an array of a file of test vectors.
func FromOracle(a oracles.Array) *graph.Array {
	return graph.FromBytes(graph.ShapeOf(dtypes.MapOfNames[a.DType], a.Shape...), a.Data)
}

// Tolerance is how far an element may be from the one that is wanted: a number, a share of its size, and a share of the
// size of the largest element. The zero value wants the same bits, or NaN for NaN.
type Tolerance struct{ Abs, Rel, Largest float64 }

// Both is a tolerance relative and absolute: by (1 + |x|).
func Both(by float64) Tolerance { return Tolerance{Abs: by, Rel: by} }

// Same fails the test unless two arrays have one shape, and each element is as near as tolerated. NaN is NaN, an
// infinity only itself.
func Same(t testing.TB, want, got *graph.Array, by Tolerance, msg ...any) {
	t.Helper()
	w, err := graph.ToTensor(want)
	if err != nil {
		t.Fatal(err)
	}
	g, err := graph.ToTensor(got)
	if err != nil {
		t.Fatal(err)
	}
	if !w.Shape.Equal(g.Shape) {
		t.Fatalf("got %s, want %s: %s", g.Shape, w.Shape, fmt.Sprint(msg...))
	}
	parts := func(t *graph.Tensor, i int) [2]float64 {
		if t.Shape.DType == graph.Complex64 {
			return [2]float64{real(t.C(i)), imag(t.C(i))}
		}
		return [2]float64{t.F(i)}
	}
	largest := 0.
	for i := range w.V {
		for _, x := range parts(w, i) {
			if size := math.Abs(x); !math.IsInf(size, 0) && size > largest {
				largest = size
			}
		}
	}
	for i := range w.V {
		for k, x := range parts(w, i) {
			y := parts(g, i)[k]
			room := by.Abs + by.Rel*math.Abs(x) + by.Largest*largest
			switch {
			case w.V[i] == g.V[i] || math.IsNaN(x) && math.IsNaN(y) || room > 0 && x == y:
			case math.IsInf(x, 0) || room == 0 || !(math.Abs(x-y) <= room):
				t.Errorf("element %d is %v, want %v: %s", i, y, x, fmt.Sprint(msg...))
			}
		}
	}
}

// Weighted is sum(x * cos(0, 1, 2, …)), whose gradients the scripts in third_party/oracles write.
func Weighted(x *graph.Array) *graph.Array {
	weights := graph.Iota(x.Size()).Convert(graph.Float32).Cos()
	return x.Mul(weights.Reshape(x.Dims()...)).Sum()
}
