package stablehlo_test

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/graph/lower"
	"xlarun/graph/stablehlo"
	"xlarun/graph/stablehlo/bytecode"
	"xlarun/third_party/oracles"
)

// binaryForm is a module as bytecode.
type binaryForm struct {
	Name     string
	Bytecode []byte
}

// binaryForms are the first case in other forms, and modules with ops that are not known.
func binaryForms(t testing.TB) (forms, refused []binaryForm) {
	t.Helper()
	var file struct{ Forms, Refused []binaryForm }
	require.NoError(t, oracles.Read("testdata/jax_export.json.gz", &file))
	require.Len(t, file.Forms, 2)
	require.Len(t, file.Refused, 2)
	return file.Forms, file.Refused
}

// recorded is the graph of a function as text.
func recorded(t *testing.T, f *stablehlo.Function) string {
	t.Helper()
	abstract := make([]*graph.Array, len(f.Inputs()))
	for i, s := range f.Inputs() {
		abstract[i] = graph.Abstract(s)
	}
	p, err := graph.TraceArgs("f", []any{abstract}, graph.TraceOptions{}, func(in []any) any {
		return f.Call(in[0].([]*graph.Array)...)
	})
	require.NoError(t, err)
	var text strings.Builder
	require.NoError(t, lower.Dump(&text, p, lower.Traced, graph.TargetCPU))
	return text.String()
}

func read(t *testing.T, file []byte) *stablehlo.Function {
	t.Helper()
	path := filepath.Join(t.TempDir(), "f.mlir")
	require.NoError(t, os.WriteFile(path, file, 0o600))
	f, err := stablehlo.Read(path)
	require.NoError(t, err)
	return f
}

// Bytecode gives the graph of the text, with the names of the arguments.
func TestBytecode(t *testing.T) {
	all := cases(t)
	for _, c := range all {
		t.Run(c.Name, func(t *testing.T) {
			text, err := stablehlo.Parse("text", c.Text)
			require.NoError(t, err)
			f := read(t, c.Bytecode)
			require.Equal(t, recorded(t, text), recorded(t, f))
			require.Equal(t, text.Names(), f.Names())
			require.Equal(t, text.Outputs(), f.Outputs())
		})
	}
	// An artifact of StableHLO 1.13, and the file of Exported.serialize.
	forms, _ := binaryForms(t)
	mlp := recorded(t, read(t, all[0].Bytecode))
	for _, c := range forms {
		require.Equal(t, mlp, recorded(t, read(t, c.Bytecode)), c.Name)
	}
}

// What cannot be read is one sentence with the file.
func TestBytecodeRefusals(t *testing.T) {
	_, refused := binaryForms(t)
	for i, want := range []string{"stablehlo.rng: this op is not known here",
		"stablehlo.custom_call: calls of \"lapack_sgeev_ffi\" are not known here"} {
		text, err := stablehlo.Text("f.mlir", refused[i].Bytecode)
		require.NoError(t, err)
		_, err = stablehlo.Parse("f.mlir", text)
		require.ErrorContains(t, err, want, refused[i].Name)
	}
	good := cases(t)[0].Bytecode
	changed := func(at int, b byte) []byte {
		file := append([]byte{}, good...)
		file[at] = b
		return file
	}
	for _, c := range []struct {
		name string
		file []byte
		want string
	}{
		{"the magic alone", good[:4], "f.mlir: its head ends too early: 0 bytes are left, 1 are wanted"},
		{"another version", changed(4, 0x0F), "MLIR bytecode of version 7, want 6"},
		{"half of it", good[:len(good)/2], "ends too early"},
		{"no ops", good[:24], "ends too early"},
		{"a section of another kind", changed(4+1+18, 0x7F), "a section of kind 127, which is not known here"},
	} {
		_, err := stablehlo.Text("f.mlir", c.file)
		require.ErrorContains(t, err, c.want, c.name)
	}
	// Text is returned as it is.
	text, err := stablehlo.Text("f.mlir", []byte("module {\n}\n"))
	require.NoError(t, err)
	require.Equal(t, "module {\n}\n", text)
}

// An Exported of jax.export is known by the bytecode inside, whatever its offsets are.
func TestExported(t *testing.T) {
	forms, _ := binaryForms(t)
	file := forms[1].Bytecode
	inner, ok := bytecode.Exported(file)
	require.True(t, ok)
	require.True(t, bytecode.Is(inner))
	for _, offset := range []uint32{0, 4, 1 << 31, 1<<32 - 1, uint32(len(file)) - 2} {
		damaged := append([]byte{}, file...)
		binary.LittleEndian.PutUint32(damaged, offset)
		_, ok := bytecode.Exported(damaged)
		require.False(t, ok, "offset %d", offset)
	}
	for n := range 64 {
		_, ok := bytecode.Exported(file[:n])
		require.False(t, ok, "%d bytes", n)
	}
	// A file that lacks its end is refused, also if the module in it is whole.
	_, err := stablehlo.Text("f.jax", file)
	require.NoError(t, err)
	for n := bytes.Index(file, inner[:8]) + 8; n < len(file); n++ {
		_, err := stablehlo.Text("f.jax", file[:n])
		require.EqualError(t, err, "f.jax: this file of Exported.serialize ends too early: a part of it is missing", n)
	}
}

// FuzzBytecode looks for files that Text panics on or never ends with, and for texts that Parse panics on.
func FuzzBytecode(f *testing.F) {
	for _, c := range cases(f) {
		if len(c.Bytecode) < 3000 {
			f.Add(c.Bytecode)
		}
	}
	forms, refused := binaryForms(f)
	for _, c := range append(forms, refused...) {
		f.Add(c.Bytecode)
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		text, err := bytecode.Text(file)
		if err != nil {
			return
		}
		require.LessOrEqual(t, len(text), 64*len(file)+2<<16)
		if g, err := stablehlo.Parse("f.mlir", text); err == nil {
			recorded(t, g)
		}
	})
}
