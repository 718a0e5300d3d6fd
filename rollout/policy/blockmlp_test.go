package policy

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/envs"
	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/settings"
)

// A block-sparse layer equals a dense one with zeros elsewhere, in a forward pass by hand.
func TestBlocksAreADenseLayerWithZeros(t *testing.T) {
	for _, c := range []struct {
		number  int
		what    string
		spec    string
		own     settings.Values
		outputs int
		there   []int // weights between hidden layers that are there, by layer
	}{
		{1, "half of the blocks, few outputs", "blockmlp:8,12", settings.Values{"block": 4, "density": .5}, 3,
			[]int{3 * 1 * 16}},
		{2, "three layers, many outputs", "blockmlp:12,8,4", settings.Values{"block": 2, "density": .34}, 9,
			[]int{4 * 2 * 4, 2 * 1 * 4}},
		{3, "all blocks", "blockmlp:8,8", settings.Values{"block": 4, "density": 1}, 2, []int{64}},
		{4, "one block each at least", "blockmlp:8,8", settings.Values{"block": 4, "density": .01}, 2, []int{2 * 16}},
		{5, "blocks of one unit", "blockmlp:5,3", settings.Values{"block": 1, "density": .4}, 2, []int{3 * 2}},
	} {
		made, _, err := Make(c.spec, c.own, observation, unbounded(c.outputs))
		require.NoError(t, err)
		p := NetworkOf(made).(*BlockMLP)
		params := p.Init(random.New(3))
		params.Blocks[0].B = random.Normal(random.New(4), params.Blocks[0].B.Shape()) // biases are zero at first
		x := []float64{.3, -.7, .2}
		layer := func(w, b, x []float64, tanh bool) []float64 {
			y := product(x, w)
			for i := range y {
				if y[i] += b[i]; tanh {
					y[i] = math.Tanh(y[i])
				}
			}
			return y
		}
		y := layer(floats(t, params.First.W), floats(t, params.First.B), x, true)
		size := p.Block
		for i, l := range p.layers {
			blocks, out := floats(t, params.Blocks[i].W), l.out*size
			require.Len(t, blocks, c.there[i], "case %d: %s", c.number, c.what)
			w := make([]float64, l.in*size*out)
			for o := range l.out {
				from := l.from[o*l.each : (o+1)*l.each]
				require.True(t, slices.IsSorted(from))
				require.Len(t, slices.Compact(slices.Clone(from)), l.each, "no block is there twice")
				for e, in := range from {
					for r := range size {
						for u := range size {
							w[(int(in)*size+r)*out+o*size+u] = blocks[((o*l.each+e)*size+r)*size+u]
						}
					}
				}
			}
			y = layer(w, floats(t, params.Blocks[i].B), y, true)
		}
		want := layer(floats(t, params.Last.W), floats(t, params.Last.B), y, false)
		for _, laid := range []any{params, p.Prepare(params)} {
			_, out := made.Act(laid, graph.None{}, graph.Float32s([]float32{.3, -.7, .2}), random.New(0))
			require.InDeltaSlice(t, want, floats(t, out.Action), 1e-5, "case %d: %s", c.number, c.what)
		}
	}
}

// Shared blocks depend on the seed and the sizes alone. Another seed gives others.
func TestBlocksFollowFromTheirSeed(t *testing.T) {
	from := func(seed int) []int32 {
		p, _, err := Make("blockmlp:64,64", settings.Values{"block": 4, "mask-seed": seed}, observation, envs.Discrete{
			N: 2})
		require.NoError(t, err)
		return NetworkOf(p).(*BlockMLP).layers[0].from
	}
	require.Equal(t, from(1), from(1))
	require.NotEqual(t, from(1), from(2))
	seen := map[int32]int{}
	for _, block := range from(0) {
		require.GreaterOrEqual(t, block, int32(0))
		require.Less(t, block, int32(16))
		seen[block]++
	}
	require.Len(t, seen, 16, "of 64 draws each of 16 blocks is one")
}

func TestWhatBlocksRefuse(t *testing.T) {
	for _, c := range []struct {
		number int
		what   string
		spec   string
		own    settings.Values
		want   string
	}{
		{1, "one hidden layer", "blockmlp:64", nil,
			`policy.hidden: got [64], want two hidden layers at least: the blocks are between them; mlp has one`},
		{2, "a layer of half a block", "blockmlp:64,40", nil,
			`policy.hidden: got 40, want a multiple of policy.block, 32`},
		{3, "nothing there", "blockmlp", settings.Values{"density": 0},
			`policy.density: got 0, want a number above 0, at most 1`},
		{4, "no block", "blockmlp", settings.Values{"block": 0},
			`policy.block: got 0, want a whole number from 1 to 1024`},
		{5, "more blocks than can be chosen among in no time", "blockmlp:262144,262144", settings.Values{"block": 1},
			`policy.hidden: got [262144 262144], want layers of at most 4194304 blocks: with blocks of 1, between ` +
				`262144 and 262144 units there are 68719476736; make the blocks larger`},
	} {
		_, _, err := Make(c.spec, c.own, observation, envs.Discrete{N: 2})
		require.EqualError(t, err, c.want, "case %d: %s", c.number, c.what)
		require.IsType(t, &settings.Error{}, err)
	}
}

// With own masks, members read different blocks, in order and without repetition, and equal a dense layer with zeros
// elsewhere.
func TestBlocksOfEachMember(t *testing.T) {
	made, _, err := Make("blockmlp:12,8", settings.Values{"block": "2", "density": "0.5", "masks": "own"}, observation,
		envs.Discrete{N: 3})
	require.NoError(t, err)
	p := NetworkOf(made).(*BlockMLP)
	keys := random.Split(random.New(4), 3)
	members := graph.VMap(p.Init)(keys)
	from := floats(t, members.Blocks[0].From) // [members, 4 blocks of units, 3 blocks that each reads]
	require.Len(t, from, 3*4*3)
	require.NotEqual(t, from[:12], from[12:24])
	second := graph.MapTree(func(a *graph.Array) *graph.Array { return a.Index(1) }, members)
	for i, of := range []struct {
		policy Policy
		params any
	}{{made, second}, {&Normalizing{Inner: made}, Normalized{Own: second}}} {
		// what is exported is the member's own, however it sees
		description, err := of.policy.Traits().Describe(of.params)
		require.NoError(t, err)
		reads := description["reads"].([][][]int32)
		var flat []float64
		for _, r := range slices.Concat(reads[0]...) {
			flat = append(flat, float64(r))
		}
		require.EqualValues(t, from[12:24], flat, "case %d", i+1)
	}
	for i := 0; i < len(from); i += 3 {
		require.True(t, 0 <= from[i] && from[i] < from[i+1] && from[i+1] < from[i+2] && from[i+2] < 6, from[i:i+3])
	}
	x := graph.Float32s([]float32{1, -2, .5})
	got := floats(t, graph.VMap(func(params BlockParams) *graph.Array {
		_, out := made.Act(p.Prepare(params), graph.None{}, x, random.New(0))
		return out.Action
	})(members))
	for m := range 3 {
		one := graph.MapTree(func(a *graph.Array) *graph.Array { return a.Index(m) }, members)
		w, blocks := make([]float32, 12*8), floats(t, one.Blocks[0].W) // [4, 6, 2]
		for to := range 4 {
			for k := range 6 {
				row := int(from[m*12+to*3+k/2])*2 + k%2
				for c := range 2 {
					w[row*8+to*2+c] = float32(blocks[(to*6+k)*2+c])
				}
			}
		}
		h := one.First.Apply(x).Tanh()
		h = h.Dot(graph.Float32s(w).Reshape(12, 8)).Add(one.Blocks[0].B).Tanh()
		require.InDeltaSlice(t, floats(t, one.Last.Apply(h)), got[m*3:m*3+3], 1e-5)
	}
}
