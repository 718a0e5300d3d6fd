package safetensors

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
)

type dense struct {
	W *graph.Array
	B *graph.Array `tree:"optional"`
}

type net struct {
	Layers []dense
	Nets   map[string]dense
	Step   *graph.Array
	Flag   *graph.Array
	Name   string
}

func sample() net {
	return net{
		Layers: []dense{{graph.Float32s([]float32{1, -2, 3, 4, 5, 6}, 2, 3),
			graph.Convert(graph.Float32s([]float32{.5, 7}), graph.BFloat16)}, {W: graph.Float64s([]float64{1e300})}},
		Nets: map[string]dense{"actor": {W: graph.Iota(4)}, "c.1 <é>": {
			W: graph.Zeros(graph.ShapeOf(graph.Float16, 0, 2)), B: graph.Complex64s([]complex64{1 + 2i, -.5i})}},
		Step: graph.Of(int64(-5)), Flag: graph.Of([]bool{true, false, true}), Name: "static",
	}
}

func same(t *testing.T, want, got any) {
	t.Helper()
	w, g := graph.Leaves(want), graph.Leaves(got)
	require.Len(t, g, len(w))
	for i := range w {
		require.Equal(t, w[i].Shape().String(), g[i].Shape().String())
		require.Equal(t, bytesOf(t, w[i]), bytesOf(t, g[i]))
	}
}

func bytesOf(t *testing.T, a *graph.Array) []byte {
	t.Helper()
	b, err := graph.HostBytes(a)
	require.NoError(t, err)
	return append([]byte{}, b...)
}

func TestSaveAndLoad(t *testing.T) {
	path := filepath.Join(t.TempDir(), "net.safetensors")
	want := sample()
	require.NoError(t, Save(path, want, map[string]string{"steps": "7"}))
	example := graph.MapTree(func(a *graph.Array) *graph.Array { return graph.Abstract(a.Shape()) }, want)
	got, err := Load(path, example)
	require.NoError(t, err)
	same(t, want, got)
	require.Equal(t, "static", got.Name)
	require.Nil(t, got.Layers[1].B)

	f, err := Open(path)
	require.NoError(t, err)
	defer f.Close()
	require.Equal(t, map[string]string{"steps": "7"}, f.Metadata())
	require.Equal(t, []string{"Flag", "Layers.0.B", "Layers.0.W", "Layers.1.W", "Nets.actor.W", "Nets.c.1 <é>.B",
		"Nets.c.1 <é>.W", "Step"}, f.Names())
	s, ok := f.Shape("Layers.0.B")
	require.True(t, ok)
	require.Equal(t, "bf16[2]", s.String())
	_, err = f.Array("nothing")
	require.ErrorContains(t, err, `there is no tensor "nothing"`)

	// Overwriting leaves nothing else in the folder.
	require.NoError(t, Save(path, want, nil))
	entries, err := os.ReadDir(filepath.Dir(path))
	require.NoError(t, err)
	require.Len(t, entries, 1)
}

func TestWriteIsDeterministicAndAligned(t *testing.T) {
	var a, b bytes.Buffer
	meta := map[string]string{"b": "2", "a": "1", "c": "3"}
	require.NoError(t, Write(&a, sample(), meta))
	require.NoError(t, Write(&b, sample(), meta))
	require.Equal(t, a.Bytes(), b.Bytes())
	f, err := New(bytes.NewReader(a.Bytes()), int64(a.Len()))
	require.NoError(t, err)
	require.Zero(t, f.data%8)
	for name, x := range f.header.tensors {
		require.Zero(t, (f.data+x.begin)%int64(graph.ItemSize(x.shape.DType)), name)
	}
}

func TestEmptyAndSingle(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, Write(&b, graph.None{}, nil))
	f, err := New(bytes.NewReader(b.Bytes()), int64(b.Len()))
	require.NoError(t, err)
	require.Empty(t, f.Names())
	_, err = ReadTree(f, graph.None{})
	require.NoError(t, err)

	b.Reset()
	require.NoError(t, Write(&b, graph.Iota(3), nil))
	f, err = New(bytes.NewReader(b.Bytes()), int64(b.Len()))
	require.NoError(t, err)
	require.Equal(t, []string{"value"}, f.Names())
	got, err := ReadTree(f, graph.Abstract(graph.ShapeOf(graph.Int32, 3)))
	require.NoError(t, err)
	same(t, graph.Iota(3), got)
}

func TestName(t *testing.T) {
	for path, want := range map[string]string{
		".W": "W", ".Layers[0].W": "Layers.0.W", `.Nets["actor"].B`: "Nets.actor.B", `["a]b"][2]`: "a]b.2",
		"value": "value", "[3]": "3", `["a\"b"]`: `a"b`,
	} {
		require.Equal(t, want, Name(path), path)
	}
}

func TestLoadErrors(t *testing.T) {
	path := filepath.Join(t.TempDir(), "net.safetensors")
	require.NoError(t, Save(path, map[string]*graph.Array{"a": graph.Iota(2), "b": graph.Iota(3), "x": graph.Iota(1)},
		nil))
	abstract := func(d graph.DType, n int) *graph.Array { return graph.Abstract(graph.ShapeOf(d, n)) }
	i32 := graph.Int32
	cases := []struct {
		name    string
		example map[string]*graph.Array
		want    string
	}{
		{"missing and extra", map[string]*graph.Array{"a": abstract(i32, 2), "c": abstract(i32, 3),
			"d": abstract(i32, 1), "e": abstract(i32, 1), "f": abstract(i32, 1)},
			"the file does not fit the tree: it lacks c, d, e and 1 more, and has besides b, x"},
		{"extra", map[string]*graph.Array{"a": abstract(i32, 2), "b": abstract(i32, 3)},
			"it lacks nothing, and has besides x"},
		{"shape", map[string]*graph.Array{"a": abstract(i32, 2), "b": abstract(i32, 4), "x": abstract(i32, 1)},
			`tensor "b" is i32[3], the tree wants i32[4]`},
		{"dtype", map[string]*graph.Array{"a": abstract(i32, 2), "b": abstract(graph.Uint32, 3), "x": abstract(i32, 1)},
			`tensor "b" is i32[3], the tree wants u32[3]`},
		{"nil leaf", map[string]*graph.Array{"a": nil}, "nil *Array"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := Load(path, c.example)
			require.ErrorContains(t, err, c.want)
			require.ErrorContains(t, err, path)
		})
	}
	_, err := Load(path+".no", graph.Iota(1))
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestSaveErrors(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "x.safetensors")
	for name, c := range map[string]struct {
		tree any
		meta map[string]string
		want string
	}{
		"twice": {map[string]any{"a.b": graph.Iota(1), "a": map[string]*graph.Array{"b": graph.Iota(1)}}, nil,
			`would both be tensor "a.b"`},
		"reserved": {map[string]*graph.Array{"__metadata__": graph.Iota(1)}, nil, "cannot be the name"},
		"abstract": {graph.Abstract(graph.ShapeOf(graph.Float32)), nil, "abstract"},
		"metadata": {graph.Iota(1), map[string]string{"a": "\xff"}, "not UTF-8"},
		"nil":      {dense{}, nil, "nil *Array"},
		"data":     {graph.FromData(graph.ShapeOf(graph.Float32, 3), lost{}), nil, "the device is gone"},
	} {
		t.Run(name, func(t *testing.T) {
			err := Save(path, c.tree, c.meta)
			require.ErrorContains(t, err, c.want)
			entries, err := os.ReadDir(dir)
			require.NoError(t, err)
			require.Empty(t, entries, "a failed write leaves nothing")
		})
	}
	// A failed write keeps the file that was there.
	require.NoError(t, Save(path, graph.Iota(3), nil))
	require.Error(t, Save(path, graph.FromData(graph.ShapeOf(graph.Float32, 3), lost{}), nil))
	got, err := Load(path, graph.Iota(3))
	require.NoError(t, err)
	same(t, graph.Iota(3), got)
	require.Error(t, Save(filepath.Join(dir, "no", "x"), graph.Iota(1), nil))
}

// lost is data that cannot be read any more.
type lost struct{}

func (lost) HostBytes() ([]byte, error) { return nil, errors.New("the device is gone") }

// A file written by Python's package: third_party/oracles/safetensors_file.py says what is in it.
func TestFileFromPython(t *testing.T) {
	f, err := Open("testdata/python.safetensors")
	require.NoError(t, err)
	defer f.Close()
	require.Equal(t, map[string]string{"naïve": "python ✓"}, f.Metadata())
	require.Len(t, f.Names(), len(dtypes)+2)
	for _, name := range f.Names() {
		a, err := f.Array(name)
		require.NoError(t, err)
		if name == "C64" {
			require.Equal(t, "c64[2,3] {-3-3i -2-2i -1-1i 0+0i 1+1i 2+2i}", a.String())
			continue
		}
		got, err := graph.Floats(a)
		require.NoError(t, err)
		switch name {
		case "empty":
			require.Equal(t, "f32[0,4]", a.Shape().String())
			continue
		case "scalar":
			require.Equal(t, "f32[]", a.Shape().String())
			require.Equal(t, []float64{-3}, got)
			continue
		}
		require.True(t, a.Shape().Equal(graph.ShapeOf(dtypes[name], 2, 3)), name)
		for i, x := range got {
			want := float64(i - 3)
			switch name[0] {
			case 'U':
				want = float64(i)
			case 'B':
				if name == "BOOL" {
					want = float64(i % 2)
				}
			}
			require.Equal(t, want, x, "%s[%d]", name, i)
		}
	}
}

// XLARUN_PYTHON names a Python with the package safetensors: it reads what Save writes.
func TestPythonReadsBack(t *testing.T) {
	python := os.Getenv("XLARUN_PYTHON")
	if python == "" {
		t.Skip("XLARUN_PYTHON is not set: want a Python with safetensors and numpy")
	}
	path := filepath.Join(t.TempDir(), "net.safetensors")
	tree, meta := sample(), map[string]string{"naïve": "✓", "<": "&"}
	require.NoError(t, Save(path, tree, meta))
	out, err := exec.CommandContext(t.Context(), python, "testdata/readback.py", path).Output()
	require.NoError(t, err)
	var got struct {
		Metadata map[string]string
		Tensors  map[string][3]any
	}
	require.NoError(t, json.Unmarshal(out, &got))
	require.Equal(t, meta, got.Metadata)
	leaves, _, names, err := flatten(tree)
	require.NoError(t, err)
	require.Len(t, got.Tensors, len(leaves))
	for i, a := range leaves {
		dims := make([]any, 0, a.Rank())
		for _, d := range a.Dims() {
			dims = append(dims, float64(d))
		}
		require.Equal(t, [3]any{dtypeName(a.DType()), dims, hex.EncodeToString(bytesOf(t, a))}, got.Tensors[names[i]],
			names[i])
	}
}
