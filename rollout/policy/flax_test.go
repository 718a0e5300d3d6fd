package policy

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/envs"
	"xlarun/graph"
	"xlarun/graph/nn"
	"xlarun/graph/random"
	"xlarun/internal/long"
	"xlarun/rollout/settings"
	"xlarun/third_party/oracles"
	"xlarun/xlabridge"
	"xlarun/xlabridge/xlatest"
)

// stepsCase has the results of flax, or of a formula in NumPy, for twenty observations;
// third_party/oracles/policy_steps.py documents the fields.
type stepsCase struct {
	Name, Spec string
	Settings   map[string]string
	Inputs     map[string]oracles.Array
	Outputs    oracles.Array
}

// arrays holds a case's inputs. beside concatenates several of them.
type arrays map[string]*graph.Array

func (a arrays) beside(names ...string) *graph.Array {
	var parts []*graph.Array
	for _, n := range names {
		parts = append(parts, a[n])
	}
	return graph.Concatenate(-1, parts...)
}

func (a arrays) dense(name string) nn.Dense {
	return nn.Dense{W: a[name+"/kernel"], B: a[name+"/bias"]}
}

// fromFlax converts flax's parameters.
var fromFlax = map[string]func(a arrays, p Policy) any{
	"gru": func(a arrays, _ Policy) any {
		return Recurrent[nn.GRU]{nn.GRU{Wx: a.beside("cell/ir/kernel", "cell/iz/kernel", "cell/in/kernel"),
			Wh: a.beside("cell/hr/kernel", "cell/hz/kernel", "cell/hn/kernel"),
			B:  a.beside("cell/ir/bias", "cell/iz/bias", "cell/in/bias"), BN: a["cell/hn/bias"]}, a.dense("out")}
	},
	"lstm": func(a arrays, _ Policy) any {
		return Recurrent[nn.LSTM]{
			nn.LSTM{Wx: a.beside("cell/ii/kernel", "cell/if/kernel", "cell/ig/kernel", "cell/io/kernel"),
				Wh: a.beside("cell/hi/kernel", "cell/hf/kernel", "cell/hg/kernel", "cell/ho/kernel"),
				B:  a.beside("cell/hi/bias", "cell/hf/bias", "cell/hg/bias", "cell/ho/bias")}, a.dense("out")}
	},
	"elman": func(a arrays, p Policy) any {
		cell := p.Init(random.New(0)).(Recurrent[nn.RNN]).Cell
		cell.Wx, cell.Wh, cell.B = a["cell/i/kernel"], a["cell/h/kernel"], a["cell/i/bias"]
		return Recurrent[nn.RNN]{cell, a.dense("out")}
	},
	"mingru": func(a arrays, _ Policy) any {
		return Recurrent[nn.MinGRU]{nn.MinGRU{W: a.beside("cell/wz", "cell/wh"), B: a.beside("cell/bz", "cell/bh")},
			a.dense("out")}
	},
	"ctrnn": func(a arrays, _ Policy) any {
		return Recurrent[CTRNNCell]{CTRNNCell{Wx: a["cell/wx"], Wh: a["cell/wh"], Theta: a["cell/theta"],
			Time: a["cell/time"]}, a.dense("out")}
	},
	"cnn": func(a arrays, p Policy) any {
		params := p.Init(random.New(0)).(CNNParams)
		for i := range params.Convs {
			name := fmt.Sprint("conv", i)
			params.Convs[i].W, params.Convs[i].B = a[name+"/kernel"], a[name+"/bias"]
		}
		for i := range params.Dense.Layers {
			params.Dense.Layers[i] = a.dense(fmt.Sprint("dense", i))
		}
		return params
	},
}

// unbounded is a space of floats.
func unbounded(dims ...int) envs.Box {
	return envs.Box{Low: []float64{-math.MaxFloat32}, High: []float64{math.MaxFloat32}, Dims: dims,
		DType: graph.Float32}
}

// outputs returns a policy's outputs for observations, [steps, …], from the start of an episode.
func outputs(p Policy, params any, x *graph.Array) *graph.Array {
	_, y := graph.Scan(func(carry any, x *graph.Array) (any, *graph.Array) {
		carry, out := p.Act(params, carry, x, random.New(0))
		return carry, out.Action
	}, p.Start(params), x)
	return y
}

// Twenty steps of each policy equal flax's modules and the papers' formulas, with parameters from Init and from
// Prepare, interpreted and compiled: in the short form one policy of each kind.
func TestStepsAreThoseOfFlax(t *testing.T) {
	var doc struct{ Cases []stepsCase }
	require.NoError(t, oracles.Read("testdata/policy_steps.json.gz", &doc))
	require.NotEmpty(t, doc.Cases)
	for where, b := range xlatest.Backends(t) {
		cases := doc.Cases
		if where == "xla" {
			cases = long.Sample(cases, func(c stepsCase) string { return c.Name })
		}
		checkSteps(t, b, cases)
	}
}

// checkSteps compares the steps of cases, as one program.
func checkSteps(t *testing.T, b xlabridge.Backend, cases []stepsCase) {
	t.Helper()
	policies := make([]Policy, len(cases))
	inputs := make([]map[string]*graph.Array, len(cases))
	for i, c := range cases {
		own := settings.Values{}
		for name, v := range c.Settings {
			own[name] = v
		}
		var err error
		policies[i], _, err = Make(c.Spec, own, unbounded(c.Inputs["x"].Shape[1:]...), unbounded(c.Outputs.Shape[1]))
		require.NoError(t, err, c.Spec)
		inputs[i] = map[string]*graph.Array{}
		for name, v := range c.Inputs {
			inputs[i][name] = graph.FromBytes(graph.ShapeOf(graph.Float32, v.Shape...), v.Data)
		}
	}
	got, err := xlabridge.Jit(b, func(in []map[string]*graph.Array) (all [][]*graph.Array) {
		for i, c := range cases {
			params := fromFlax[c.Name](in[i], policies[i])
			ready := policies[i].Traits().Prepared.Prepare(params)
			all = append(all, []*graph.Array{outputs(policies[i], params, in[i]["x"]),
				outputs(policies[i], ready, in[i]["x"])})
		}
		return all
	})(inputs)
	require.NoError(t, err)
	for i, c := range cases {
		for j, layout := range []string{"as drawn", "prepared"} {
			require.InDeltaSlice(t, c.Outputs.Floats(), floats(t, got[i][j]), 1e-5, "case %d, %s, %s, %T", i, c.Spec,
				layout, b)
		}
	}
}

// sigmoid of a float64.
func sigmoid(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

// product is x·w, w row-major.
func product(x, w []float64) []float64 {
	y := make([]float64, len(w)/len(x))
	for i, v := range x {
		for j := range y {
			y[j] += v * w[i*len(y)+j]
		}
	}
	return y
}

// A CTRNN and a MinGRU equal loops of ten lines.
func TestCTRNNAndMinGRUAreTheLoopsByHand(t *testing.T) {
	const steps, units = 15, 5
	x := random.Normal(random.New(4), graph.ShapeOf(graph.Float32, steps, 3))
	for _, spec := range []string{"ctrnn:5", "mingru:5"} {
		p, _, err := Make(spec, settings.Values{}, observation, unbounded(2))
		require.NoError(t, err)
		params, state, want := p.Init(random.New(8)), make([]float64, units), []float64(nil)
		var leaves [][]float64
		var names []string
		all, tree := graph.Flatten(params)
		for i, leaf := range all {
			// biases are zero at first
			leaf = leaf.Add(random.Normal(random.New(int64(i)), leaf.Shape()).Mul(.3))
			all[i], leaves, names = leaf, append(leaves, floats(t, leaf)), append(names, tree.Path(i))
		}
		at := func(name string) []float64 {
			for i, n := range names {
				if strings.HasSuffix(n, name) {
					return leaves[i]
				}
			}
			require.Fail(t, "no parameter "+name)
			return nil
		}
		seen := floats(t, x)
		for step := range steps {
			row, shown := seen[3*step:3*step+3], make([]float64, units)
			if spec == "mingru:5" {
				both := product(row, at("Cell.W"))
				for j := range state {
					z := sigmoid(both[j] + at("Cell.B")[j])
					state[j] = (1-z)*state[j] + z*(both[units+j]+at("Cell.B")[units+j])
				}
				copy(shown, state)
			} else {
				rates := func(out []float64) {
					for j := range state {
						out[j] = sigmoid(state[j] + at("Theta")[j])
					}
				}
				rates(shown)
				in, own := product(row, at("Wx")), product(shown, at("Wh"))
				for j := range state {
					tau := .1 * math.Pow(10/.1, sigmoid(at("Time")[j]))
					state[j] += .1 / tau * (-state[j] + own[j] + in[j])
				}
				rates(shown)
			}
			y := product(shown, at("Out.W"))
			want = append(want, y[0]+at("Out.B")[0], y[1]+at("Out.B")[1])
		}
		drawn := tree.Unflatten(all)
		require.InDeltaSlice(t, want, floats(t, outputs(p, drawn, x)), 1e-5, spec)
		require.InDeltaSlice(t, want, floats(t, outputs(p, p.Traits().Prepared.Prepare(drawn), x)), 1e-5, spec)
	}
}

// Images with channels first give the results of the same images with channels last.
func TestChannelsFirst(t *testing.T) {
	for i, padding := range []string{"valid", "same"} {
		own := settings.Values{"padding": padding, "stride": strconv.Itoa(i + 1)}
		last := unbounded(6, 5, 3)
		first := unbounded(3, 6, 5)
		first.ChannelsFirst = true
		p, _, err := Make("cnn:4,2", own, last, unbounded(3))
		require.NoError(t, err)
		q, _, err := Make("cnn:4,2", own, first, unbounded(3))
		require.NoError(t, err)
		x := random.Normal(random.New(4), graph.ShapeOf(graph.Float32, 7, 6, 5, 3))
		params := p.Init(random.New(1))
		want := floats(t, outputs(p, params, x))
		for _, params := range []any{params, q.Traits().Prepared.Prepare(params)} {
			require.InDeltaSlice(t, want, floats(t, outputs(q, params, x.Transpose(0, 3, 1, 2))), 1e-5, padding)
		}
		described, err := q.Traits().Describe(params)
		require.NoError(t, err)
		require.Equal(t, true, described["channels_first"])
	}
}
