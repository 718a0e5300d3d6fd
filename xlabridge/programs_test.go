package xlabridge

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
)

// A function keeps the programs of the shapes that it was called with last, and compiles again what it let go.
func TestPrograms(t *testing.T) {
	c := open(t, Options{})
	programs := &Programs{Most: 2}
	traced := 0
	f := func(x *array) *array { traced++; return graph.Add(x, 1) }
	double := Jit1(c, func(x *array) *array { return graph.Mul(x, 2) }, JitOptions{Programs: programs})
	run := Jit1(c, f, JitOptions{Programs: programs})
	call := func(f func(*array) (*array, error), n int, want float64) {
		t.Helper()
		y, err := f(graph.Ones(graph.ShapeOf(graph.Float32, n)))
		require.NoError(t, err)
		require.Equal(t, want, floats(t, y)[n-1])
	}
	for i, s := range []struct {
		description             string
		n, wantTraced, wantKept int
	}{
		{"1: the first", 1, 1, 1}, {"2: the same again", 1, 1, 1}, {"3: another shape", 2, 2, 2}, {"4: the first is still there", 1, 2, 2},
		{"5: one too many", 3, 3, 2}, {"6: the one used last is there", 1, 3, 2}, {"7: the one used longest ago went", 2, 4, 2},
	} {
		call(run, s.n, 2)
		require.Equal(t, s.wantTraced, traced, "case %d %s", i, s.description)
		require.Equal(t, s.wantKept, programs.Len(), "case %d %s", i, s.description)
	}
	call(double, 2, 2) // of the same shape, but another function
	require.Equal(t, 2, programs.Len())
	require.NoError(t, programs.Close())
	require.Zero(t, programs.Len())
	require.NoError(t, programs.Close())
	call(run, 2, 2)
	require.Equal(t, 5, traced)
	require.Equal(t, 1, programs.Len())

	var unset Programs
	for n := range 200 {
		unset.put(programKey{shapes: fmt.Sprint(n)}, &Compiled{})
	}
	require.Equal(t, 128, unset.Len())
	require.NotNil(t, unset.get(programKey{shapes: "72"}))
	require.Nil(t, unset.get(programKey{shapes: "71"}))
}

type noBytes struct{}

func (noBytes) HostBytes() ([]byte, error) { return nil, errors.New("gone") }

// Put frees what it has moved when a later leaf cannot be.
func TestPutFreesOnError(t *testing.T) {
	c := open(t, Options{})
	before := len(c.live)
	x := graph.Ones(graph.ShapeOf(graph.Float32, 1000))
	_, err := Put(c, 1, []*array{x, x, graph.FromData(x.Shape(), noBytes{})})
	require.ErrorContains(t, err, "gone")
	c.mu.Lock()
	defer c.mu.Unlock()
	require.Len(t, c.live, before)
}
