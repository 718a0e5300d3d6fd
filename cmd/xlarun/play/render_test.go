package play

import (
	"bytes"
	"encoding/json"
	"image"
	"image/gif"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/envs"
	"xlarun/graph"
	"xlarun/graph/graphtest"
	"xlarun/graph/random"
	"xlarun/graph/safetensors"
	"xlarun/rollout/episode"
	"xlarun/xlabridge"
)

// rendered is the result of a command line with --json.
func (b *bed) rendered(args ...string) (r Rendered) {
	b.t.Helper()
	lines := strings.Split(strings.TrimSpace(b.good(append(args, "--json")...)), "\n")
	require.NoError(b.t, json.Unmarshal([]byte(lines[len(lines)-1]), &r))
	return r
}

func pngOf(t *testing.T, path string) image.Image {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	img, err := png.Decode(bytes.NewReader(data))
	require.NoError(t, err)
	return img
}

// An environment is drawn with a policy that plays at random, or one as it is made; the same seed gives the same
// pictures.
func TestRenderEnvironment(t *testing.T) {
	b := newBed(t)
	for _, policy := range []string{"random", "mlp:3"} {
		args := []string{"render", "Pendulum-v1", "--policy", policy, "--steps", "4", "--size", "96x80", "--seed", "5"}
		r := b.rendered(append(args, "--png", policy)...)
		require.Equal(t, Rendered{Env: "Pendulum-v1", Policy: policy, Seed: 5, Steps: 4, Return: r.Return, Frames: 5,
			Gif: "Pendulum-v1.gif", Png: policy}, r)
		first, err := os.ReadFile("Pendulum-v1.gif")
		require.NoError(t, err)
		film, err := gif.DecodeAll(bytes.NewReader(first))
		require.NoError(t, err)
		require.Len(t, film.Image, 5)
		for _, step := range []string{"0", "1", "2", "3", "4"} {
			require.Equal(t, image.Pt(96, 80), pngOf(t, filepath.Join(policy, step+".png")).Bounds().Size())
		}
		require.NotEqual(t, pngOf(t, filepath.Join(policy, "0.png")), pngOf(t, filepath.Join(policy, "4.png")))
		b.rendered(args...)
		again, err := os.ReadFile("Pendulum-v1.gif")
		require.NoError(t, err)
		require.Equal(t, first, again)
	}
	one, other := *b.rendered("render", "Pendulum-v1", "--steps", "4").Return, *b.rendered("render", "Pendulum-v1",
		"--steps", "4", "--env-param", "max-torque=0").Return
	require.NotEqual(t, one, other)
	require.Equal(t, 3, b.rendered("render", "CartPole-v1", "--env-param", "max-steps=3", "--out", "none", "--png",
		"few", "--frames", "2").Steps)
	names, err := filepath.Glob("few/*")
	require.NoError(t, err)
	require.Equal(t, []string{"few/0.png", "few/3.png"}, names)
}

// A saved member is drawn as play draws it, with the parameters that it was saved with.
func TestRenderMember(t *testing.T) {
	b := newBed(t)
	r := b.save("run/best.safetensors", "CartPole-v1", "mlp:3", 30, 1)
	rec, err := Record(&xlabridge.Reference{}, r, r.Policy.Init(random.New(1)), 9) // the run's seed is 8
	require.NoError(t, err)
	got := b.rendered("render", "run", "--frames", "2")
	require.Equal(t, rec.Length, got.Steps)
	require.InDelta(t, rec.Return(rec.Length), *got.Return, 1e-4)
	require.Equal(t, "run/render.gif", got.Gif)
	film, err := os.ReadFile("run/render.gif")
	require.NoError(t, err)
	want, err := Draw(r.Env, rec, seedText(9), 2)
	require.NoError(t, err)
	require.Equal(t, want, film)

	metadata := episode.Describe("CartPole-v1", "mlp:3", nil, 30)
	_, given, err := episode.ReadEnvParams(r.Env, map[string]string{"max-steps": "4"})
	require.NoError(t, err)
	episode.DescribeParams(metadata, given)
	require.NoError(t, safetensors.Save("m.safetensors", r.Policy.Init(random.New(1)), metadata))
	require.Equal(t, 4, b.rendered("render", "m.safetensors").Steps)
	require.FileExists(t, "m.gif")
	played, _ := b.json("play", "m.safetensors", "--episodes", "3", "--gif", "none")
	require.Equal(t, 4., *played.MeanLength)
	require.Equal(t, 6, b.rendered("render", "m.safetensors", "--env-param", "max-steps=6", "--seed", "9").Steps)
	require.Equal(t, 4, b.rendered("render", "m.safetensors", "--env-param", "gravity=9.7").Steps,
		"the run's other parameters stay")
}

// What plays at random plays every action of a space, and no other.
func TestAimless(t *testing.T) {
	for _, id := range []string{"CartPole-v1", "Pendulum-v1"} {
		env, err := envs.Make(id)
		require.NoError(t, err)
		o := rendering{policy: randomName, out: "x.gif"}
		m, err := o.untrainedMember(id, func(string) bool { return false })
		require.NoError(t, err)
		actions := graph.VMap(func(key random.Key) *graph.Array {
			_, out := m.Policy.Act(m.Params, m.Policy.Start(m.Params), nil, key)
			return graph.Convert(graph.Flatten1D(m.Head.Action(out.Action)), graph.Float32)
		})(random.Split(random.New(1), 2000))
		v := graphtest.Floats(t, actions)
		mean, least, most := 0., v[0], v[0]
		for _, x := range v {
			mean, least, most = mean+x/2000, min(least, x), max(most, x)
		}
		if id == "CartPole-v1" {
			require.InDelta(t, .5, mean, .05)
			require.Equal(t, []float64{0, 1}, []float64{least, most})
			continue
		}
		require.InDelta(t, 0, mean, .15)
		require.InDeltaSlice(t, []float64{-2, 2}, []float64{least, most}, .05)
		inside := graphtest.Floats(t, env.Spec().Action.Contains(graph.Float32s([]float32{float32(most)})))
		require.Equal(t, []float64{1}, inside)
	}
}
