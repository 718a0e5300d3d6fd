package nn_test

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/graph/nn"
	"xlarun/graph/random"
	"xlarun/internal/long"
	"xlarun/third_party/oracles"
	"xlarun/xlabridge"
	"xlarun/xlabridge/xlatest"
)

// jaxCase is one layer, activation, loss or draw: third_party/oracles/jax_nn.py says what the fields hold.
type jaxCase struct {
	Name            string
	Config          jaxConfig
	Inputs, Outputs map[string]oracles.Array
}

type jaxConfig struct {
	Function, Padding, Kind   string
	Strides, Dilation, Window []int
	Pads                      [][2]int
	Groups, Heads, Axis       int
	Seed                      int64
	Epsilon, Delta, Momentum  float64
}

type arrays = map[string]*graph.Array

// layers computes the outputs of each layer from flax's parameters, brought into our layers.
var layers = map[string]func(c jaxConfig, in arrays) arrays{
	"dense": func(c jaxConfig, in arrays) arrays {
		return arrays{"y": dense(in, "").Apply(in["x"])}
	},
	"dense_nobias": func(c jaxConfig, in arrays) arrays {
		return arrays{"y": dense(in, "").Apply(in["x"])}
	},
	"conv": func(c jaxConfig, in arrays) arrays {
		l := nn.Conv{W: in["kernel"], B: in["bias"], Strides: c.Strides, Dilation: c.Dilation, Same: c.Padding ==
			"SAME", Groups: c.Groups}
		if c.Padding == "" {
			l.Pads = c.Pads
		}
		return arrays{"y": l.Apply(in["x"])}
	},
	"conv_transpose": func(c jaxConfig, in arrays) arrays {
		l := nn.ConvTranspose{W: in["kernel"], B: in["bias"], Strides: c.Strides, Dilation: c.Dilation,
			Same: c.Padding == "SAME"}
		if c.Padding == "" {
			l.Pads = c.Pads
		}
		return arrays{"y": l.Apply(in["x"])}
	},
	"group_norm": func(c jaxConfig, in arrays) arrays {
		return arrays{"y": nn.GroupNorm{Scale: in["norm/scale"], Bias: in["norm/bias"], Groups: c.Groups,
			Epsilon: c.Epsilon}.Apply(in["x"])}
	},
	"batch_norm": func(c jaxConfig, in arrays) arrays {
		y, s := batchNorm(c, in).Train(nn.BatchNormState{Mean: in["mean"], Var: in["var"]}, in["x"])
		return arrays{"y": y, "new_mean": s.Mean, "new_var": s.Var}
	},
	"batch_norm_apply": func(c jaxConfig, in arrays) arrays {
		return arrays{"y": batchNorm(c, in).Apply(nn.BatchNormState{Mean: in["mean"], Var: in["var"]}, in["x"])}
	},
	"glu": func(c jaxConfig, in arrays) arrays { return arrays{"y": nn.GLU(in["x"], c.Axis)} },
	"rnn": func(c jaxConfig, in arrays) arrays {
		return arrays{"h": rnn(in).Step(in["h"], in["x"])}
	},
	"rnn_scan": func(c jaxConfig, in arrays) arrays {
		r := rnn(in)
		last, all := r.Apply(r.Start(), in["x"])
		return arrays{"last": last, "y": all}
	},
	"mingru": func(c jaxConfig, in arrays) arrays {
		m := nn.MinGRU{W: beside(in, "kernel_z", "kernel_h"), B: beside(in, "bias_z", "bias_h")}
		_, all := m.Apply(in["h"], in["x"])
		return arrays{"y": all}
	},
	"layer_norm": func(c jaxConfig, in arrays) arrays {
		return arrays{"y": nn.LayerNorm{Scale: in["scale"], Bias: in["bias"], Epsilon: c.Epsilon}.Apply(in["x"])}
	},
	"rms_norm": func(c jaxConfig, in arrays) arrays {
		return arrays{"y": nn.RMSNorm{Scale: in["scale"], Epsilon: c.Epsilon}.Apply(in["x"])}
	},
	"embedding": func(c jaxConfig, in arrays) arrays {
		return arrays{"y": nn.Embedding{Table: in["embedding"]}.Apply(in["i"])}
	},
	"attend": func(c jaxConfig, in arrays) arrays {
		return arrays{"y": nn.Embedding{Table: in["embedding"]}.Attend(in["x"])}
	},
	"gru": func(c jaxConfig, in arrays) arrays {
		return arrays{"h": gru(in).Step(in["h"], in["x"])}
	},
	"lstm": func(c jaxConfig, in arrays) arrays {
		s := lstm(in).Step(nn.LSTMState{C: in["c"], H: in["h"]}, in["x"])
		return arrays{"c": s.C, "h": s.H}
	},
	"gru_scan": func(c jaxConfig, in arrays) arrays {
		g := gru(in)
		last, all := g.Apply(g.Start(), in["x"])
		return arrays{"last": last, "y": all}
	},
	"lstm_scan": func(c jaxConfig, in arrays) arrays {
		l := lstm(in)
		last, all := l.Apply(l.Start(), in["x"])
		return arrays{"last": last.H, "y": all}
	},
	"mha": func(c jaxConfig, in arrays) arrays {
		return arrays{"y": attention(c, in).Apply(in["x"])}
	},
	"mha_causal": func(c jaxConfig, in arrays) arrays {
		m := attention(c, in)
		m.Causal = true
		return arrays{"y": m.Apply(in["x"])}
	},
	"mha_cross": func(c jaxConfig, in arrays) arrays {
		return arrays{"y": attention(c, in).Attend(in["q"], in["x"], nil)}
	},
	"bidirectional": func(c jaxConfig, in arrays) arrays {
		side := func(name string) nn.RNN {
			return nn.RNN{Wx: in[name+"/i/kernel"], Wh: in[name+"/h/kernel"], B: in[name+"/i/bias"], Activation: "tanh"}
		}
		return arrays{"y": nn.Bidirectional[*graph.Array, nn.RNN]{Forward: side("forward"),
			Backward: side("backward")}.Apply(in["x"])}
	},
	"conv_lstm": func(c jaxConfig, in arrays) arrays {
		l := nn.ConvLSTM{Input: nn.Conv{W: in["ih/kernel"], B: in["ih/bias"], Same: true},
			Hidden: nn.Conv{W: in["hh/kernel"], B: in["hh/bias"], Same: true}}
		s := l.Step(nn.LSTMState{C: in["c"], H: in["h"]}, in["x"])
		return arrays{"c": s.C, "h": s.H}
	},
	"weight_norm": func(c jaxConfig, in arrays) arrays {
		return arrays{"y": in["x"].Dot(nn.WeightNorm(in["kernel"], in["scale"]))}
	},
	"spectral_norm": func(c jaxConfig, in arrays) arrays {
		w, next := nn.SpectralNorm(in["kernel"], in["u"], 2)
		return arrays{"y": nn.Conv{W: w, Same: true}.Apply(in["x"]), "u_next": next}
	},
	"ntxent": func(c jaxConfig, in arrays) arrays { return arrays{"loss": nn.NTXent(in["x"], in["label"], .5)} },
	"triplet": func(c jaxConfig, in arrays) arrays {
		return arrays{"loss": nn.TripletMargin(in["x"], in["positive"], in["negative"], 1)}
	},
	"ctc": func(c jaxConfig, in arrays) arrays {
		return arrays{"loss": nn.CTC(in["x"], in["label"], c.Window[0], c.Window[1])}
	},
	"rotary": func(c jaxConfig, in arrays) arrays { return arrays{"y": nn.Rotary(in["x"], in["at"], 10000)} },
	"pool": func(c jaxConfig, in arrays) arrays {
		return arrays{"y": nn.Pool{Kind: c.Kind, Window: c.Window, Strides: c.Strides, Same: c.Padding == "SAME"}.Apply(
			in["x"])}
	},
	"lstm_from": func(c jaxConfig, in arrays) arrays {
		last, all := lstm(in).Apply(nn.LSTMState{C: in["c"], H: in["h"]}, in["x"])
		return arrays{"last": last.H, "last_c": last.C, "y": all}
	},
	"gru_from": func(c jaxConfig, in arrays) arrays {
		last, all := gru(in).Apply(in["h"], in["x"])
		return arrays{"last": last, "y": all}
	},
	"rnn_from": func(c jaxConfig, in arrays) arrays {
		last, all := rnn(in).Apply(in["h"], in["x"])
		return arrays{"last": last, "y": all}
	},
	"both_ways": func(c jaxConfig, in arrays) arrays {
		side := func(name string) nn.GRU {
			part := arrays{}
			for k, v := range in {
				if len(k) > len(name) && k[:len(name)] == name {
					part[k[len(name)+1:]] = v
				}
			}
			return gru(part)
		}
		return arrays{"y": nn.Bidirectional[*graph.Array, nn.GRU]{Forward: side("forward"),
			Backward: side("backward")}.Apply(in["x"])}
	},
	"attention": func(c jaxConfig, in arrays) arrays {
		return arrays{"y": nn.DotProductAttention(in["q"], in["k"], in["v"], in["mask"].Gt(0))}
	},
	"activation_of": func(c jaxConfig, in arrays) arrays {
		return arrays{"y": nn.Activation(c.Function).Apply(in["x"])}
	},
	"loss_of": func(c jaxConfig, in arrays) arrays {
		f := losses[c.Function]
		switch c.Function {
		case "focal":
			f = func(c jaxConfig, p, t *graph.Array) *graph.Array { return nn.Focal(p, t, c.Delta, c.Epsilon) }
		case "smooth":
			f = func(c jaxConfig, p, t *graph.Array) *graph.Array {
				return nn.CrossEntropyOneHot(p, nn.SmoothLabels(t, c.Delta))
			}
		}
		return arrays{"loss": graph.VMap2(func(p, t *graph.Array) *graph.Array { return f(c, p, t) })(in["prediction"],
			in["target"])}
	},
	"contrast": func(c jaxConfig, in arrays) arrays {
		return arrays{"loss": nn.NTXent(in["x"], in["label"], c.Delta)}
	},
	"triplet_margin": func(c jaxConfig, in arrays) arrays {
		return arrays{"loss": nn.TripletMargin(in["x"], in["positive"], in["negative"], c.Delta)}
	},
}

func dense(in arrays, name string) nn.Dense {
	return nn.Dense{W: in[name+"kernel"], B: in[name+"bias"]}
}

func beside(in arrays, names ...string) *graph.Array {
	var parts []*graph.Array
	for _, n := range names {
		parts = append(parts, in[n])
	}
	return graph.Concatenate(-1, parts...)
}

func batchNorm(c jaxConfig, in arrays) nn.BatchNorm {
	return nn.BatchNorm{Scale: in["scale"], Bias: in["bias"], Epsilon: c.Epsilon, Momentum: c.Momentum}
}

func rnn(in arrays) nn.RNN {
	return nn.RNN{Wx: in["i/kernel"], Wh: in["h/kernel"], B: in["i/bias"], Activation: "tanh"}
}

func gru(in arrays) nn.GRU {
	return nn.GRU{Wx: beside(in, "ir/kernel", "iz/kernel", "in/kernel"), Wh: beside(in, "hr/kernel", "hz/kernel",
		"hn/kernel"),
		B: beside(in, "ir/bias", "iz/bias", "in/bias"), BN: in["hn/bias"]}
}

func lstm(in arrays) nn.LSTM {
	return nn.LSTM{Wx: beside(in, "ii/kernel", "if/kernel", "ig/kernel", "io/kernel"),
		Wh: beside(in, "hi/kernel", "hf/kernel", "hg/kernel", "ho/kernel"), B: beside(in, "hi/bias", "hf/bias",
			"hg/bias", "ho/bias")}
}

func attention(c jaxConfig, in arrays) nn.MultiHeadAttention {
	side := func(name string) nn.Dense {
		return nn.Dense{W: in[name+"/kernel"].Reshape(8, 8), B: graph.Flatten1D(in[name+"/bias"])}
	}
	return nn.MultiHeadAttention{Query: side("query"), Key: side("key"), Value: side("value"), Out: side("out"),
		Heads: c.Heads}
}

var losses = map[string]func(c jaxConfig, p, t *graph.Array) *graph.Array{
	"mse":                   func(_ jaxConfig, p, t *graph.Array) *graph.Array { return nn.MSE(p, t) },
	"mae":                   func(_ jaxConfig, p, t *graph.Array) *graph.Array { return nn.MAE(p, t) },
	"huber":                 func(c jaxConfig, p, t *graph.Array) *graph.Array { return nn.Huber(p, t, c.Delta) },
	"cross_entropy":         func(_ jaxConfig, p, t *graph.Array) *graph.Array { return nn.CrossEntropy(p, t) },
	"cross_entropy_one_hot": func(_ jaxConfig, p, t *graph.Array) *graph.Array { return nn.CrossEntropyOneHot(p, t) },
	"binary_cross_entropy":  func(_ jaxConfig, p, t *graph.Array) *graph.Array { return nn.BinaryCrossEntropy(p, t) },
	"kl": func(_ jaxConfig, p, t *graph.Array) *graph.Array {
		return nn.KLDivergence(graph.LogSoftmax(p, -1), t)
	},
	"focal":    func(c jaxConfig, p, t *graph.Array) *graph.Array { return nn.Focal(p, t, c.Delta, 2) },
	"hinge":    func(_ jaxConfig, p, t *graph.Array) *graph.Array { return nn.Hinge(p, t) },
	"log_cosh": func(_ jaxConfig, p, t *graph.Array) *graph.Array { return nn.LogCosh(p, t) },
	"cosine":   func(_ jaxConfig, p, t *graph.Array) *graph.Array { return nn.CosineDistance(p, t, 1e-8) },
}

var inits = map[string]nn.Initializer{
	"lecun_normal": nn.LecunNormal, "lecun_uniform": nn.LecunUniform, "he_normal": nn.HeNormal,
	"he_uniform":    nn.HeUniform,
	"xavier_normal": nn.XavierNormal, "xavier_uniform": nn.XavierUniform, "orthogonal": nn.Orthogonal(math.Sqrt2),
	"normal": nn.Normal(.3), "uniform": nn.Uniform(.3), "truncated_normal": nn.TruncatedNormal(.3, -1, 1.5),
	"zeros": nn.Zeros, "ones": nn.Ones, "constant": nn.Constant(.7),
	"fan_geo_avg": nn.VarianceScaling(1.5, nn.FanGeoAvg, nn.NormalDraws), "fan_out": nn.VarianceScaling(.5, nn.FanOut,
		nn.TruncatedNormalDraws),
}

// outputs computes everything that a case names: results and gradients.
func (c jaxCase) outputs(in arrays) arrays {
	switch c.Name {
	case "activation":
		f := nn.Activation(c.Config.Function).Apply
		weight := graph.OnesLike(in["x"])
		if c.Config.Function == "softmax" {
			weight = graph.Iota(in["x"].Size()).Convert(graph.Float32)
		}
		d := graph.Grad(func(x *graph.Array) *graph.Array { return f(x).Mul(weight).Sum() })(in["x"])
		return arrays{"y": f(in["x"]), "d_x": d}
	case "loss":
		// Losses are of one example: the vectors' leading axis is mapped.
		f := graph.VMap2(func(p, t *graph.Array) *graph.Array { return losses[c.Config.Function](c.Config, p, t) })
		total := func(p, t *graph.Array) *graph.Array { return f(p, t).Sum() }
		p, t := in["prediction"], in["target"]
		out := arrays{"loss": f(p, t), "d_prediction": graph.Grad2(total)(p, t)}
		if _, ok := c.Outputs["d_target"]; ok {
			out["d_target"] = graph.Grad2(func(t, p *graph.Array) *graph.Array { return total(p, t) })(t, p)
		}
		return out
	case "init":
		s := c.Outputs["y"].Shape
		return arrays{"y": inits[c.Config.Function](random.New(c.Config.Seed), graph.ShapeOf(graph.Float32, s...))}
	}
	f := layers[c.layer()]
	out := f(c.Config, in)
	free, fixed := arrays{}, arrays{}
	for k, v := range in {
		if _, ok := c.Outputs["d_"+k]; ok {
			free[k] = v
		} else {
			fixed[k] = v
		}
	}
	if len(free) == 0 {
		return out
	}
	loss := func(free, fixed arrays) *graph.Array {
		all := arrays{}
		for _, m := range []arrays{free, fixed} {
			for k, v := range m {
				all[k] = v
			}
		}
		var sum any = 0.0
		outs := f(c.Config, all)
		for _, k := range slices.Sorted(maps.Keys(outs)) { // in one order, so that the program is always the same
			w := all["weight"]
			if w == nil {
				w = all["weight_"+k]
			}
			sum = outs[k].Mul(w).Sum().Add(sum)
		}
		return sum.(*graph.Array)
	}
	for k, d := range graph.Grad2(loss)(free, fixed) {
		out["d_"+k] = d
	}
	return out
}

// layer is the name of the case's layer, without the number of a variant.
func (c jaxCase) layer() string {
	if i := strings.LastIndexByte(c.Name, '_'); i > 0 && c.Name[i+1] >= '0' && c.Name[i+1] <= '9' {
		return c.Name[:i]
	}
	return c.Name
}

// likeOthers are layers that run a cell along time as another one does, or attend with another mask or source. Only the
// long form compiles them.
var likeOthers = map[string]string{"lstm_scan": "gru_scan", "rnn_scan": "gru_scan", "mha_causal": "mha",
	"mha_cross": "mha"}

// Every vector from flax, optax and jax.nn on the reference interpreter; on XLA in the short form one of each layer,
// function and initializer. Several are one program.
func TestAgainstJAX(t *testing.T) {
	var doc struct{ Cases []jaxCase }
	require.NoError(t, oracles.Read("testdata/jax_nn.json.gz", &doc))
	for name := range likeOthers {
		require.True(t, slices.ContainsFunc(doc.Cases, func(c jaxCase) bool { return c.Name == name }), name)
	}
	for where, backend := range xlatest.Backends(t) {
		all := doc.Cases
		if where == "xla" {
			all = long.Sample(all, func(c jaxCase) string {
				return cmp.Or(likeOthers[c.Name], c.layer()+c.Config.Function)
			})
		}
		for cases := range slices.Chunk(all, 16) {
			t.Run(where+"/"+cases[0].Name, func(t *testing.T) {
				inputs := make([]arrays, len(cases))
				for i, c := range cases {
					inputs[i] = arrays{}
					for k, v := range c.Inputs {
						inputs[i][k] = graph.FromBytes(graph.ShapeOf(dtypes[v.DType], v.Shape...), v.Data)
					}
				}
				run := xlabridge.Jit(backend, func(in []arrays) []arrays {
					var outs []arrays
					for i, c := range cases {
						outs = append(outs, c.outputs(in[i]))
					}
					return outs
				})
				got, err := run(inputs)
				require.NoError(t, err)
				for i, c := range cases {
					for k, want := range c.Outputs {
						near(t, c, want, got[i][k], fmt.Sprintf("case %d, %s %+v: %s", i, c.Name, c.Config, k))
					}
				}
			})
		}
	}
}

var dtypes = map[string]graph.DType{"float16": graph.Float16, "bfloat16": graph.BFloat16, "float32": graph.Float32,
	"int32": graph.Int32}

// tolerance for an array whose largest element is given: draws are equal to rounding; the sums of layers are taken
// in another order, and some gradients (of an attention's key bias) are sums that cancel.
func (c jaxCase) tolerance(largest float64) float64 {
	switch {
	case c.Name != "init":
		return 1e-5 * max(largest, .1)
	case c.Config.Function == "orthogonal":
		return 1e-5 * largest
	}
	return 1e-6 * largest
}

func near(t *testing.T, c jaxCase, want oracles.Array, got *graph.Array, msg string) {
	t.Helper()
	require.NotNil(t, got, msg)
	require.Equal(t, want.Shape, append([]int{}, got.Dims()...), msg)
	ours := floats(t, got)
	theirs := want.Floats()
	largest := 0.0
	for _, x := range theirs {
		largest = max(largest, math.Abs(x))
	}
	for i, x := range theirs {
		require.InDelta(t, x, ours[i], c.tolerance(largest), "%s, element %d", msg, i)
	}
}
