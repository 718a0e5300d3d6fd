package xlabridge

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"xlarun/graph"
	"xlarun/graph/linalg"
	"xlarun/internal/long"
)

// Factorisations mapped over a batch, with their gradients, and of matrices larger than the op table's: XLA gives what
// the interpreter gives. The long form also compiles the programs of targets without kernels, larger matrices, and what
// is made of another function.
func TestLinalgOnXLA(t *testing.T) {
	t.Parallel()
	far := func(x *graph.Array) *graph.Array { // eigenvalues and singular values well apart
		s := graph.ShapeOf(graph.Int32, x.Dims()...)
		row := graph.IotaAxis(s, 0)
		return graph.Add(x, graph.Select(graph.Eq(row, graph.IotaAxis(s, 1)), graph.Mul(graph.Add(row, 1), 3), 0))
	}
	positive := func(x *graph.Array) *graph.Array {
		return graph.Add(graph.MatMul(x, graph.MatrixTranspose(x)), graph.Eye(x.DType(), x.Dim(0)))
	}
	type results = []*graph.Array
	loss := func(f func(*graph.Array) results) func(*graph.Array) *graph.Array {
		return func(x *graph.Array) *graph.Array {
			total := graph.Zeros(graph.ShapeOf(x.DType()))
			for _, y := range f(x) {
				y = graph.Convert(y, x.DType())
				w := graph.Sin(graph.Convert(graph.Reshape(graph.Iota(y.Size()), y.Dims()...), y.DType()))
				total = graph.Add(total, graph.Sum(graph.Mul(graph.Square(y), w)))
			}
			return total
		}
	}
	functions := []struct {
		name   string
		square bool
		f      func(x *graph.Array) results
	}{
		{"cholesky", true, func(x *graph.Array) results { return results{linalg.Cholesky(positive(x))} }},
		{"qr", false, func(x *graph.Array) results { q, r := linalg.QR(x); return results{q, r} }},
		{"eigh", true, func(x *graph.Array) results { w, v := linalg.Eigh(far(x)); return results{w, v} }},
		{"eig", true, func(x *graph.Array) results {
			e := linalg.Eig(graph.Add(far(x), graph.Mul(4, graph.Sub(graph.Triu(x, 1), graph.Tril(x, -1)))))
			return results{e.Re, e.Im, e.VectorsRe, e.VectorsIm}
		}},
		{"svd", false, func(x *graph.Array) results { u, s, vt := linalg.SVD(far(x)); return results{u, s, vt} }},
		{"lu", true, func(x *graph.Array) results { lu, p, q := linalg.LU(far(x)); return results{lu, p, q} }},
		{"inverse", true, func(x *graph.Array) results { return results{linalg.Inv(far(x))} }},
		{"slogdet", true, func(x *graph.Array) results { s, l := linalg.SlogDet(far(x)); return results{s, l} }},
	}
	var calls []sample
	r := rand.New(rand.NewPCG(1, 2))
	for _, d := range []graph.DType{graph.Float32, graph.Float64} {
		draw := func(dims ...int) *graph.Array {
			return graph.Case{Lo: -1, Hi: 1}.Input(r, graph.ShapeOf(d, dims...))
		}
		for _, c := range functions {
			made := c.name == "inverse" || c.name == "slogdet" // of lu
			if (d == graph.Float32 || made) && !long.On() {
				continue
			}
			rows := 4
			if !c.square {
				rows = 5
			}
			in := draw(31, 31)
			f := c.f // large in float32, in a batch and with gradients in float64
			if d == graph.Float64 {
				in = draw(3, rows, 4)
				f = func(x *graph.Array) results {
					return append(graph.VMap(c.f)(x), graph.VMap(graph.Grad(loss(c.f)))(x))
				}
			}
			calls = append(calls, sample{fmt.Sprint(c.name, " ", d), func(in results) results { return f(in[0]) },
				results{in}})
		}
	}
	for _, kernels := range []graph.Kernels{graph.WithKernels, graph.NoKernels} {
		if kernels == graph.NoKernels && !long.On() {
			continue
		}
		client := open(t, Options{})
		client.target = client.Target()
		client.target.Kernels = min(client.target.Kernels, kernels)
		sameTogether(t, client, calls, 2, map[graph.DType]float64{graph.Float32: 2e-4, graph.Float64: 1e-11})
	}
}
