package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph/nn"
	"xlarun/graph/nn/nir"
	"xlarun/graph/random"
	"xlarun/rollout/policy"
	"xlarun/rollout/run"
)

// fileOf writes a NIR file for Pendulum with metadata.
func fileOf(t *testing.T, name string, inputs int, metadata map[string]string) {
	t.Helper()
	g, err := nir.FromLayers(nir.Scale{DT: 1e-3}, nn.NewDense(random.New(1), inputs, 4, nn.Weights(nn.Normal(3))),
		nn.NewLIF(random.New(2), 4, nn.Decay(.9)), nn.NewDense(random.New(3), 4, 1))
	require.NoError(t, err)
	policy.SetNIRMetadata(g, map[string]string{"format": "network of xlarun"})
	policy.SetNIRMetadata(g, metadata)
	require.NoError(t, g.WriteFile(name))
}

// A run of a policy of a file goes on to the byte when the file has changed, is gone, or is named by a
// path that is relative to another folder. A new run with its config begins from the same numbers.
func TestRunOfANIRFileGoesOnToTheByte(t *testing.T) {
	b := onInterpreter(t)
	fileOf(t, "network.nir", 6, map[string]string{"gain": "2"})
	args := []string{"evolve", "Pendulum-v1", "--backend", "reference", "--policy", "nir:network.nir", "--pop", "4",
		"--steps", "3", "--eval-episodes", "2", "--target", "0", "--keep", "100", "--checkpoint-every", "1"}
	b.ok(t, append(args, "--generations", "4", "--out", "whole")...)
	config := read(t, "whole", "config.toml")
	for _, line := range []string{"gain = 2.0", "layers = 'affine:6:4,lif:4,affine:4:1'", "encoder = 'current'"} {
		require.Contains(t, config, line)
	}
	same := []string{"config.toml", "metrics.jsonl", "best.safetensors", "final.safetensors"}
	bytes := read(t, "network.nir")
	write := func(text string) { require.NoError(t, os.WriteFile("network.nir", []byte(text), 0o600)) }
	again := append(append([]string{"evolve", "--config", filepath.Join("whole", "config.toml")}, "--generations", "4"),
		"--out")
	for name, change := range map[string]func(){
		"changed": func() { fileOf(t, "network.nir", 6, map[string]string{"gain": "7", "substeps": "3"}) },
		"smaller": func() { fileOf(t, "network.nir", 2, nil) },
		"gone":    func() { require.NoError(t, os.Remove("network.nir")) },
	} {
		killed(t, "whole", name, "000002.safetensors")
		change()
		require.Equal(t, StatusOK, b.do("evolve", "--resume", name), "%s: %s", name, b.err)
		requireSame(t, "whole", name, same...)
		write(bytes)
	}
	b.ok(t, append(again, "anew")...)
	requireSame(t, "whole", "anew", "metrics.jsonl", "final.safetensors")

	killed(t, "whole", "elsewhere", "000002.safetensors")
	dir, err := os.Getwd()
	require.NoError(t, err)
	t.Chdir(t.TempDir())
	b.ok(t, "evolve", "--resume", filepath.Join(dir, "elsewhere"))
	requireSame(t, filepath.Join(dir, "whole"), filepath.Join(dir, "elsewhere"), same...)
}

// The policy of a run that goes on reads no file, and its config still names the file's digest for new
// runs. A search that may start again from the file's numbers reads it.
func TestResumedRunReadsNoNIRFile(t *testing.T) {
	t.Chdir(t.TempDir())
	fileOf(t, "network.nir", 6, nil)
	kind, _ := run.Lookup("evolve")
	for _, restarts := range []string{"none", "ipop"} {
		first, err := (&flagValues{values: map[string]string{"env": "Pendulum-v1", "policy": "nir:network.nir",
			"pop": "4", "strategy": "cmaes", "restarts": restarts}}).resolve(kind, "", nil)
		require.NoError(t, err)
		require.Len(t, first.all()["policy.sha256"].Text(), 64)
		for _, resumed := range []string{"", "run"} {
			file, err := parseConfig("config.toml", []byte(first.text))
			require.NoError(t, err)
			next, err := (&flagValues{resumed: resumed}).resolve(kind, "", file)
			require.NoError(t, err)
			require.Equal(t, first.text, next.text)
			reads := resumed == "" || restarts != "none"
			require.Equal(t, reads, next.all()["policy.sha256"].Text() != "", "%q %s", resumed, restarts)
			require.Equal(t, first.all()["policy.layers"].Text(), next.all()["policy.layers"].Text())
		}
	}
}

// Settings whose effect depends on the encoder are taken or refused by the encoder that the file names.
func TestFlagsOfANIRFile(t *testing.T) {
	b := onInterpreter(t)
	fileOf(t, "population.nir", 15, map[string]string{"encoder": "population"})
	fileOf(t, "seven.nir", 21, map[string]string{"encoder": "population"})
	fileOf(t, "current.nir", 6, map[string]string{"encoder": "current"})
	fileOf(t, "delta.nir", 6, map[string]string{"encoder": "delta"})
	fileOf(t, "observation.nir", 3, map[string]string{"input": "observation"})
	for i, c := range []struct{ file, flag, wrong string }{
		{"seven", "fields 7", ""},
		{"population", "change 0.5", "change"},
		{"population", "rate 700", ""},
		{"current", "fields 7", "fields"},
		{"current", "rate 700", ""},
		{"delta", "change 0.5", ""},
		{"delta", "rate 700", "rate"},
		{"observation", "rate 700", "rate"},
		{"observation", "fields 7", "fields"},
		{"observation", "change 0.5", "change"},
		{"observation", "gain 2", ""},
	} {
		args := []string{"evolve", "Pendulum-v1", "--backend", "reference", "--policy", "nir:" + c.file + ".nir",
			"--pop", "4", "--steps", "2", "--eval-episodes", "1", "--target", "0", "--generations", "1", "--out",
			"none"}
		status := b.do(append(args, strings.Fields("--policy."+c.flag)...)...)
		if c.wrong == "" {
			require.Equal(t, StatusOK, status, "case %d: %s", i, b.err)
			continue
		}
		require.Equal(t, StatusUsage, status, "case %d", i)
		require.Contains(t, b.err.String(), "policy."+c.wrong, "case %d", i)
		require.Contains(t, b.err.String(), "it has no effect otherwise", "case %d", i)
	}
}
