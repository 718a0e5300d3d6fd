package random_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/graph/random"
)

func TestNewUsesAllBitsOfTheSeed(t *testing.T) {
	for seed, want := range map[int64][]float64{0: {0, 0}, 42: {0, 42}, -1: {1<<32 - 1, 1<<32 - 1}, 1<<40 +
		3: {256, 3}} {
		require.Equal(t, want, floats(t, random.New(seed).Data), seed)
	}
}

// However a key is split, key i is the same.
func TestSplitsAgree(t *testing.T) {
	key := random.New(123)
	for _, n := range []int{0, 1, 2, 5, 8, 9, 20} {
		batch := random.Split(key, n)
		require.Equal(t, []int{n, 2}, batch.Data.Dims())
		require.Equal(t, n, batch.Len())
		separate := random.SplitN(key, n)
		require.Len(t, separate, n)
		for i, k := range separate {
			same(t, batch.At(i).Data, k.Data, n, i)
			same(t, k.Data, random.FoldIn(key, i).Data, n, i)
		}
	}
	a, b := random.Split2(key)
	same(t, random.Split(key, 2).At(0).Data, a.Data)
	same(t, random.Split(key, 2).At(1).Data, b.Data)
}

// FoldIn takes the lower 32 bits of integer arrays, and Go integers of any type.
func TestFoldInTakesIntegers(t *testing.T) {
	key := random.New(9)
	want := random.FoldIn(key, 1<<32-1).Data
	for _, data := range []any{uint32(1<<32 - 1), int64(1<<32 - 1), graph.Of(int32(-1)), graph.Of(int64(-1)),
		graph.Of(uint64(1<<40 - 1)), graph.Of(int8(-1))} {
		same(t, want, random.FoldIn(key, data).Data, data)
	}
	same(t, random.FoldIn(key, 200).Data, random.FoldIn(key, graph.Of(uint8(200))).Data)
}

// Draws of more than 2^32 elements count with both halves of the counter.
func TestHugeDrawUsesTheUpperHalf(t *testing.T) {
	for size, wide := range map[int]bool{1 << 32: false, 1<<32 + 2: true} {
		p, err := graph.Trace("huge", func(k random.Key) *graph.Array {
			return random.Bits(k, graph.Uint8, 2, size/2)
		}, random.New(1))
		require.NoError(t, err)
		if wide {
			require.Contains(t, p.Graph.String(), "u64[2,")
		} else {
			require.NotContains(t, p.Graph.String(), "u64")
		}
	}
}

// One draw is one hash, over its own shape, and makes nothing that has to be stored.
func TestNormalIsOneHash(t *testing.T) {
	p, err := graph.Trace("normal", func(k random.Key) *graph.Array {
		return random.Normal(k, f32(128, 65))
	}, random.New(1))
	require.NoError(t, err)
	hashes := 0
	for _, n := range p.Graph.Nodes {
		switch n.Op.Name {
		case "threefry_draw":
			hashes++
			require.Equal(t, []int{128, 65}, n.Outs[0].Dims())
		case "concatenate", "gather", "scatter", "pad":
			t.Fatalf("%s in a draw:\n%s", n.Op.Name, p.Graph)
		case "reshape":
			require.LessOrEqual(t, n.Outs[0].Size(), 2, "a reshape between counter and draw:\n%s", p.Graph)
		}
	}
	require.Equal(t, 1, hashes, p.Graph)
}
