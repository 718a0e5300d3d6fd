package xlabridge

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
)

// What every device has of an array goes to the devices and comes back, each its own.
func TestParts(t *testing.T) {
	shape := graph.ShapeOf(graph.Uint8, 3)
	part := func(d int) []byte { return []byte{byte(d), 1, 2} }
	client, err := Open(t.Context(), Options{Devices: 2})
	require.NoError(t, err)
	defer func() { require.NoError(t, client.Close()) }()
	for _, c := range []struct {
		backend Backend
		n       int
	}{{client, 2}, {client, 1}, {&Reference{}, 1}} {
		a, err := PutParts(c.backend, c.n, shape, part)
		require.NoError(t, err)
		require.True(t, a.Shape().Equal(shape))
		got := make([]byte, 3)
		for d := range c.n {
			require.NoError(t, PartToHost(a, d, got))
			require.Equal(t, part(d), got)
		}
		require.Error(t, PartToHost(a, c.n, got), "no such device")
		require.Error(t, PartToHost(a, 0, got[:2]), "no room")
		_, err = PutParts(c.backend, c.n, shape, func(int) []byte { return got[:2] })
		require.Error(t, err, "too short")
		Free(a)
	}
	_, err = PutParts(&Reference{}, 2, shape, part)
	require.ErrorContains(t, err, "has 1 device, got 2 parts")
	for i, n := range []int{3, 0, -1} {
		want := fmt.Sprintf("got %d devices, want 1 to 2", n)
		_, err = PutParts(client, n, shape, part)
		require.ErrorContains(t, err, "PutParts: "+want, "case %d: %d devices", i+1, n)
		_, err = Put(client, n, graph.Ones(shape))
		require.ErrorContains(t, err, "Put: "+want, "case %d: %d devices", i+1, n)
	}
}

// What ShardMap cut is on devices too: it is freed, copied part by part, and stays where it is when a device has all of
// it.
func TestShardedData(t *testing.T) {
	c := open(t, Options{Devices: 2})
	mesh := graph.Mesh{{Name: "d", Size: 2}}
	x := graph.Float32s([]float32{1, 2, 3, 4})
	cut, err := ShardMap(c, func(x *array) *array { return graph.Mul(x, 2) }, mesh, graph.Spec{"d"}, graph.Spec{"d"})(x)
	require.NoError(t, err)
	same, err := ShardMap(c, func(x *array) *array { return graph.PSum(x, "d") }, mesh, graph.Spec{"d"}, nil)(x)
	require.NoError(t, err)
	live := func() int {
		c.mu.Lock()
		defer c.mu.Unlock()
		return len(c.live)
	}

	// 1: each device has its part, the host the whole.
	half := make([]byte, 8)
	for d, want := range [][]byte{f32Bytes(2, 4), f32Bytes(6, 8)} {
		require.NoError(t, PartToHost(cut, d, half))
		require.Equal(t, want, half)
	}
	require.Error(t, PartToHost(cut, 2, half))
	require.Error(t, PartToHost(cut, 0, make([]byte, 16)))
	host, err := ToHost(cut)
	require.NoError(t, err)
	require.Equal(t, []float64{2, 4, 6, 8}, floats(t, host))

	// 2: calls take the whole of what is cut, and what each device has whole where it is.
	_, ok := c.onDevice(cut, 1)
	require.False(t, ok)
	_, ok = c.onDevice(same, 2)
	require.True(t, ok)
	_, ok = c.onDevice(same, 3)
	require.False(t, ok)
	add := Jit(c, func(x *array) *array { return graph.Add(x, 1) })
	for _, s := range []struct {
		in   *array
		want []float64
	}{{cut, []float64{3, 5, 7, 9}}, {same, []float64{5, 7}}} {
		y, err := add(s.in)
		require.NoError(t, err)
		require.Equal(t, s.want, floats(t, y))
		Free(y)
	}

	// 3: Free frees it.
	for _, a := range []*array{cut, same} {
		before := live()
		Free(a)
		require.Equal(t, before-2, live())
		_, err = graph.Floats(a)
		require.ErrorContains(t, err, "was closed")
		Free(a)
	}
}
