package rollout

import (
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/envs"
	"xlarun/envs/classic"
	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/policy"
)

func floats(t *testing.T, a *graph.Array) []float64 {
	t.Helper()
	v, err := graph.Floats(a)
	require.NoError(t, err)
	return v
}

func newRollout(t *testing.T, env, spec string, steps, episodes int) *Rollout {
	t.Helper()
	e, err := envs.Make(env)
	require.NoError(t, err)
	p, err := policy.Make(spec, e.Spec().Observation, e.Spec().Action)
	require.NoError(t, err)
	return &Rollout{Env: e, Policy: p, Steps: steps, Episodes: episodes}
}

// byLoop plays one episode in a Go loop, step by step, and stops where it ends.
func byLoop(t *testing.T, r *Rollout, params any, key random.Key) (sum, length float64) {
	t.Helper()
	p := r.Env.DefaultParams()
	state, observation := r.Env.Reset(random.FoldIn(key, 0), p)
	for i := range r.Steps {
		var reward, terminated, truncated *graph.Array
		state, observation, reward, terminated, truncated = r.Env.Step(random.FoldIn(key, i+1), state, r.Policy.Act(params, observation), p)
		v, err := graph.Eval([]*graph.Array{reward, terminated, truncated})
		require.NoError(t, err)
		sum += floats(t, v[0])[0]
		length++
		if floats(t, v[1])[0]+floats(t, v[2])[0] > 0 {
			break
		}
	}
	return sum, length
}

// A population's episodes are those of its members, one by one, and what comes after the end does not count.
func TestEvaluateIsALoop(t *testing.T) {
	for _, c := range []struct {
		env   string
		steps int
	}{{"CartPole-v1", 40}, {"Pendulum-v1", 10}, {"MountainCarContinuous-v0", 10}} {
		t.Run(c.env, func(t *testing.T) {
			r := newRollout(t, c.env, "mlp:3", c.steps, 1)
			const members = 4
			keys := random.Split(random.New(5), members)
			population := graph.VMap(func(k random.Key) any { return r.Policy.Init(k) })(random.Split(random.New(6), members))
			fitness, summary := r.Evaluate(population, keys)
			returns, lengths := floats(t, fitness), floats(t, summary.Length)
			require.Equal(t, returns, floats(t, summary.Return))
			ended := false
			for i := range members {
				params := graph.MapTree(func(a *graph.Array) *graph.Array { return graph.Index(a, i) }, population)
				sum, length := byLoop(t, r, params, keys.At(i))
				require.InDelta(t, sum, returns[i], 1e-3)
				require.Equal(t, length, lengths[i])
				ended = ended || length < float64(c.steps)
			}
			require.Equal(t, c.env == "CartPole-v1", ended)
		})
	}
}

// Several episodes: the mean of single ones, each with a key of its own.
func TestEpisodesAreAveraged(t *testing.T) {
	r := newRollout(t, "Pendulum-v1", "linear", 5, 3)
	params, key := r.Policy.Init(random.New(1)), random.New(2)
	got, err := graph.Eval(r.Member(params, key))
	require.NoError(t, err)
	sum, returns := 0., map[float64]bool{}
	for e := range 3 {
		one, err := graph.Eval(r.Episode(params, random.FoldIn(key, e)))
		require.NoError(t, err)
		sum += floats(t, one.Return)[0]
		returns[floats(t, one.Return)[0]] = true
	}
	require.InDelta(t, sum/3, floats(t, got.Return)[0], 1e-4)
	require.Len(t, returns, 3)
}

func TestEnvParamsAreUsed(t *testing.T) {
	r := newRollout(t, "CartPole-v1", "linear", 30, 1)
	params, key := r.Policy.Init(random.New(1)), random.New(2)
	p := r.Env.DefaultParams().(classic.CartPoleParams)
	p.MaxSteps = graph.Of(int32(4))
	r.EnvParams = p
	got, err := graph.Eval(r.Episode(params, key))
	require.NoError(t, err)
	require.Equal(t, []float64{4}, floats(t, got.Length))
}

func TestRavel(t *testing.T) {
	tree := policy.Params{Layers: []policy.Dense{
		{W: graph.Float32s([]float32{1, 2, 3, 4, 5, 6}, 2, 3), B: graph.Float32s([]float32{7, 8, 9})},
		{W: graph.Float32s([]float32{10, 11, 12}, 3, 1), B: graph.Float32s([]float32{13})},
	}}
	l := LayoutOf(tree)
	require.Equal(t, 13, l.Size())
	v := l.Ravel(tree)
	require.Equal(t, []float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13}, floats(t, v))
	back := l.Unravel(v).(policy.Params)
	require.Equal(t, []int{2, 3}, back.Layers[0].W.Dims())
	require.Equal(t, []float64{4, 5, 6}, floats(t, graph.Index(back.Layers[0].W, 1)))
	require.Equal(t, []float64{13}, floats(t, back.Layers[1].B))
	for _, c := range []struct {
		f    func()
		want string
	}{
		{func() { l.Unravel(graph.Zeros(graph.ShapeOf(graph.Float32, 12))) }, "got f32[12], want f32[13]"},
		{func() { l.Ravel(policy.Params{}) }, "got a tree of 0 leaves, want 4"},
		{func() { LayoutOf([]*graph.Array{graph.Iota(3)}) }, "parameter [0] is i32[3], want float32"},
	} {
		require.ErrorContains(t, graph.Try(c.f), c.want)
	}
}

func TestCutTiles(t *testing.T) {
	for _, c := range []struct {
		items, lanes, devices, perDevice int
	}{{128, 64, 1, 2}, {128, 64, 2, 1}, {129, 64, 2, 2}, {1, 64, 8, 1}, {1000, 10, 8, 13}} {
		got := CutTiles(c.items, c.lanes, c.devices)
		require.Equal(t, c.perDevice, got.PerDevice, "%+v", c)
		require.GreaterOrEqual(t, got.Total()*got.Lanes, c.items)
	}
}

// Each runs the tiles that hold something, in order, and no others.
func TestEachTile(t *testing.T) {
	tiles := CutTiles(5, 2, 1) // 3 tiles
	tiles.PerDevice = 4        // and one of padding
	f := func(perDevice *graph.Array) *graph.Array {
		return Each(tiles, perDevice, tiles.Rows(graph.Float32, 2), func(i *graph.Array) *graph.Array {
			x := graph.Convert(i, graph.Float32)
			return graph.Stack([]*graph.Array{graph.Add(x, 1), graph.Mul(x, 10)}, 0)
		})
	}
	p, err := graph.TraceArgs("tiles", []any{graph.Of(int32(4))}, graph.TraceOptions{}, func(args []any) any { return f(args[0].(*graph.Array)) })
	require.NoError(t, err)
	out, err := p.Interpret([]*graph.Array{graph.Of(int32(4))}, nil)
	require.NoError(t, err)
	require.Equal(t, []float64{1, 0, 2, 10, 3, 20, 0, 0, 0, 0}, floats(t, out[0]))
}
