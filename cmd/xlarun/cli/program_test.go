package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/graph/safetensors"
)

// programText is a linear network for Pendulum, as jax.export writes it.
const programText = `module @m {
  func.func public @main(%arg0: tensor<1xf32> loc("p['bias']"), %arg1: tensor<3x1xf32> loc("p['kernel']"), ` +
	`%arg2: tensor<3xf32> loc("x")) -> (tensor<1xf32>) {
    %0 = stablehlo.dot_general %arg2, %arg1, contracting_dims = [0] x [0] : (tensor<3xf32>, tensor<3x1xf32>) -> ` +
	`tensor<1xf32> loc(#loc2)
    %1 = stablehlo.add %0, %arg0 : tensor<1xf32>
    return %1 : tensor<1xf32>
  }
}
#loc2 = loc("/home/someone/net.py":3:1)
`

// programFile writes the program and its parameters, and returns the program's path.
func programFile(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "net.mlir")
	require.NoError(t, os.WriteFile(path, []byte(programText), 0o600))
	require.NoError(t, safetensors.Save(strings.TrimSuffix(path, "mlir")+"safetensors", map[string]*graph.Array{
		"bias": graph.Float32s([]float32{.5}), "kernel": graph.Float32s([]float32{1, -2, .5}, 3, 1)}, nil))
	return path
}

// A run of a program goes on to the byte when its files are gone, also one that reads the parameters again, and
// a member of it needs no file.
func TestRunOfAProgramGoesOnWithoutItsFiles(t *testing.T) {
	b := onInterpreter(t)
	path := programFile(t)
	params := strings.TrimSuffix(path, "mlir") + "safetensors"
	for _, restarts := range []string{"none", "ipop"} {
		whole, part := "whole-"+restarts, "part-"+restarts
		args := []string{"evolve", "Pendulum-v1", "--backend", "reference", "--policy", "program:" + path, "--pop", "4",
			"--steps", "3", "--eval-episodes", "2", "--target", "0", "--keep", "100", "--checkpoint-every", "1",
			"--strategy",
			"cmaes", "--restarts", restarts, "--generations", "4", "--out", whole}
		b.ok(t, args...)
		require.NotContains(t, read(t, whole, "config.toml"), "someone", "places in the source stay where they are")
		killed(t, whole, part, "000002.safetensors")
		text, arrays := read(t, path), read(t, params)
		require.NoError(t, os.Remove(path))
		require.NoError(t, os.Remove(params))
		b.ok(t, "evolve", "--resume", part)
		requireSame(t, whole, part, "metrics.jsonl", "best.safetensors", "final.safetensors")
		b.ok(t, "play", whole, "--episodes", "2", "--backend", "reference")
		b.ok(t, "export", whole, "--out", restarts+".safetensors")
		b.ok(t, "play", restarts+".safetensors", "--episodes", "2", "--backend", "reference")
		b.refused(t, "ONNX has no operators for the policy program", "export", whole, "--out", restarts+".onnx")
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		require.NoError(t, os.WriteFile(params, []byte(arrays), 0o600))
	}
}
