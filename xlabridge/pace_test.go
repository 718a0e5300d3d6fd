package xlabridge

import (
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/xlabridge/internal/hostmemory"
)

// A loop that drops results of a megabyte never holds more than a part of them; those that somebody refers to stay.
func TestDroppedResultsAreFreed(t *testing.T) {
	c := open(t, Options{NoCache: true})
	f := Jit(c, func(x *graph.Array) *graph.Array { return graph.BroadcastTo(x, 1<<18) })
	const rounds, size, every = 2000, 1 << 20, 200
	before, most := hostmemory.Buffers.Held(), int64(0)
	var kept []*graph.Array
	for i := range rounds {
		y, err := f(graph.Scalar(float64(i)))
		require.NoError(t, err)
		if i%every == 0 {
			kept = append(kept, y)
		}
		most = max(most, hostmemory.Buffers.Held()-before)
	}
	require.Less(t, most, int64(rounds*size/2))
	for i, y := range kept {
		v := floats(t, y)
		require.EqualValues(t, i*every, v[len(v)-1])
	}
	Free(kept)
}

// What is counted for a buffer is given back however it ends.
func TestBuffersAreCounted(t *testing.T) {
	for i, end := range []struct {
		name string
		end  func(t *testing.T, c *Client, x *buffer)
	}{
		{"closed", func(t *testing.T, _ *Client, x *buffer) { require.NoError(t, x.Close()) }},
		{"closed twice", func(t *testing.T, _ *Client, x *buffer) {
			require.NoError(t, x.Close())
			require.NoError(t, x.Close())
		}},
		{"donated", func(t *testing.T, c *Client, x *buffer) {
			e, err := c.CompileText("donate", donateText, CompileOptions{})
			require.NoError(t, err)
			y := f32(t, c, 0, 4, 5, 6)
			out, err := e.execute([][]*buffer{{x, y}}, []int{0})
			require.NoError(t, err)
			require.NoError(t, out[0][0].Close())
			require.NoError(t, y.Close())
		}},
		{"the client closed", func(t *testing.T, c *Client, _ *buffer) { require.NoError(t, c.Close()) }},
	} {
		c := open(t, Options{NoCache: true})
		x := f32(t, c, 0, 1, 2, 3)
		require.EqualValues(t, 12, x.h.bytes, "case %d", i+1)
		before := hostmemory.Buffers.Held()
		end.end(t, c, x)
		require.Equal(t, before-12, hostmemory.Buffers.Held(), "case %d: %s", i+1, end.name)
	}
}

// Where there is no pool a result counts for the temporaries of its call, too.
func TestResultsCountTemporaries(t *testing.T) {
	c := open(t, Options{NoCache: true})
	x := graph.Zeros(graph.ShapeOf(graph.Float32, 1<<18))
	f := Jit(c, func(x *graph.Array) *graph.Array {
		sorted := graph.Sort(graph.Sin(x), 0)
		return graph.SliceAxis(graph.Sort(graph.Cos(sorted), 0), 0, 0, 3)
	})
	before := hostmemory.Buffers.Held()
	y, err := f(x)
	require.NoError(t, err)
	if held := hostmemory.Buffers.Held() - before; c.lib.pooled {
		require.EqualValues(t, 3*4, held)
	} else {
		require.GreaterOrEqual(t, held, int64(4<<18))
	}
	Free(y)
	require.Equal(t, before, hostmemory.Buffers.Held())
}
