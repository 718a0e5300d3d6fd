package play

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/cmd/xlarun/console"
	"xlarun/cmd/xlarun/play/onnx"
	"xlarun/rollout/policy"
	"xlarun/rollout/settings"
	"xlarun/third_party/oracles"
)

const members = "../../../rollout/episode/testdata"

// The models of members are those that onnxruntime computed with, of every policy that ONNX has operators for:
// third_party/oracles/onnx_members.py compared their outputs with the members'.
func TestModelsAreVerified(t *testing.T) {
	var verified struct {
		Models []struct {
			File, SHA256 string
			Error        float64
		}
	}
	require.NoError(t, oracles.Read("onnx/testdata/verified.json", &verified))
	seen := map[string]bool{}
	for _, v := range verified.Models {
		require.Less(t, v.Error, 1e-4)
		s, err := Open(filepath.Join(members, v.File), "")
		require.NoError(t, err)
		metadata, err := s.describe()
		require.NoError(t, err)
		data, err := onnx.Encode(s.Arrays, metadata)
		require.NoError(t, err)
		sum := sha256.Sum256(data)
		require.Equal(t, v.SHA256, hex.EncodeToString(sum[:]), "%s: the model has changed: run "+
			"third_party/oracles/onnx_members.py again", v.File)
		name, _, _ := strings.Cut(metadata["policy"], ":")
		seen[name] = true
	}
	require.Equal(t, onnx.Policies(), slices.Sorted(maps.Keys(seen)))
}

// Every activation that a policy can have is an operator of ONNX.
func TestModelsHaveAllActivations(t *testing.T) {
	s, err := Open(filepath.Join(members, "pendulum-elu.safetensors"), "")
	require.NoError(t, err)
	metadata, err := s.describe()
	require.NoError(t, err)
	f, _ := settings.Lookup(&policy.MLPSettings{}, "activation")
	require.NotEmpty(t, f.OneOf())
	for _, metadata["activation"] = range f.OneOf() {
		_, err := onnx.Encode(s.Arrays, metadata)
		require.NoError(t, err)
	}
	metadata["activation"] = "cos"
	_, err = onnx.Encode(s.Arrays, metadata)
	require.EqualError(t, err, `ONNX has no operator for the activation "cos"`)
}

// export writes the format of the ending, and refuses endings and members that it cannot write.
func TestExportFormats(t *testing.T) {
	abs, err := filepath.Abs(members)
	require.NoError(t, err)
	b := newBed(t)
	status, _, errs := b.run("export", filepath.Join(abs, "gru.safetensors"), "--out", "m.onnx")
	require.Equal(t, console.StatusOK, status, errs)
	model, err := os.ReadFile("m.onnx")
	require.NoError(t, err)
	require.Contains(t, string(model), "next_state")
	for _, c := range []struct {
		file, out, want string
		critic          bool
	}{
		{"gru", "m.pt", "--out got m.pt, wants a file that ends in .safetensors, or in .onnx", false},
		{"gru", "m", "--out got m, wants a file that ends in .safetensors", false},
		{"spiking", "s.onnx", "ONNX has no operators for the policy spiking: it has them for blockmlp, cnn", false},
		{"gru", "g.svg", "--out g.svg: the member's policy is gru:5, and only members of " +
			settings.AnyOf(policy.GenomePolicies()) + " have networks of nodes", false},
		{"gru", "there/m.onnx", "there is no folder there", false},
		{"gru", "c.onnx", "only such a file has more than the actor", true},
		{"gru", "c.safetensors", "--critic wants the folder of a run", true},
	} {
		args := []string{"export", filepath.Join(abs, c.file+".safetensors"), "--out", c.out}
		if c.critic {
			args = append(args, "--critic")
		}
		status, out, errs := b.run(args...)
		require.Equal(t, console.StatusUsage, status)
		require.Empty(t, out)
		require.Contains(t, errs, c.want)
		require.NoFileExists(t, c.out)
	}
}
