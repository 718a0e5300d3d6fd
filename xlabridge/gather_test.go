package xlabridge

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/graph/lower"
	"xlarun/internal/long"
)

// gathers are programs whose devices gather in all kinds of places.
var gathers = []struct {
	name string
	f    func(x *graph.Array) *graph.Array // of a device's part, f32[4, 3]
}{
	{"independent", func(x *graph.Array) *graph.Array {
		a, b := graph.AllGather(graph.Sin(x), "d"), graph.AllGather(graph.Cos(graph.Sum(x, 0)), "d")
		return graph.Add(graph.Mul(x, graph.Sum(graph.Square(a))), graph.Sum(b))
	}},
	{"dtypes", func(x *graph.Array) *graph.Array {
		sum := graph.Zeros(x.Shape())
		for _, d := range []graph.DType{graph.Bool, graph.Int8, graph.Uint16, graph.Float16, graph.BFloat16,
			graph.Int32, graph.Float64, graph.Int64} {
			all := graph.AllGather(graph.Convert(graph.Round(graph.Mul(x, 3)), d), "d")
			sum = graph.Add(sum, graph.Sum(graph.Convert(all, graph.Float32), 0))
		}
		return sum
	}},
	{"empty and alone", func(x *graph.Array) *graph.Array {
		none := graph.AllGather(graph.SliceAxis(x, 0, 0, 0), "d")
		return graph.Add(
			x, graph.Add(graph.Sum(none), graph.Sum(graph.AllGather(graph.Index(graph.Index(x, 0), 0), "d"))))
	}},
	{"in a loop, and around it", func(x *graph.Array) *graph.Array {
		before := graph.Sum(graph.AllGather(graph.Sin(x), "d"))
		y, _ := graph.Scan(func(x *graph.Array, i *graph.Array) (*graph.Array, graph.None) {
			fixed := graph.Sum(graph.AllGather(graph.Square(before), "d")) // the same in all iterations
			return graph.Mul(
					.3, graph.Add(graph.Sin(graph.Add(graph.Mean(graph.AllGather(x, "d"), 0), graph.Mul(fixed, .01))),
						x)),
				graph.None{}
		}, x, graph.Iota(17))
		after := graph.Sum(graph.AllGather(graph.Cos(x), "d")) // does not depend on the loop
		return graph.Add(y, graph.Add(before, after))
	}},
	{"loops in loops, in branches", func(x *graph.Array) *graph.Array {
		inner := func(x *graph.Array) *graph.Array {
			y, _ := graph.Scan(func(x, _ *graph.Array) (*graph.Array, graph.None) {
				return graph.Sin(graph.Mean(graph.AllGather(x, "d"), 0)), graph.None{}
			}, x, graph.Iota(3))
			return y
		}
		y, _ := graph.Scan(func(x, i *graph.Array) (*graph.Array, graph.None) {
			x = graph.Cond(graph.Gt(i, 1), func() *graph.Array { return inner(x) },
				func() *graph.Array { return graph.Mul(x, .3) })
			return graph.Add(x, graph.Mul(.1, inner(graph.Cos(x)))), graph.None{}
		}, x, graph.Iota(5))
		return graph.Add(y, inner(x))
	}},
	{"both branches", func(x *graph.Array) *graph.Array {
		s := graph.Sum(graph.AllGather(graph.Sin(x), "d"))
		return graph.Cond(graph.Gt(s, 0), func() *graph.Array { return graph.Sum(graph.AllGather(x, "d"), 0) },
			func() *graph.Array { return graph.Mean(graph.AllGather(graph.Cos(x), "d"), 0) })
	}},
	{"condition and body", func(x *graph.Array) *graph.Array {
		return graph.While(func(x *graph.Array) *graph.Array {
			return graph.Gt(graph.Sum(graph.Abs(graph.AllGather(x, "d"))), 1)
		}, func(x *graph.Array) *graph.Array {
			return graph.Mul(.4, graph.Sin(graph.Mean(graph.AllGather(x, "d"), 0)))
		}, x)
	}},
	{"a condition of lanes", func(x *graph.Array) *graph.Array {
		return graph.VMap(func(row *graph.Array) *graph.Array {
			return graph.While(func(x *graph.Array) *graph.Array {
				return graph.Gt(graph.Sum(graph.Abs(graph.AllGather(x, "d"))), 1)
			}, func(x *graph.Array) *graph.Array { return graph.Mul(.4, graph.Sin(x)) }, row)
		})(x)
	}},
	{"one iteration", func(x *graph.Array) *graph.Array {
		y, _ := graph.Scan(func(x, _ *graph.Array) (*graph.Array, graph.None) {
			return graph.Sum(graph.AllGather(x, "d"), 0), graph.None{}
		}, x, graph.Iota(1))
		return graph.Add(y, graph.Sum(graph.AllGather(graph.Sin(x), "d"), 0))
	}},
}

func manyParts(n int) *graph.Array {
	return graph.Sin(graph.Mul(graph.Reshape(graph.Convert(graph.Iota(n*12), graph.Float32), n*4, 3), 1.7))
}

// The gather kernel gives the results of the interpreter, in which devices are lanes, call after call. Every third is
// one program. The short form takes another number of devices for each program.
func TestGatherKernel(t *testing.T) {
	t.Parallel()
	client := open(t, Options{Devices: 8})
	cut := graph.Spec{"d"}
	for first := range 3 {
		for k, n := range []int{2, 3, 8} {
			if first != k && !long.On() {
				continue
			}
			m := graph.Mesh{{Name: "d", Size: n}}
			f := func(x *graph.Array) (out []*graph.Array) {
				for i := first; i < len(gathers); i += 3 {
					out = append(out, gathers[i].f(x))
				}
				return out
			}
			want, err := Jit(&Reference{}, graph.ShardMap(f, m, cut, cut))(manyParts(n))
			require.NoError(t, err)
			run := ShardMap(client, f, m, cut, cut)
			for range 20 {
				got, err := run(manyParts(n))
				require.NoError(t, err)
				for i := range want {
					closeArrays(t, want[i], got[i], 1e-4, fmt.Sprintf("%s on %d devices", gathers[first+3*i].name, n))
				}
			}
		}
	}
}

// A program with other collectives uses the compiler's all-gather: the kernel and XLA's collectives have no common
// order.
func TestGatherKernelIsAloneInAProgram(t *testing.T) {
	text := func(devices int, f func(x *graph.Array) *graph.Array) string {
		p, err := graph.TraceArgs("meet", []any{graph.Abstract(graph.ShapeOf(graph.Float32, 4, 3))}, graph.TraceOptions{
			Mesh: graph.Mesh{{Name: "d", Size: devices}}}, func(a []any) any {
			return f(a[0].(*graph.Array))
		})
		require.NoError(t, err)
		l, err := lower.Lower(p, graph.TargetCPUKernels)
		require.NoError(t, err)
		return l.StableHLO
	}
	for _, c := range gathers {
		all := text(4, c.f)
		require.Contains(t, all, "xlarun_gather", c.name)
		require.NotContains(t, all, "stablehlo.all_gather", c.name)
		require.NotContains(t, text(1, c.f), "xlarun_gather", c.name)
		mixed := text(4, func(x *graph.Array) *graph.Array { return graph.Add(graph.PSum(x, "d"), c.f(x)) })
		require.NotContains(t, mixed, "xlarun_gather", c.name)
		require.Contains(t, mixed, "stablehlo.all_gather", c.name)
	}
	require.Equal(t, 1, strings.Count(text(2, gathers[3].f), "xlarun_after"),
		"the loop waits for what is gathered before it")
}

// Runs of several programs at a time, of one client and of two, do not gather from each other.
func TestConcurrentGathers(t *testing.T) {
	cut := graph.Spec{"d"}
	var all sync.WaitGroup
	for range 2 {
		client := open(t, Options{Devices: 3})
		for i, c := range gathers[3:5] {
			n := 2 + i
			m := graph.Mesh{{Name: "d", Size: n}}
			want, err := Jit(&Reference{}, graph.ShardMap(c.f, m, cut, cut))(manyParts(n))
			require.NoError(t, err)
			f := ShardMap(client, c.f, m, cut, cut)
			for range 2 {
				all.Go(func() {
					for range 25 {
						got, err := f(manyParts(n))
						if err != nil {
							t.Error(err)
							return
						}
						closeArrays(t, want, got, 1e-4, c.name)
					}
				})
			}
		}
	}
	all.Wait()
}

// If one device fails, the others do not wait for it: the call returns with the reason, and so do the next ones.
func TestGatherAfterAFailure(t *testing.T) {
	client := open(t, Options{Devices: 3})
	m := graph.Mesh{{Name: "d", Size: 3}}
	cut := graph.Spec{"d"}
	graph.RegisterCallback("gather_test: device 1 fails", func(first []*graph.Tensor) {
		if first[0].F(0) == 12 { // of the second device's part
			panic("device 1 goes no further")
		}
	})
	f := ShardMap(client, func(x *graph.Array) *graph.Array {
		graph.Callback("gather_test: device 1 fails", graph.Index(graph.Index(x, 0), 0))
		z, _ := graph.Scan(func(x, _ *graph.Array) (*graph.Array, graph.None) {
			return graph.Mean(graph.AllGather(x, "d"), 0), graph.None{}
		}, x, graph.Iota(5))
		return z
	}, m, cut, cut)
	parts := graph.Reshape(graph.Convert(graph.Iota(36), graph.Float32), 12, 3)
	for range 3 { // a panic of a callback passes through
		func() {
			defer func() { require.Contains(t, fmt.Sprint(recover()), "device 1 goes no further") }()
			_, _ = f(parts)
		}()
	}
	parts = graph.Add(parts, .5)
	_, err := f(parts)
	require.NoError(t, err)
}
