package episode

import (
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/envs"
	"xlarun/envs/classic"
	_ "xlarun/envs/grid"
	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/graph/safetensors"
	"xlarun/rollout/settings"
	"xlarun/xlabridge"
)

func given(t *testing.T, env envs.Environment, text string) []EnvParam {
	t.Helper()
	p, ok := settings.ParsePairs(text)
	require.True(t, ok, text)
	_, all, err := ReadEnvParams(env, p)
	require.NoError(t, err)
	return all
}

// Each text is read, or refused with the possible values.
func TestReadEnvParams(t *testing.T) {
	env, err := envs.Make("CartPole-v1")
	require.NoError(t, err)
	for _, c := range []struct {
		number     int
		name, text string
		want       string // of the error; "": none
	}{
		{1, "mass-cart", "2", ""},
		{2, "mass-cart", "1..2", ""},
		{3, "mass-cart", "1..1", ""},
		{4, "gravity", "-1e3..-1", ""},
		{5, "max-steps", "3", ""},
		{6, "max-steps", "3..1e2", ""},
		{7, "mass-cart", "", "want a number above 0 that a float32 holds for mass-cart of CartPole-v1, or two with " +
			`.. between them, "0.1..0.3", from which each episode draws one`},
		{8, "mass-cart", "NaN", "want a number above 0 that a float32 holds"},
		{9, "mass-cart", "Inf", "want a number above 0 that a float32 holds"},
		{10, "mass-cart", "1e39", "want a number above 0 that a float32 holds"},
		{11, "mass-cart", "1e-60", "want a number above 0 that a float32 holds"},
		{12, "mass-cart", "1..", "want a number above 0 that a float32 holds"},
		{13, "mass-cart", "1..2..3", "want a number above 0 that a float32 holds"},
		{14, "mass-cart", "1..inf", "want a number above 0 that a float32 holds"},
		{15, "mass-cart", "2..1", "want the smaller bound first: mass-cart=1..2"},
		{16, "max-steps", "1.5", "want a whole number from 1 to 2147483647"},
		{17, "max-steps", "2147483648", "want a whole number from 1 to 2147483647"},
		{18, "max-steps", "1..2.5", "want a whole number from 1 to 2147483647"},
		{19, "mass-car", "1", "did you mean mass-cart?"},
		{20, "", "1", "want one of the parameters that CartPole-v1 has: gravity, mass-cart, mass-pole, length, " +
			"force-mag, tau, theta-threshold, x-threshold, max-steps"},
		{21, "max-steps", "2147483647", ""}, // was refused: only a range's end has to have a number after it
		{22, "max-steps", "5..2147483647", "want a range of whole numbers that ends with 2147483646 at most"},
		{23, "max-steps", "-3", "want a whole number from 1 to 2147483647 for max-steps of CartPole-v1"}, // was taken
		{24, "max-steps", "0..4", "want a whole number from 1 to 2147483647"},
		{25, "tau", "0", "want a number above 0 that a float32 holds for tau of CartPole-v1"}, // was taken
		{26, "gravity", "0", ""},
	} {
		_, _, err := ReadEnvParams(env, settings.Pairs{c.name: c.text})
		if c.want == "" {
			require.NoError(t, err, "case %d", c.number)
			continue
		}
		require.ErrorContains(t, err, c.want, "case %d", c.number)
		require.ErrorAs(t, err, new(*settings.Error), "case %d", c.number)
	}
	var none envs.Environment = envs.Erase(bare{})
	_, _, err = ReadEnvParams(none, settings.Pairs{"size": "1"})
	require.ErrorContains(t, err, "has no parameters that are numbers")
}

// bare has a vector as its parameters.
type bare struct{ classic.CartPole }

func (bare) DefaultParams() classic.CartPoleParams {
	p := classic.CartPole{}.DefaultParams()
	return graph.MapTree(func(a *graph.Array) *graph.Array { return a.BroadcastTo(2) }, p)
}

// A given number replaces the environment's parameter, as an input of the program too.
func TestGivenParamsAreUsed(t *testing.T) {
	r := newRollout(t, "CartPole-v1", "linear", 30, 1)
	member, key := r.Policy.Init(random.New(1)), random.New(2)
	own := *r
	p := r.Env.DefaultParams().(classic.CartPoleParams)
	p.MaxSteps, p.Gravity = graph.Of(int32(7)), graph.Of(float32(-3.5))
	own.EnvParams = p
	r.Given = given(t, r.Env, "max_steps=7, gravity=-3.5")
	require.Equal(t, settings.Pairs{"max-steps": "7", "gravity": "-3.5"}, envTexts(r.Given))
	want, got := own.Episode(member, key), r.Episode(member, key)
	require.Equal(t, []float64{7}, floats(t, got.Length))
	require.Equal(t, floats(t, want.Return), floats(t, got.Return))

	in := r.Inputs()
	require.Len(t, in, 2)
	in["env.max-steps"] = graph.Of(int32(4))
	require.Equal(t, []float64{4}, floats(t, r.Bound(in).Episode(member, key).Length))
}

// Each episode draws from a range by its key, the same in a loop, in a population and in a recording.
func TestRangesAreDrawnByEpisode(t *testing.T) {
	r := newRollout(t, "CartPole-v1", "linear", 40, 3)
	r.Given = given(t, r.Env, "max-steps=3..6,gravity=5..15")
	const members = 16
	seen := map[float64]bool{}
	for i := range 64 {
		p := r.envParams(random.New(int64(i))).(classic.CartPoleParams)
		steps, gravity := floats(t, p.MaxSteps)[0], floats(t, p.Gravity)[0]
		seen[steps] = true
		require.True(t, gravity >= 5 && gravity <= 15, gravity)
	}
	require.Equal(t, map[float64]bool{3: true, 4: true, 5: true, 6: true}, seen)

	keys := random.Split(random.New(5), members)
	population := graph.VMap(func(k random.Key) any { return r.Policy.Init(k) })(random.Split(random.New(6), members))
	_, together := r.Evaluate(population, keys)
	lengths := floats(t, together.Length)
	for i := range members {
		mean := 0.
		for e := range 3 {
			p := r.envParams(random.FoldIn(keys.At(i), e)).(classic.CartPoleParams)
			mean += floats(t, p.MaxSteps)[0] / 3
		}
		require.InDelta(t, mean, lengths[i], 1e-5, "member %d", i)
	}
	one := graph.MapTree(func(a *graph.Array) *graph.Array { return a.Index(0) }, population)
	rec, err := Record(&xlabridge.Reference{}, r, one, random.FoldIn(keys.At(0), 1))
	require.NoError(t, err)
	p := r.envParams(random.FoldIn(keys.At(0), 1)).(classic.CartPoleParams)
	require.Equal(t, floats(t, p.MaxSteps)[0], float64(rec.Length))
	require.True(t, rec.Truncated)
}

// A member's metadata has the given parameters of its environment.
func TestMembersKeepTheirParams(t *testing.T) {
	r := newRollout(t, "CartPole-v1", "linear", 30, 1)
	metadata := Describe("CartPole-v1", "linear", nil, 30)
	DescribeParams(metadata, nil)
	require.NotContains(t, metadata, "env_params")
	DescribeParams(metadata, given(t, r.Env, "max-steps=2..9,tau=.01"))
	require.Equal(t, "max-steps=2..9,tau=0.01", metadata["env_params"])
	params, err := graph.Eval(r.Policy.Init(random.New(0)))
	require.NoError(t, err)
	arrays := map[string]*graph.Array{}
	leaves, tree := graph.Flatten(params)
	for i, a := range leaves {
		arrays[safetensors.Name(tree.Path(i))] = a
	}
	m, err := Restore(arrays, metadata)
	require.NoError(t, err)
	require.Equal(t, settings.Pairs{"max-steps": "2..9", "tau": "0.01"}, envTexts(m.Given))
	for _, text := range []string{"tau", "taus=1", "tau=x", "tau=1,tau=2"} {
		metadata["env_params"] = text
		_, err = Restore(arrays, metadata)
		require.Error(t, err, text)
	}
}

// A size makes another environment, which a saved member carries: Gather-v1 accepted a width of 26, and meant 16.
func TestSizes(t *testing.T) {
	env, err := envs.Make("Gather-v1")
	require.NoError(t, err)
	for number, c := range []struct {
		text  string
		cells []int // of the field and of a side of the view
		want  string
	}{
		{"width=8", []int{22, 7}, ""}, // usable cells of the same grid
		{"width=26", []int{22, 7}, ""},
		{"width=27", []int{44, 7}, ""},
		{"width=8..27", []int{44, 7}, ""},
		{"width=32,height=32,view=9", []int{80, 9}, ""},
		{"view=8", nil, "want an odd number from 3 to 31 for view of Gather-v1"},
		{"view=7..9", nil, "want an odd number from 3 to 31"},
		{"width=257", nil, "want a whole number from 1 to 256 for width of Gather-v1"},
	} {
		pairs, ok := settings.ParsePairs(c.text)
		require.True(t, ok)
		sized, all, err := ReadEnvParams(env, pairs)
		if c.want != "" {
			require.ErrorContains(t, err, c.want, "case %d", number)
			continue
		}
		require.NoError(t, err, "case %d", number)
		require.Equal(t, pairs, envTexts(all), "case %d", number)
		state, obs := sized.Reset(random.New(0), sized.DefaultParams())
		require.Equal(t, c.cells, []int{graph.Leaves(state)[0].Dim(1), obs.Dim(1)}, "case %d", number)
	}
	for _, c := range []struct{ text, shape string }{{"width=8", "width"}, {"width=27", "width 27"},
		{"width=8..27", "width.. 27"}, {"view=9,walls=0.2", "view 9, walls"}} {
		pairs, _ := settings.ParsePairs(c.text)
		require.Equal(t, c.shape, pairs.Shape("Gather-v1"))
	}
}
