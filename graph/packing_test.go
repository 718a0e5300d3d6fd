package graph

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

type packed struct {
	Flags *Array
	Float *Array
	Whole *Array
	Half  *Array
	Empty []*Array
}

func packedTree() packed {
	return packed{
		Flags: Of([]bool{true, false, true}), Float: Float32s([]float32{1, float32(math.NaN()), -0.5, 2}, 2, 2),
		Whole: Of(int32(-7)), Half: Convert(Float32s([]float32{1, 2}), Float16),
	}
}

func words(s Shape) DType {
	if ItemSize(s.DType) == 2 {
		return NotPacked
	}
	return Uint32
}

// Trees come back bit for bit, in one array and in several, with leading axes and without.
func TestPacking(t *testing.T) {
	for name, class := range map[string]func(Shape) DType{
		"words": words,
		"dtypes": func(s Shape) DType {
			if s.DType == Bool {
				return Int32
			}
			return s.DType
		},
		"none": func(Shape) DType { return NotPacked },
	} {
		tree := packedTree()
		p := NewPacking(tree, class)
		arrays, err := Eval(p.Pack(tree))
		require.NoError(t, err, name)
		for i, a := range p.Abstract() {
			require.True(t, a.Shape().Equal(arrays[i].Shape()), name)
		}
		same(t, name, tree, p.Unpack(arrays))

		lanes := MapTree(func(a *Array) *Array { return Stack([]*Array{a, a, a}, 0) }, tree)
		mapped := p.Unpack(p.Pack(lanes)).(packed)
		require.Equal(t, []int{3, 2, 2}, mapped.Float.Dims(), name)
		same(t, name, lanes, mapped)
		same(t, name, lanes, VMap(func(x packed) packed { return p.Unpack(p.Pack(x)).(packed) })(lanes))
	}
	p := NewPacking(packedTree(), words)
	require.Equal(t, 3+4+1, p.Size(0))
}

// On the host arrays are packed as a program packs them.
func TestPackingOnTheHost(t *testing.T) {
	tree := packedTree()
	class := func(s Shape) DType {
		if ItemSize(s.DType) == 4 {
			return Uint32
		}
		return NotPacked
	}
	p := NewPacking(tree, class)
	arrays, err := p.PackHost(tree)
	require.NoError(t, err)
	same(t, "packed", p.Pack(tree), arrays)
	back, err := p.UnpackHost(arrays)
	require.NoError(t, err)
	same(t, "unpacked", tree, back)
	seen, leaves := map[int][]byte{}, Leaves(tree)
	view := func(leaf int, elements []byte) { seen[leaf] = slices.Clone(elements) }
	require.NoError(t, p.View(arrays, view))
	require.Len(t, seen, len(leaves))
	for i, a := range leaves {
		want, err := HostBytes(a)
		require.NoError(t, err)
		require.Equal(t, want, seen[i], "leaf %d", i)
	}
	require.ErrorContains(t, p.View(arrays[:1], view), "View: got 1 arrays, want 3")
}

func TestPackingRefuses(t *testing.T) {
	tree := packedTree()
	p := NewPacking(tree, words)
	other := tree
	other.Float = Float32s([]float32{1})
	for want, f := range map[string]func(){
		"leaf .Half is f16[2], which":          func() { NewPacking(tree, func(Shape) DType { return Uint32 }) },
		"leaf .Float is f32[1], want f32[2,2]": func() { p.Pack(other) },
		"got a tree of 1 leaves, want 4":       func() { p.Pack(tree.Whole) },
		"got u32[7], want u32[8]":              func() { p.Unpack([]*Array{Zeros(ShapeOf(Uint32, 7)), tree.Half}) },
		"got 0 arrays, want 2":                 func() { p.Unpack(nil) },
	} {
		require.ErrorContains(t, Try(f), want)
	}
}

// same compares two trees bit by bit.
func same(t *testing.T, name string, want, got any) {
	t.Helper()
	wants, gots := Leaves(want), Leaves(got)
	require.Len(t, gots, len(wants), name)
	for i := range wants {
		require.True(t, wants[i].Shape().Equal(gots[i].Shape()), "%s, leaf %d", name, i)
		a, err := HostBytes(wants[i])
		require.NoError(t, err)
		b, err := HostBytes(gots[i])
		require.NoError(t, err)
		require.Equal(t, a, b, "%s, leaf %d", name, i)
	}
}
