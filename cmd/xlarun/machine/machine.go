// Package machine measures the speed of the machine and the age of the process.
package machine

import (
	"slices"
	"time"

	"xlarun/graph"
	"xlarun/xlabridge"
)

// Speed is the speed of all devices together on two small programs. Reports show it beside the speed of other programs.
type Speed struct {
	MatmulGFLOPs float64 `json:"matmul_gflops_per_second"` // product of two square float32 matrices
	MemoryGBs    float64 `json:"memory_gb_per_second"`     // read and written, arrays larger than the caches
}

// sizes holds the sizes of the two programs.
type sizes struct {
	matrix  int // rows and columns
	product int // products in a call
	array   int // float32 elements on a device
}

func sizesFor(backend string, devices int) sizes {
	switch backend {
	case "reference":
		return sizes{matrix: 32, product: 1, array: 1 << 14}
	case "cpu": // at most 1 GiB together, and more than a core's share of the caches
		return sizes{matrix: 512, product: 8, array: max(8<<20, min(32<<20, (256<<20)/devices))}
	}
	return sizes{matrix: 4096, product: 8, array: 256 << 20}
}

// repeats is the number of timed calls. The result is their median.
const repeats = 5

// Measure runs the two programs on the first devices at the same time.
func Measure(b xlabridge.Backend, devices int) (speed Speed, err error) {
	size := sizesFor(b.Backend(), devices)
	n := size.matrix
	square := graph.ShapeOf(graph.Float32, n, n)
	seconds, err := timeProgram(b, devices, "matmul of the machine", square, func(x *graph.Array) *graph.Array {
		ones := graph.Barrier(graph.Full(square, 1))[0]
		x, _ = graph.Scan(func(x, _ *graph.Array) (*graph.Array, graph.None) {
			return graph.Mul(graph.Dot(ones, x), 1/float64(n)), graph.None{}
		}, x, graph.Iota(size.product))
		return x
	})
	if err != nil {
		return speed, err
	}
	speed.MatmulGFLOPs = 2 * float64(n) * float64(n) * float64(n) * float64(size.product*devices) / seconds / 1e9
	seconds, err = timeProgram(b, devices, "memory of the machine", graph.ShapeOf(graph.Float32, size.array),
		func(x *graph.Array) *graph.Array {
			return graph.Add(graph.Mul(x, .5), .5)
		})
	speed.MemoryGBs = 2 * 4 * float64(size.array) * float64(devices) / seconds / 1e9
	return speed, err
}

// timeProgram compiles f, which maps a shape to itself, for all devices, and returns the median time of calls in place.
func timeProgram(b xlabridge.Backend, devices int, name string, shape graph.Shape,
	f func(*graph.Array) *graph.Array) (float64, error) {
	options := xlabridge.CompileOptions{Purpose: "calibration"}
	replicas := graph.TraceOptions{Replicas: devices}
	p, err := graph.TraceArgs(name+": start", []any{graph.Scalar(1)}, replicas, func(a []any) any {
		return graph.BroadcastTo(a[0].(*graph.Array), shape.Dims...)
	})
	if err != nil {
		return 0, err
	}
	start, err := b.Compile(p, options)
	if err != nil {
		return 0, err
	}
	defer func() { _ = start.Close() }()
	x, err := start.Call([]*graph.Array{graph.Scalar(1)})
	if err != nil {
		return 0, err
	}
	replicas.Donate = []int{0}
	if p, err = graph.TraceArgs(name, []any{x[0]}, replicas, func(a []any) any {
		return f(a[0].(*graph.Array))
	}); err != nil {
		return 0, err
	}
	program, err := b.Compile(p, options)
	if err != nil {
		return 0, err
	}
	defer func() { _ = program.Close() }()
	var seconds []float64
	for i := range 1 + repeats {
		start := time.Now()
		if x, err = program.Call(x); err != nil {
			return 0, err
		}
		if i > 0 {
			seconds = append(seconds, time.Since(start).Seconds())
		}
	}
	xlabridge.Free(x)
	return Median(seconds), nil
}

// Median returns the median of one or more numbers.
func Median(x []float64) float64 {
	s := slices.Sorted(slices.Values(x))
	n := len(s)
	if n%2 == 1 {
		return s[n/2]
	}
	return (s[n/2-1] + s[n/2]) / 2
}
