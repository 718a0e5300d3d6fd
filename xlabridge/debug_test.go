package xlabridge

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
)

// printed runs f and gives the lines that it printed, sorted: their order is not fixed.
func printed(t *testing.T, f func() error) []string {
	t.Helper()
	var b strings.Builder
	old := graph.SetDebugOutput(&b)
	defer graph.SetDebugOutput(old)
	require.NoError(t, f())
	lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
	slices.Sort(lines)
	if lines[0] == "" {
		lines = lines[1:]
	}
	return lines
}

// Debugf prints on the interpreter and on XLA, from a program of the cache too: for each lane, each step and the branch
// that is taken, once under Grad, and where nothing of a loop is used but what it prints. All cases are one program.
func TestDebugf(t *testing.T) {
	x := graph.Float32s([]float32{1, 2, 3})
	show := func(name string) func(x *graph.Array) *graph.Array {
		return func(x *graph.Array) *graph.Array {
			graph.Debugf(name+" %.1f", x)
			return graph.Square(x)
		}
	}
	cases := []struct {
		f    func(x *graph.Array) *graph.Array
		want []string
	}{
		{func(x *graph.Array) *graph.Array {
			graph.Debugf("row %v of %d", x, graph.Of(7))
			return x
		}, []string{"row {1 2 3} of 7"}},
		{graph.VMap(show("lane")), []string{"lane 1.0", "lane 2.0", "lane 3.0"}},
		{func(x *graph.Array) *graph.Array {
			return graph.VMap(func(a *graph.Array) *graph.Array {
				return graph.VMap(func(b *graph.Array) *graph.Array {
					graph.Debugf("lane of lanes %v %v", a, b)
					return b
				})(graph.SliceAxis(x, 0, 0, 2))
			})(graph.SliceAxis(x, 0, 1, 3))
		}, []string{"lane of lanes 2 1", "lane of lanes 2 2", "lane of lanes 3 1", "lane of lanes 3 2"}},
		{func(x *graph.Array) *graph.Array {
			return graph.Map(show("step"), x)
		}, []string{"step 1.0", "step 2.0", "step 3.0"}},
		{func(x *graph.Array) *graph.Array {
			graph.Map(show("step whose result nobody uses"), x)
			return x
		}, []string{"step whose result nobody uses 1.0", "step whose result nobody uses 2.0",
			"step whose result nobody uses 3.0"}},
		{graph.VMap(graph.Grad(show("gradient"))), []string{"gradient 1.0", "gradient 2.0", "gradient 3.0"}},
		{graph.Grad(func(x *graph.Array) *graph.Array {
			return graph.Sum(graph.Map(show("gradient through step"), x))
		}), []string{"gradient through step 1.0", "gradient through step 2.0", "gradient through step 3.0"}},
		{func(x *graph.Array) *graph.Array {
			return graph.Cond(graph.Gt(graph.Sum(x), 5), func() *graph.Array {
				graph.Debugf("branch: large %v", graph.Sum(x))
				return x
			}, func() *graph.Array {
				graph.Debugf("branch: small %v", graph.Sum(x))
				return x
			})
		}, []string{"branch: large 6"}},
		{func(x *graph.Array) *graph.Array {
			graph.Cond(graph.Gt(graph.Sum(x), 5), func() graph.None {
				graph.Debugf("branch that only prints: large %v", graph.Sum(x))
				return graph.None{}
			}, func() graph.None { return graph.None{} })
			return x
		}, []string{"branch that only prints: large 6"}},
		{func(x *graph.Array) *graph.Array {
			return graph.VMap(show("no lanes"))(graph.SliceAxis(x, 0, 0, 0))
		}, nil},
		{func(x *graph.Array) *graph.Array {
			graph.Debugf("bools %t %v", graph.Gt(graph.Index(x, 0), 0), graph.Gt(x, 1))
			return x
		}, []string{"bools true {false true true}"}},
	}
	var want []string
	for _, c := range cases {
		want = append(want, c.want...)
	}
	slices.Sort(want)
	all := func(x *graph.Array) (out []*graph.Array) {
		for _, c := range cases {
			out = append(out, c.f(x))
		}
		return out
	}
	dir := t.TempDir()
	for i, b := range []Backend{&Reference{}, open(t, Options{CacheDir: dir}), open(t, Options{CacheDir: dir})} {
		require.Equal(t, want, printed(t, func() error {
			out, err := Jit(b, all)(x)
			for _, y := range out {
				if err == nil {
					_, err = graph.Floats(y)
				}
			}
			return err
		}), "%s", []string{"interpreted", "compiled", "loaded from the cache"}[i])
	}
	require.Equal(t, []string{"at once 2"}, printed(t, func() error {
		graph.Debugf("at once %v", graph.Scalar(2))
		return nil
	}))
}

// Callbacks get the values; one that this process does not know is an error with its name.
func TestCallback(t *testing.T) {
	var sum float64
	graph.RegisterCallback("test_sum", func(args []*graph.Tensor) {
		for _, v := range args[0].Floats() {
			sum += v
		}
	})
	x := graph.Float32s([]float32{1, 2, 3})
	for name, b := range map[string]Backend{"reference": &Reference{}, "xla": open(t, Options{})} {
		sum = 0
		y, err := Jit(b, func(x *graph.Array) *graph.Array {
			graph.Callback("test_sum", x)
			return graph.Add(x, 1)
		})(x)
		require.NoError(t, err, name)
		_ = floats(t, y)
		require.Equal(t, 6., sum, name)
		y, err = Jit(b, func(x *graph.Array) *graph.Array {
			graph.Callback("test_nobody", x)
			return graph.Add(x, 1)
		})(x)
		if err == nil {
			_, err = graph.Floats(y)
		}
		require.ErrorContains(t, err, `no callback is registered under the name "test_nobody"`, name)
	}
	require.ErrorContains(t, graph.Try(func() { graph.Debugf("here") }), "Debugf: got no arrays")
	require.Error(t, graph.RunDebug([]byte{0, 200}, nil))
}
