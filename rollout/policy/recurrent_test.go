package policy

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/envs"
	"xlarun/graph"
	"xlarun/graph/nn"
	"xlarun/graph/nn/nir"
	"xlarun/graph/random"
	"xlarun/rollout/settings"
)

// image is a space of observations with three axes.
var image = envs.Box{Low: []float64{0}, High: []float64{1}, Dims: []int{5, 4, 2}, DType: graph.Bool}

// made returns one policy of each kind, of sizes that are not multiples of a register.
func made(t *testing.T) map[string]Policy {
	t.Helper()
	all := map[string]Policy{}
	for _, spec := range []string{"mlp:5", "gru:5", "lstm:5", "mingru:5", "elman:5", "ctrnn:5", "cnn:3",
		"blockmlp:64,32", "normedmlp:5,4", "spiking:7,5", "transformer:8,2"} {
		space := envs.Space(observation)
		if spec == "cnn:3" {
			space = image
		}
		p, _, err := Make(spec, nil, space, envs.Discrete{N: 3})
		require.NoError(t, err, spec)
		all[spec] = p
	}
	g, err := nir.FromLayers(nir.Scale{DT: 1e-3},
		nn.NewDense(random.New(1), 3, 7, nn.NoBias(), nn.Weights(nn.Normal(3))),
		nn.NewLIF(random.New(2), 7, nn.Decay(.9), nn.Feedback()),
		nn.NewDense(random.New(3), 7, 5, nn.Weights(nn.Normal(1))),
		nn.NewCuBaLIF(random.New(4), 5, nn.Decay(.8), nn.Synapse(.5)), nn.NewDense(random.New(5), 5, 3),
		nn.NewLI(3, nn.Decay(.9)))
	require.NoError(t, err)
	all["nir"], _, err = Make("nir:"+written(t, g), settings.Values{"input": "observation"}, observation,
		envs.Discrete{N: 3})
	require.NoError(t, err)
	return all
}

func remembers(spec string) bool {
	return spec != "mlp:5" && spec != "cnn:3" && spec != "blockmlp:64,32" && spec != "normedmlp:5,4"
}

// seen returns observations for a policy, [steps, …].
func seen(spec string, key random.Key, steps int) *graph.Array {
	if spec == "cnn:3" {
		return random.Normal(key, graph.ShapeOf(graph.Float32, steps, 5, 4, 2))
	}
	return random.Normal(key, graph.ShapeOf(graph.Float32, steps, 3))
}

// prepared returns parameters as the episode's loop uses them.
func prepared(p Policy, params any) any {
	if form := p.Traits().Prepared; form != nil {
		return form.Prepare(params)
	}
	return params
}

// A population equals a loop over its members, also in Init.
func TestVMapIsALoopOverMembers(t *testing.T) {
	for spec, p := range made(t) {
		t.Run(spec, func(t *testing.T) {
			const members, steps = 3, 4
			member := func(key random.Key) *graph.Array {
				mine, world := random.Split2(key)
				return outputs(p, prepared(p, p.Init(mine)), seen(spec, world, steps))
			}
			var want []float64
			for _, key := range random.SplitN(random.New(3), members) {
				want = append(want, floats(t, member(key))...)
			}
			got := graph.VMap(member)(random.Split(random.New(3), members))
			require.Equal(t, []int{members, steps, 3}, got.Dims())
			require.InDeltaSlice(t, want, floats(t, got), 1e-5)
			last := graph.VMap(member, graph.BatchLast())(random.Split(random.New(3), members))
			require.InDeltaSlice(t, want, floats(t, last), 1e-5)
		})
	}
}

// NaN in one member's observation reaches its own outputs only.
func TestNaNStaysWithItsMember(t *testing.T) {
	for spec, p := range made(t) {
		t.Run(spec, func(t *testing.T) {
			const members, steps = 3, 4
			params := graph.VMap(func(key random.Key) any {
				return prepared(p, p.Init(key))
			})(random.Split(random.New(3), members))
			x := graph.Stack([]*graph.Array{seen(spec, random.New(1), steps), seen(spec, random.New(2), steps),
				seen(spec, random.New(3), steps)}, 0)
			dirty := floats(t, x)
			per := len(dirty) / members / steps
			for i := range per { // member 1, step 2
				dirty[(steps+2)*per+i] = math.NaN()
			}
			wrong := make([]float32, len(dirty))
			for i, v := range dirty {
				wrong[i] = float32(v)
			}
			run := graph.VMap2(func(params any, x *graph.Array) *graph.Array { return outputs(p, params, x) })
			clean, got := floats(t, run(params, x)), floats(t, run(params, graph.Float32s(wrong, x.Dims()...)))
			for i := range clean {
				member, step := i/(steps*3), i/3%steps
				if member == 1 && (step == 2 || step > 2 && remembers(spec)) {
					require.True(t, math.IsNaN(got[i]), "member %d, step %d: %g", member, step, got[i])
					continue
				}
				require.Equal(t, math.Float64bits(clean[i]), math.Float64bits(got[i]), "member %d, step %d", member,
					step)
			}
		})
	}
}

// The carry keeps its structure, shapes and dtypes for every dtype of observations. It starts at zero.
func TestCarriesKeepTheirShapes(t *testing.T) {
	for _, spec := range []string{"gru:5", "lstm:5", "mingru:5", "elman:5", "ctrnn:5"} {
		for _, space := range []envs.Space{
			envs.Discrete{N: 4}, observation,
			envs.Box{Low: []float64{0}, High: []float64{9}, Dims: []int{2, 2}, DType: graph.Int32},
			envs.Box{Low: []float64{0}, High: []float64{1}, Dims: []int{3}, DType: graph.Bool},
			envs.Box{Low: []float64{0}, High: []float64{255}, Dims: []int{2, 1, 3}, DType: graph.Uint8},
		} {
			p, _, err := Make(spec, nil, space, envs.Discrete{N: 2})
			require.NoError(t, err)
			drawn := p.Init(random.New(1))
			for units, params := range map[int]any{5: drawn, register: prepared(p, drawn)} {
				start := p.Start(params)
				next, out := p.Act(params, start, graph.Zeros(space.Shape()), random.New(0))
				require.Equal(t, []int{2}, out.Action.Dims())
				want, tree := graph.Flatten(start)
				got, now := graph.Flatten(next)
				require.Equal(t, len(want), len(got))
				for i := range want {
					require.Equal(t, tree.Path(i), now.Path(i))
					require.True(t, want[i].Shape().Equal(graph.ShapeOf(graph.Float32, units)), "%s: %s", spec,
						want[i].Shape())
					require.True(t, got[i].Shape().Equal(want[i].Shape()), "%s: %s", spec, got[i].Shape())
					require.Equal(t, make([]float64, units), floats(t, want[i]))
				}
			}
		}
	}
}

// The output of a policy with memory depends on earlier observations, that of others does not.
func TestPoliciesRemember(t *testing.T) {
	for spec, p := range made(t) {
		x := seen(spec, random.New(6), 3)
		y := floats(t, outputs(p, p.Init(random.New(2)), graph.Concatenate(0, x, graph.SliceAxis(x, 0, 0, 1))))
		same := true
		for i := range 3 {
			same = same && y[i] == y[9+i]
		}
		require.Equal(t, !remembers(spec), same, spec)
	}
}

func TestSizes(t *testing.T) {
	const in, units, out = 3, 5, 3 // out of the linear layer: units*out + out
	for spec, want := range map[string]int{
		"gru:5":    3*(in*units+units*units+units) + units,
		"lstm:5":   4 * (in*units + units*units + units),
		"mingru:5": 2 * (in*units + units),
		"elman:5":  in*units + units*units + units,
		"ctrnn:5":  in*units + units*units + 2*units,
	} {
		n, err := Size(made(t)[spec])
		require.NoError(t, err)
		require.Equal(t, want+units*out+out, n, spec)
	}
	n, err := Size(made(t)["blockmlp:64,32"])
	require.NoError(t, err)
	require.Equal(t, 3*64+64+32*32+32+32*3+3, n) // one of two blocks is there
	n, err = Size(made(t)["cnn:3"])
	require.NoError(t, err)
	require.Equal(t, 3*3*2*3+3+(3*2*3)*32+32+32*3+3, n)
}

// Weights have variance 1/in in all gates. Biases are zero, except those of the forget gate.
func TestRecurrentInit(t *testing.T) {
	for _, spec := range []string{"gru:64", "lstm:64", "mingru:64", "elman:64", "ctrnn:64"} {
		p, _, err := Make(spec, nil, unbounded(40), unbounded(30))
		require.NoError(t, err)
		all, tree := graph.Flatten(p.Init(random.New(5)))
		for i, leaf := range all {
			sum, values := 0., floats(t, leaf)
			for _, v := range values {
				sum += v * v
			}
			mean := sum / float64(len(values))
			switch path := tree.Path(i); {
			case path == ".Cell.Time":
				require.InDelta(t, 1, mean, .5, spec)
			case leaf.Rank() == 2:
				require.InDelta(t, 1, mean*float64(leaf.Dim(0)), .15, "%s: %s", spec, path)
			case spec == "lstm:64" && path == ".Cell.B":
				require.Equal(t, .25, mean) // one gate of four has ones
			default:
				require.Zero(t, mean, "%s: %s", spec, path)
			}
		}
	}
}

// Time constants stay within their bounds for any Time. With twice the dt, a slow unit moves twice as far.
func TestTimeConstants(t *testing.T) {
	for _, c := range []struct {
		number        int
		what          string
		time          float32
		dt, low, high string
		rate          float64
	}{
		{1, "in the middle", 0, ".1", ".1", "10", .1},
		{2, "the fastest", -1e30, ".1", ".1", "10", 1},
		{3, "the slowest", 1e30, ".1", ".1", "10", .01},
		{4, "twice the step", 1e30, "0.2", "0.2", "10", .02},
		{5, "one time constant", 3, ".5", "2", "2", .25},
		{6, "no number stays one", float32(math.NaN()), ".1", ".1", "10", math.NaN()},
	} {
		p, _, err := Make("ctrnn:1", settings.Values{"dt": c.dt, "tau-min": c.low, "tau-max": c.high}, unbounded(1),
			unbounded(1))
		require.NoError(t, err)
		one := func(v float32) *graph.Array { return graph.Float32s([]float32{v}, 1, 1) }
		params := Recurrent[CTRNNCell]{CTRNNCell{Wx: one(1), Wh: one(0), Theta: graph.Float32s([]float32{0}),
			Time: graph.Float32s([]float32{c.time})},
			nn.Dense{W: one(1), B: graph.Float32s([]float32{0})}}
		y, _ := p.Act(params, p.Start(params), graph.Float32s([]float32{1}), random.New(0)) // from 0 towards 1
		got := floats(t, y.(*graph.Array))[0]
		if math.IsNaN(c.rate) {
			require.True(t, math.IsNaN(got), "case %d: %s", c.number, c.what)
			continue
		}
		require.InDelta(t, c.rate, got, 1e-6*c.rate+1e-7, "case %d: %s", c.number, c.what)
	}
}

func TestWhatMemoriesAndConvolutionsRefuse(t *testing.T) {
	plain, outputs := unbounded(4), envs.Discrete{N: 2}
	for _, c := range []struct {
		number int
		what   string
		spec   string
		own    settings.Values
		space  envs.Space
		want   string
	}{
		{1, "no units", "gru:0", nil, plain,
			`policy: got "gru:0", want a whole number from 1 to 16777216, as in "gru:32"`},
		{2, "two layers", "lstm:8,8", nil, plain,
			`policy: got "lstm:8,8", want a whole number from 1 to 16777216, as in "lstm:32"`},
		{3, "a step that overshoots", "ctrnn", settings.Values{"dt": 2}, plain,
			`policy.dt: got 2, want at most policy.tau-min, 0.1: a step that is longer than a time constant ` +
				`overshoots`},
		{4, "bounds the wrong way round", "ctrnn", settings.Values{"tau-max": .05}, plain,
			`policy.tau-max: got 0.05, want at least policy.tau-min, 0.1`},
		{5, "no time", "ctrnn", settings.Values{"dt": 0}, plain,
			`policy.dt: got 0, want a number above 0 that a float32 holds`},
		{6, "a flat observation", "cnn", nil, plain,
			`policy: got "cnn", want observations of three axes, height, width and channels, not of shape [4]: mlp ` +
				`takes these`},
		{7, "a discrete one", "cnn", nil, envs.Discrete{N: 3},
			`policy: got "cnn", want observations of three axes, height, width and channels, not of shape []: mlp ` +
				`takes these`},
		{8, "a kernel that is too large", "cnn", settings.Values{"kernel": 6}, image,
			`policy.kernel: got 6, want a kernel that fits into what convolution 1 sees, 5 x 4; or --policy.padding ` +
				`same`},
		{9, "the second does not fit", "cnn:4,4", nil, image,
			`policy.kernel: got 3, want a kernel that fits into what convolution 2 sees, 3 x 2; or --policy.padding ` +
				`same`},
		{10, "no convolution", "cnn", settings.Values{"channels": ""}, image,
			`policy.channels: got "", want a convolution at least; mlp has none`},
		{11, "an observation of nothing", "elman", nil, envs.Discrete{N: 0},
			`policy: got observations of Discrete(0), 0 inputs, want 1 to 16777216 inputs`},
	} {
		_, _, err := Make(c.spec, c.own, c.space, outputs)
		require.EqualError(t, err, c.want, "case %d: %s", c.number, c.what)
		require.IsType(t, &settings.Error{}, err)
	}
}

// Parameters and carries of other policies are refused.
func TestOthersParametersAndCarries(t *testing.T) {
	all := made(t)
	gru := all["gru:5"].Init(random.New(0))
	x := seen("gru:5", random.New(0), 1)
	for spec, p := range all {
		if spec == "gru:5" {
			continue
		}
		carry := p.Start(p.Init(random.New(0)))
		err := graph.Try(func() { p.Act(gru, carry, x.Index(0), random.New(0)) })
		require.ErrorContains(t, err, "got parameters of type policy.Recurrent", spec)
		if form := p.Traits().Prepared; form != nil {
			err = graph.Try(func() { form.Prepare(gru) })
			require.ErrorContains(t, err, "as Init makes them", spec)
		}
	}
	err := graph.Try(func() { all["gru:5"].Act(gru, graph.None{}, x.Index(0), random.New(0)) })
	require.ErrorContains(t, err, "got a carry of type graph.None, want *graph.Array, as Start makes it")
}

// Prepared layers fill whole registers.
func TestPreparedMemoriesFillRegisters(t *testing.T) {
	p := made(t)["gru:5"]
	got := prepared(p, p.Init(random.New(1))).(ready[gruGates])
	for _, g := range []gate{got.Cell.R, got.Cell.Z, got.Cell.N} {
		require.Equal(t, []int{3, register}, g.Wx.W.Dims())
		require.Equal(t, []int{register, register}, g.Wh.W.Dims())
		require.Equal(t, []int{register}, g.B.Dims())
	}
	require.Equal(t, []int{3, register}, got.Out.W.W.Dims())
}
