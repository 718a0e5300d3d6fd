package envs_test

import (
	"encoding/binary"
	"image"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/envs"
	"xlarun/envs/envtest"
	"xlarun/envs/gymnaxtest"
	_ "xlarun/envs/mnist"
	"xlarun/graph"
	"xlarun/graph/random"
)

// digitsIn writes two IDX files.
func digitsIn(t *testing.T, dims []uint32, pictures, labels []byte) string {
	t.Helper()
	dir := t.TempDir()
	file := func(name string, data []byte, dims ...uint32) {
		out := []byte{0, 0, 8, byte(len(dims))}
		for _, d := range dims {
			out = binary.BigEndian.AppendUint32(out, d)
		}
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), append(out, data...), 0o600))
	}
	file("train-images-idx3-ubyte", pictures, dims...)
	file("train-labels-idx1-ubyte", labels, uint32(len(labels)))
	return dir
}

// digits writes the pictures of third_party/oracles/gymnax_games.py, 40 of 6 x 5 pixels, into a folder.
func digits(t *testing.T) string {
	var data, labels []byte
	for i := range 40 {
		labels = append(labels, byte(3*i%10))
		for r := range 6 {
			for c := range 5 {
				data = append(data, byte((37*i+11*r+5*c*c)%256))
			}
		}
	}
	return digitsIn(t, []uint32{40, 6, 5}, data, labels)
}

// Transitions and resets equal gymnax's.
func TestMNISTMatchesGymnax(t *testing.T) {
	env, err := envs.Make("mnist:" + digits(t))
	require.NoError(t, err)
	gymnaxtest.Match(t, env, "mnist/testdata/MNISTBandit-bsuite-v1.json.gz", nil)
}

// It keeps its Spec, and is drawn.
func TestMNISTKeepsItsSpec(t *testing.T) {
	dir := digits(t)
	env, err := envs.Make("mnist:" + dir)
	require.NoError(t, err)
	require.Equal(t, "mnist:"+dir, env.Spec().ID)
	require.NoError(t, envtest.Check(env))
	state, _ := env.Reset(random.New(1), env.DefaultParams())
	leaves, structure := graph.Flatten(state)
	for i, a := range leaves {
		tensor, err := graph.ToTensor(a)
		require.NoError(t, err)
		leaves[i] = tensor.Array()
	}
	d := envs.TraitsOf(env).Draw
	require.NotNil(t, d)
	img, err := d(structure.Unflatten(leaves), image.Pt(60, 70))
	require.NoError(t, err)
	require.Equal(t, image.Pt(60, 70), img.Bounds().Size())
	_, err = d(3, image.Pt(60, 70))
	require.ErrorContains(t, err, "cannot draw a int")
}

// Pictures that are missing or damaged are one sentence.
func TestMNISTRefusals(t *testing.T) {
	for _, c := range []struct{ name, folder, want string }{
		{"no folder", filepath.Join(t.TempDir(), "none"), "cannot be read"},
		{"no picture", digitsIn(t, []uint32{0, 6, 5}, nil, nil), "there is no picture in it"},
		{"labels", digitsIn(t, []uint32{1, 1, 1}, []byte{1}, []byte{1, 2}), "it has 2 labels for 1 pictures"},
		{"no digit", digitsIn(t, []uint32{1, 1, 1}, []byte{1}, []byte{10}), "label 0 is 10, want a digit"},
	} {
		_, err := envs.Make("mnist:" + c.folder)
		require.ErrorContains(t, err, c.want, c.name)
	}
	// Without the data set, the command that fetches it is named.
	t.Setenv("XLARUN_CACHE", t.TempDir())
	_, err := envs.Make("mnist:")
	require.ErrorContains(t, err, "run xlarun sparse --updates 1 --out none, or give a folder")
}
