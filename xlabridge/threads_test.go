package xlabridge

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
)

// XLA's pool of threads has as many as there are cores, or devices if these are more. Results of large products do not
// depend on it. Those of a transposed operand, also behind other ops, of transposed results, of many terms, of batches
// and of complex numbers did: one of the compiler's libraries cuts a product into parts for the threads.
func TestProductsDoNotDependOnThreads(t *testing.T) {
	type operands struct{ X, Y *graph.Array }
	dot := func(spec string) func(o operands) *graph.Array {
		return func(o operands) *graph.Array { return graph.Einsum(spec, o.X, o.Y) }
	}
	turn := graph.MatrixTranspose
	type threaded struct {
		what string
		d    graph.DType
		x, y []int
		f    func(o operands) *graph.Array
	}
	cases := []threaded{
		{"straight", graph.Float32, []int{386, 132}, []int{132, 386}, dot("ij,jk->ik")},
		{"transposed operand", graph.Float32, []int{32, 386}, []int{32, 386}, func(o operands) *graph.Array {
			return turn(o.X).Add(1).Dot(o.Y)
		}},
		{"transposed result", graph.Float32, []int{386, 32}, []int{32, 386}, func(o operands) *graph.Array {
			return turn(o.X.Dot(o.Y)).Add(1)
		}},
		{"tanh of a transpose", graph.Float32, []int{32, 386}, []int{32, 386}, func(o operands) *graph.Array {
			return turn(o.X).Tanh().Dot(o.Y)
		}},
		{"quotient", graph.Float32, []int{64, 386}, []int{1}, func(o operands) *graph.Array {
			u := turn(o.X).Div(2.5)
			return u.Dot(turn(u))
		}},
		{"bias", graph.Float32, []int{32, 386}, []int{32, 386}, func(o operands) *graph.Array {
			return turn(o.X).Add(o.Y.Sum(1)).Dot(o.Y)
		}},
		{"vectorized", graph.Float32, []int{3, 32, 386}, []int{32, 386}, func(o operands) *graph.Array {
			return graph.VMap(func(x *graph.Array) *graph.Array { return turn(x).Add(1).Dot(o.Y) })(o.X)
		}},
		{"vectorized, both operands", graph.Float32, []int{3, 64, 256}, []int{3, 64, 100},
			graph.VMap(func(o operands) *graph.Array { return turn(o.X).Exp().Dot(o.Y) })},
		{"gradient", graph.Float32, []int{64, 386}, []int{64, 300}, func(o operands) *graph.Array {
			return graph.Grad(func(x *graph.Array) *graph.Array { return turn(x).Tanh().Dot(o.Y).Square().Mean() })(o.X)
		}},
		{"gradient, vectorized", graph.Float32, []int{2, 64, 128}, []int{2, 64, 100},
			graph.VMap(func(o operands) *graph.Array {
				return graph.Grad(func(x *graph.Array) *graph.Array { return turn(x).Add(1).Dot(o.Y).Tanh().Mean() })(o.X)
			})},
		{"transposed sum", graph.Float32, []int{386, 32}, []int{32, 386}, func(o operands) *graph.Array {
			return turn(o.X.Dot(o.Y).Add(1))
		}},
		{"transposed result, bfloat16", graph.BFloat16, []int{386, 32}, []int{32, 386}, func(o operands) *graph.Array {
			return turn(graph.Convert(o.X.Dot(o.Y), graph.Float32)).Mul(2)
		}},
		{"many terms", graph.Float32, []int{20000, 16}, []int{20000, 16}, dot("ji,jk->ik")},
		{"many terms, float64", graph.Float64, []int{20000, 16}, []int{20000, 16}, dot("ji,jk->ik")},
		{"many terms, bfloat16", graph.BFloat16, []int{20000, 16}, []int{20000, 16}, dot("ji,jk->ik")},
		{"float16", graph.Float16, []int{132, 386}, []int{132, 386}, dot("ji,jk->ik")},
		{"beside tiles", graph.Float32, []int{2000, 64}, []int{500, 64}, func(o operands) *graph.Array {
			w, _ := graph.Scan(func(w, x *graph.Array) (*graph.Array, graph.None) {
				return w.Sub(graph.Grad(func(w *graph.Array) *graph.Array {
					return x.Dot(w).Tanh().Dot(w).Square().Mean()
				})(w)), graph.None{}
			}, graph.Eye(graph.Float32, 64), o.Y.Reshape(5, 100, 64))
			return graph.Einsum("ij,kj->ik", o.X, o.Y).Add(w.Sum())
		}},
		{"batch", graph.Float32, []int{2, 256, 386}, []int{2, 256, 100}, dot("bji,bjk->bik")},
		{"complex", graph.Complex64, []int{4, 1000}, []int{1000, 1000}, dot("ij,jk->ik")},
		{"complex, many terms", graph.Complex64, []int{20000, 16}, []int{20000, 16}, dot("ji,jk->ik")},
	}
	r := rand.New(rand.NewPCG(5, 6))
	in := make([]operands, len(cases))
	for i, c := range cases {
		in[i] = operands{graph.Case{Lo: -5, Hi: 5}.Input(r, graph.ShapeOf(c.d, c.x...)),
			graph.Case{Lo: -5, Hi: 5}.Input(r, graph.ShapeOf(c.d, c.y...))}
	}
	tiled := slices.IndexFunc(cases, func(c threaded) bool { return c.what == "beside tiles" })
	all := func(in []operands) (out []*graph.Array) {
		for i, c := range cases {
			out = append(out, c.f(in[i]))
		}
		return out
	}
	for _, kernels := range []graph.Kernels{graph.WithKernels, graph.NoKernels} {
		var first [][]byte
		for _, of := range []struct{ cores, devices int }{{2, 1}, {1, 1}, {3, 1}, {33, 1}, {1, 2}, {1, 3}, {1, 4},
			{1, 8}} {
			t.Setenv("NPROC", fmt.Sprint(of.cores)) // the number of cores to XLA
			client := open(t, Options{Devices: of.devices})
			client.target = client.Target()
			client.target.Kernels = min(client.target.Kernels, kernels)
			out, err := Jit(client, all)(in)
			require.NoError(t, err)
			out[tiled], err = Jit(client, cases[tiled].f)(in[tiled]) // alone, its program has tiles
			require.NoError(t, err)
			for i, c := range cases {
				bytes := hostBytes(t, out[i])
				if len(first) == i {
					first = append(first, bytes)
				}
				require.True(t, string(first[i]) == string(bytes), "%s, kernels %v: %d cores and %d devices have "+
					"other numbers than two cores", c.what, kernels, of.cores, of.devices)
			}
		}
	}
}

func hostBytes(t *testing.T, x *graph.Array) []byte {
	data, err := x.Data()
	require.NoError(t, err)
	bytes, err := data.HostBytes()
	require.NoError(t, err)
	return bytes
}
