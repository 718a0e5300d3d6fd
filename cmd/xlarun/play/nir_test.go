package play

import (
	"maps"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/cmd/xlarun/console"
	"xlarun/graph/nn"
	"xlarun/graph/nn/nir"
	"xlarun/graph/random"
	"xlarun/graph/safetensors"
	"xlarun/rollout/policy"
)

// A member plays the same episodes from its NIR file, up to rounding, and so does what is exported from that.
func TestExportedNIRPlaysAlike(t *testing.T) {
	abs, err := filepath.Abs(members)
	require.NoError(t, err)
	b := newBed(t)
	for _, name := range []string{"spiking", "spiking-delta", "nir"} {
		args := []string{"--episodes", "3", "--steps", "30", "--gif", "none"}
		want, _ := b.json(append([]string{"play", filepath.Join(abs, name+".safetensors")}, args...)...)
		from := filepath.Join(abs, name+".safetensors")
		for _, file := range []string{name + ".nir", name + "-again.nir", name + "-back.safetensors"} {
			require.Contains(t, b.good("export", from, "--out", file), " is in "+file)
			from = file
			got, _ := b.json(append([]string{"play", file}, args...)...)
			require.Equal(t, want.Env, got.Env)
			require.Equal(t, want.Seed, got.Seed)
			require.InDelta(t, *want.Mean, *got.Mean, 1e-4*(*want.Error), "%s: potentials are rounded in other units",
				file)
			require.InDelta(t, *want.Std, *got.Std, 1e-4*(*want.Error), file)
		}
	}
	// The member of the last file needs no NIR file. Another file of the same name is another member.
	back, err := Open("spiking-back.safetensors", "")
	require.NoError(t, err)
	require.Contains(t, back.Metadata["policy_settings"], `"layers":"affine:`)
	require.Contains(t, back.Metadata["policy_settings"], `"sha256":""`)
	before, err := Open("nir.nir", "")
	require.NoError(t, err)
	b.good("export", "spiking.nir", "--out", "same.nir")
	b.good("export", "nir.nir", "--out", "same.nir", "--force")
	same, err := Open("same.nir", "")
	require.NoError(t, err)
	require.Equal(t, before.Metadata["policy_settings"], same.Metadata["policy_settings"])
	require.Len(t, same.Arrays, len(before.Arrays))
	for _, name := range []string{"spiking.nir", "spiking-again.nir"} {
		require.NoError(t, os.Remove(name))
	}
	got, _ := b.json("play", "spiking-back.safetensors", "--episodes", "2", "--steps", "5", "--gif", "none")
	require.Equal(t, "nir:spiking-again.nir", got.Policy)
	require.Contains(t, b.good("render", "Pendulum-v1", "--policy", "nir:spiking-delta.nir", "--steps", "3"),
		"Pendulum-v1.gif")
	require.Contains(t, b.good("play", "nir.nir", "--episodes", "1", "--steps", "2"), "nir-play.gif")
}

// What cannot be said in NIR is refused, and so are files that name no environment or do not fit the one they name.
func TestNIRExportsThatAreRefused(t *testing.T) {
	abs, err := filepath.Abs(members)
	require.NoError(t, err)
	b := newBed(t)
	g, err := nir.FromLayers(nir.Scale{DT: 1e-3}, nn.NewDense(random.New(1), 6, 2))
	require.NoError(t, err)
	require.NoError(t, g.WriteFile("foreign.nir"))
	policy.SetNIRMetadata(g, map[string]string{"env": "CartPole-v1", "steps": "500"})
	require.NoError(t, g.WriteFile("misfit.nir"))
	require.NoError(t, os.WriteFile("text.nir", []byte("no graph"), 0o600))
	// a spiking member whose observations are normalized
	s, err := Open(filepath.Join(abs, "spiking.safetensors"), "")
	require.NoError(t, err)
	normalized, err := Open(filepath.Join(abs, "pendulum-normalized.safetensors"), "")
	require.NoError(t, err)
	for _, name := range []string{"Observation.Mean", "Observation.Deviation"} {
		s.Arrays[name] = normalized.Arrays[name]
	}
	metadata := maps.Clone(s.Metadata)
	metadata["normalized_observations"] = "true"
	delete(metadata, "digest")
	require.NoError(t, safetensors.Save("normalized.safetensors", s.Arrays, metadata))
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"export", filepath.Join(abs, "gru.safetensors"), "--out", "x.nir"},
			"--out x.nir: NIR has nodes for spiking networks, and none for the policy gru"},
		{[]string{"export", filepath.Join(abs, "spiking-alif.safetensors"), "--out", "x.nir"},
			"NIR has no node for the dynamics fast:alif; it has one for fast"},
		{[]string{"export", filepath.Join(abs, "spiking-cubalif.safetensors"), "--out", "x.nir"},
			"NIR has no node for the dynamics fast:cubalif; it has one"},
		{[]string{"export", "normalized.safetensors", "--out", "x.nir"}, "observations are normalized"},
		{[]string{"play", "foreign.nir"}, "foreign.nir names no environment, as files of xlarun export do: xlarun " +
			"render ENV --policy nir:foreign.nir plays it in one, xlarun evolve ENV --policy nir:foreign.nir begins " +
			"from it"},
		{[]string{"play", "misfit.nir"}, "want a network of 8 inputs"},
		{[]string{"play", "text.nir"}, "does not begin as one of HDF5 does"},
		{[]string{"play", "gone.nir"}, "gone.nir cannot be read"},
		{[]string{"render", "Pendulum-v1", "--policy", "nir:foreign.nir"}, "want a network of 1 outputs"},
	} {
		status, out, errs := b.run(c.args...)
		require.Equal(t, console.StatusUsage, status, errs)
		require.Empty(t, out)
		require.Contains(t, errs, c.want)
		require.NoFileExists(t, "x.nir")
	}
}
