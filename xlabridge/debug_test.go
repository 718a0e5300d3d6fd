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
// that is taken, once under Grad, and where nothing of a loop is used but what it prints.
func TestDebugf(t *testing.T) {
	dir := t.TempDir()
	x := graph.Float32s([]float32{1, 2, 3})
	show := func(x *graph.Array) *graph.Array {
		graph.Debugf("x %.1f", x)
		return graph.Square(x)
	}
	for i, c := range []struct {
		name string
		f    func(x *graph.Array) *graph.Array
		want []string
	}{
		{"array", show2("row %v of %d", graph.Of(7)), []string{"row {1 2 3} of 7"}},
		{"lanes", graph.VMap(show), []string{"x 1.0", "x 2.0", "x 3.0"}},
		{"lanes of lanes", func(x *graph.Array) *graph.Array {
			return graph.VMap(func(a *graph.Array) *graph.Array {
				return graph.VMap(func(b *graph.Array) *graph.Array {
					graph.Debugf("%v %v", a, b)
					return b
				})(graph.SliceAxis(x, 0, 0, 2))
			})(graph.SliceAxis(x, 0, 1, 3))
		}, []string{"2 1", "2 2", "3 1", "3 2"}},
		{"steps", func(x *graph.Array) *graph.Array { return graph.Map(show, x) }, []string{"x 1.0", "x 2.0", "x 3.0"}},
		{"steps whose results nobody uses", func(x *graph.Array) *graph.Array {
			graph.Map(show, x)
			return x
		}, []string{"x 1.0", "x 2.0", "x 3.0"}},
		{"gradient", graph.VMap(graph.Grad(show)), []string{"x 1.0", "x 2.0", "x 3.0"}},
		{"gradient through steps", graph.Grad(func(x *graph.Array) *graph.Array {
			return graph.Sum(graph.Map(show, x))
		}), []string{"x 1.0", "x 2.0", "x 3.0"}},
		{"branch", func(x *graph.Array) *graph.Array {
			return graph.Cond(graph.Gt(graph.Sum(x), 5), func() *graph.Array {
				graph.Debugf("large %v", graph.Sum(x))
				return x
			},
				func() *graph.Array { graph.Debugf("small %v", graph.Sum(x)); return x })
		}, []string{"large 6"}},
		{"branch that only prints", func(x *graph.Array) *graph.Array {
			graph.Cond(graph.Gt(graph.Sum(x), 5), func() graph.None {
				graph.Debugf("large %v", graph.Sum(x))
				return graph.None{}
			},
				func() graph.None { return graph.None{} })
			return x
		}, []string{"large 6"}},
		{"no lanes", func(x *graph.Array) *graph.Array {
			return graph.VMap(show)(graph.SliceAxis(x, 0, 0, 0))
		}, []string{}},
		{"bools", func(x *graph.Array) *graph.Array {
			graph.Debugf("%t %v", graph.Gt(graph.Index(x, 0), 0), graph.Gt(x, 1))
			return x
		}, []string{"true {false true true}"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.Equal(t, c.want, printed(t, func() error {
				_, err := Jit1(&Reference{}, c.f)(x)
				return err
			}), "%d: interpreter", i+1)
			for range 2 { // compiled, then loaded
				client := open(t, Options{CacheDir: dir})
				run := Jit1(client, c.f)
				require.Equal(t, c.want, printed(t, func() error {
					y, err := run(x)
					if err == nil {
						_, err = graph.Floats(y)
					}
					return err
				}), "%d: XLA", i+1)
			}
		})
	}
	require.Equal(t, []string{"at once 2"}, printed(t, func() error {
		graph.Debugf("at once %v", graph.Scalar(2))
		return nil
	}))
}

func show2(format string, second *graph.Array) func(x *graph.Array) *graph.Array {
	return func(x *graph.Array) *graph.Array { graph.Debugf(format, x, second); return x }
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
		y, err := Jit1(b, func(x *graph.Array) *graph.Array {
			graph.Callback("test_sum", x)
			return graph.Add(x, 1)
		})(x)
		require.NoError(t, err, name)
		_, err = graph.Floats(y)
		require.NoError(t, err, name)
		require.Equal(t, 6., sum, name)
		y, err = Jit1(b, func(x *graph.Array) *graph.Array {
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
