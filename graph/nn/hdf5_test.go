package nn_test

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph/nn/nir/hdf5"
)

func sample() *hdf5.Group {
	g, deep := hdf5.NewGroup(), hdf5.NewGroup()
	g.Items["floats"] = &hdf5.Set{Dims: []int{2, 3}, Data: []float32{1, -2, float32(math.Inf(1)), 0, 1e-40, 7}}
	g.Items["doubles"] = &hdf5.Set{Dims: []int{1}, Data: []float64{math.Pi}}
	g.Items["scalar"] = &hdf5.Set{Data: []int64{-5}}
	g.Items["text"] = &hdf5.Set{Data: []string{"straße"}}
	g.Items["texts"] = &hdf5.Set{Dims: []int{2, 2}, Data: []string{"a", "", "long name", "b"}}
	g.Items["none"] = &hdf5.Set{Dims: []int{0, 2}, Data: []float32{}}
	g.Items["empty"], g.Items["deep"] = hdf5.NewGroup(), deep
	for i := range 100 { // more than a usual leaf holds
		deep.Items[fmt.Sprintf("item %d", i)] = &hdf5.Set{Dims: []int{1}, Data: []int64{int64(i)}}
	}
	return g
}

func TestHDF5RoundTrip(t *testing.T) {
	b, err := hdf5.Write(sample())
	require.NoError(t, err)
	got, err := hdf5.Read(b)
	require.NoError(t, err)
	require.Equal(t, sample(), got)
	empty, err := hdf5.Write(hdf5.NewGroup())
	require.NoError(t, err)
	got, err = hdf5.Read(empty)
	require.NoError(t, err)
	require.Empty(t, got.Items)
}

func TestWriteBadInput(t *testing.T) {
	circle := hdf5.NewGroup()
	circle.Items["self"] = circle
	for i, c := range []struct {
		g    *hdf5.Group
		want string
	}{
		{circle, "groups lie more than 32 deep"},
		{&hdf5.Group{Items: map[string]any{"a/b": hdf5.NewGroup()}}, `got the name "a/b"`},
		{&hdf5.Group{Items: map[string]any{"a": 3}}, "a: got int, want a *Group or a *Set"},
		{&hdf5.Group{Items: map[string]any{"a": &hdf5.Set{Dims: []int{2}, Data: []float32{1}}}},
			"a: got 1 elements for dims [2]"},
		{&hdf5.Group{Items: map[string]any{"a": &hdf5.Set{Data: []bool{true}}}}, "a: got data of type []bool"},
		{&hdf5.Group{Items: map[string]any{"a": &hdf5.Set{Data: []string{"x\x00y"}}}},
			"want one without the zero byte"},
	} {
		_, err := hdf5.Write(c.g)
		require.ErrorContains(t, err, c.want, "%d", i+1)
	}
}

// Damaged files are errors or other contents, never a panic or more memory than they are worth: cut at every length,
// and with bytes that are changed at random, ours and one of h5py with chunks, compression and strings in heaps.
func TestDamage(t *testing.T) {
	ours, err := hdf5.Write(sample())
	require.NoError(t, err)
	f, err := os.Open("nir/testdata/python.nir.gz")
	require.NoError(t, err)
	defer func() { require.NoError(t, f.Close()) }()
	z, err := gzip.NewReader(f)
	require.NoError(t, err)
	theirs, err := io.ReadAll(z)
	require.NoError(t, err)
	_, err = hdf5.Read(theirs)
	require.NoError(t, err)
	for _, file := range [][]byte{ours, theirs} {
		for n := 0; n < len(file); n += 1 + len(file)/500 {
			_, _ = hdf5.Read(file[:n])
		}
		r := rand.New(rand.NewPCG(1, 2))
		failed := 0
		for range 2000 {
			b := bytes.Clone(file)
			for range 1 + r.IntN(4) {
				b[r.IntN(len(b))] = []byte{0, 1, 8, 0xff, byte(r.IntN(256))}[r.IntN(5)]
			}
			if _, err := hdf5.Read(b); err != nil {
				failed++
			}
		}
		require.Positive(t, failed)
	}
	_, err = hdf5.Read(nil)
	require.ErrorContains(t, err, "does not begin as one of HDF5 does")
	_, err = hdf5.Read(ours[:200])
	require.ErrorContains(t, err, "it ends before its contents do")
	newer := bytes.Clone(ours)
	newer[8] = 3
	_, err = hdf5.Read(newer)
	require.ErrorContains(t, err, `the file has superblock 3, want 0 or 1`)
}

// A file whose data would take far more than the file itself is refused: sets without stored data, which are zeros.
func TestFilesThatFillTheMemory(t *testing.T) {
	const sets, stored, claimed = 200, 299, 1 << 20
	g := hdf5.NewGroup()
	for i := range sets {
		g.Items[fmt.Sprintf("set %03d", i)] = &hdf5.Set{Dims: []int{stored}, Data: make([]float32, stored)}
	}
	file, err := hdf5.Write(g)
	require.NoError(t, err)
	number := func(n uint64) []byte { return binary.LittleEndian.AppendUint64(nil, n) }
	for at := 0; ; { // the layout of a set: its address, then its size
		next := bytes.Index(file[at:], number(4*stored))
		if next < 0 {
			break
		}
		at += next
		copy(file[at-8:], number(math.MaxUint64)) // nowhere
		at += 8
	}
	file = bytes.ReplaceAll(file, number(stored), number(claimed))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err = hdf5.Read(file)
	runtime.ReadMemStats(&after)
	require.ErrorContains(t, err, "made to fill the memory")
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(256<<20))
}
