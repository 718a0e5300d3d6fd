package lower

import (
	"testing"

	"xlarun/graph"

	"github.com/stretchr/testify/require"
)

// Arrays with a border that slices read, and transposes that elementwise ops, loops and the caller read, are stored on
// CPUs with kernels: by concatenations, barriers and the kernel. Results are the same.
func TestStored(t *testing.T) {
	padded := func(x *graph.Array, low, high []int) (sum *graph.Array) {
		p := graph.Pad(x, 2., low, high)
		for axis := range low {
			for at := range low[axis] + high[axis] + 1 {
				start, limit := make([]int, len(low)), x.Dims()
				limit = append([]int{}, limit...)
				start[axis], limit[axis] = at, limit[axis]+at
				part := graph.Mul(graph.Slice(p, start, limit), float64(at+3*axis+1))
				if sum == nil {
					sum = part
				} else {
					sum = sum.Add(part)
				}
			}
		}
		return sum
	}
	rows := func(x *graph.Array) *graph.Array { return padded(x, []int{2, 0}, []int{1, 0}) }
	for _, c := range []struct {
		name     string
		dims     []int
		f        func(x *graph.Array) *graph.Array
		target   graph.Target
		op       string
		want     int // how often op stands in the lowered program
		integers bool
	}{
		{"a border along one axis", []int{64, 64}, rows, graph.TargetCPUKernels, "pad", 0, false},
		{"after the elements only", []int{2, 64, 64}, func(x *graph.Array) *graph.Array {
			return padded(x, []int{0, 0, 0}, []int{0, 0, 2})
		}, graph.TargetCPUKernels, "concatenate", 1, false},
		{"in a loop", []int{64, 64}, func(x *graph.Array) *graph.Array {
			return graph.ForiLoop(0, 2, func(_, x *graph.Array) *graph.Array { return rows(x).Mul(.125) }, x)
		}, graph.TargetCPUKernels, "concatenate", 1, false},
		{"along two axes", []int{64, 64}, func(x *graph.Array) *graph.Array {
			return padded(x.Mul(2), []int{1, 1}, []int{1, 1})
		}, graph.TargetCPUKernels, "optimization_barrier", 2, false},
		{"too few elements", []int{32, 64}, rows, graph.TargetCPUKernels, "pad", 1, false},
		{"short rows", []int{256, 16}, rows, graph.TargetCPUKernels, "pad", 1, false},
		{"read by other ops", []int{64, 64}, func(x *graph.Array) *graph.Array {
			return graph.Pad(x, 0., []int{1, 0}, []int{0, 0}).Mul(2)
		}, graph.TargetCPUKernels, "pad", 1, false},
		{"CPUs without kernels", []int{64, 64}, rows, graph.TargetCPU, "pad", 1, false},
		{"a GPU", []int{64, 64}, rows, graph.TargetCUDA, "pad", 1, false},

		{"a transpose", []int{132, 130}, func(x *graph.Array) *graph.Array {
			return graph.Transpose(x.Mul(2)).Add(1.)
		}, graph.TargetCPUKernels, "transpose", 0, false},
		{"of whole numbers", []int{2, 133, 150}, func(x *graph.Array) *graph.Array {
			return graph.Transpose(x, 0, 2, 1)
		}, graph.TargetCPUKernels, "custom_call", 1, true},
		{"the steps of a loop", []int{130, 132}, func(x *graph.Array) *graph.Array {
			sum, _ := graph.Scan(func(c, x *graph.Array) (*graph.Array, graph.None) {
				return c.Mul(.5).Add(x), graph.None{}
			}, graph.Zeros(graph.ShapeOf(graph.Float32, 130)), graph.Transpose(x))
			return sum
		}, graph.TargetCPUKernels, "transpose", 0, false},
		{"of a short axis", []int{4096, 4}, func(x *graph.Array) *graph.Array { return graph.Transpose(x) },
			graph.TargetCPUKernels, "transpose", 1, false},
		{"for a product", []int{160, 160}, func(x *graph.Array) *graph.Array {
			return graph.Dot(x, graph.Transpose(x))
		}, graph.TargetCPUKernels, "custom_call", 0, false},
		{"of small matrices", []int{4, 96, 96}, func(x *graph.Array) *graph.Array {
			return x.Add(graph.Transpose(x, 0, 2, 1))
		}, graph.TargetCPUKernels, "transpose", 1, false},
		{"no swap", []int{8, 16, 256}, func(x *graph.Array) *graph.Array { return graph.Transpose(x, 2, 1, 0) },
			graph.TargetCPUKernels, "transpose", 1, false},
		{"a transpose on CPUs without kernels", []int{132, 130}, func(x *graph.Array) *graph.Array {
			return graph.Transpose(x)
		}, graph.TargetCPU, "transpose", 1, false},

		{"a product that bools multiply", []int{64, 64}, func(x *graph.Array) *graph.Array {
			return graph.Convert(x.Gt(50.), graph.Float32).Mul(graph.Dot(x, x))
		}, graph.TargetCPUKernels, "reshape", 2, false},
		{"a product that floats multiply", []int{64, 64}, func(x *graph.Array) *graph.Array {
			return x.Mul(graph.Dot(x, x))
		}, graph.TargetCPUKernels, "reshape", 0, false},
	} {
		d := graph.Float32
		if c.integers {
			d = graph.Int32
		}
		p, err := graph.Trace("stored", c.f, graph.Abstract(graph.ShapeOf(d, c.dims...)))
		require.NoError(t, err, c.name)
		require.Equal(t, c.want, opsOf(t, c.target, p)[c.op], c.name)
		x := newTensor(p.Inputs[0])
		for k := range x.V {
			x.SetF(k, float64(k*37%101))
		}
		want, err := graph.Interpret(p.Graph, []*graph.Tensor{x}, nil)
		require.NoError(t, err, c.name)
		require.Equal(t, want[0].V, interpretLowered(t, c.target, p, x)[0].V, c.name)
	}
}
