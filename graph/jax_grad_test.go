package graph_test

import (
	"maps"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/graph/graphtest"
	"xlarun/third_party/oracles"
	"xlarun/xlabridge"
	"xlarun/xlabridge/xlatest"
)

type arrays = map[string]*graph.Array

// model is one of JAX's small models: its outputs from its inputs, third_party/oracles/jax_grad.py has the formulas.
type model func(in arrays) arrays

// lossModel gives "loss" and the gradients by all inputs but the fixed ones; extra outputs are passed on.
func lossModel(loss func(in arrays) (*graph.Array, arrays), fixed ...string) model {
	return func(in arrays) arrays {
		free, kept := maps.Clone(in), arrays{}
		for _, k := range fixed {
			kept[k] = in[k]
			delete(free, k)
		}
		l, extra, grads := graph.ValueAndGradAux(func(free, kept arrays) (*graph.Array, arrays) {
			all := maps.Clone(free)
			maps.Copy(all, kept)
			return loss(all)
		})(free, kept)
		out := arrays{"loss": l}
		maps.Copy(out, extra)
		for k, g := range grads {
			out["d_"+k] = g
		}
		return out
	}
}

func dense(in arrays, x *graph.Array, layer string) *graph.Array {
	return graph.Add(graph.Dot(x, in["w"+layer]), in["b"+layer])
}

// crossEntropy is the mean over the batch.
func crossEntropy(logits, labels *graph.Array) *graph.Array {
	log := graph.LogSoftmax(logits, -1)
	return graph.Neg(graph.Mean(graph.TakeAlongAxis(log, graph.ExpandDims(labels, -1), -1)))
}

func mlpLoss(in arrays) (*graph.Array, arrays) {
	h := graph.Tanh(dense(in, in["x"], "1"))
	h = graph.Relu(dense(in, h, "2"))
	return crossEntropy(dense(in, h, "3"), in["labels"]), nil
}

func cnnLoss(in arrays) (*graph.Array, arrays) {
	h := graph.Relu(graph.Add(graph.Conv(in["x"], in["w1"], graph.SamePadding()), in["b1"]))
	h = graph.MaxPool(h, []int{2, 2}, graph.Strides(2, 2))
	h = graph.Relu(graph.Add(graph.Conv(h, in["w2"], graph.Strides(2, 2)), in["b2"]))
	return crossEntropy(dense(in, graph.Mean(h, 1, 2), "3"), in["labels"]), nil
}

func gruLoss(in arrays) (*graph.Array, arrays) {
	gate := func(x, h *graph.Array, name string) *graph.Array {
		return graph.Add(graph.Add(graph.Dot(x, in["w"+name]), graph.Dot(h, in["u"+name])), in["b"+name])
	}
	last, all := graph.Scan(func(h, x *graph.Array) (*graph.Array, *graph.Array) {
		z, r := graph.Logistic(gate(x, h, "z")), graph.Logistic(gate(x, h, "r"))
		n := graph.Tanh(gate(x, graph.Mul(r, h), "n"))
		h = graph.Add(graph.Mul(graph.Sub(1, z), n), graph.Mul(z, h))
		return h, h
	}, in["start"], in["x"])
	return graph.Mean(graph.Square(graph.Sub(all, in["target"]))), arrays{"last": last}
}

func attentionLoss(in arrays) (*graph.Array, arrays) {
	const heads = 2
	x := in["x"]
	t, width := x.Dim(0), x.Dim(1)
	split := func(name string) *graph.Array { return graph.Reshape(graph.Dot(x, in[name]), t, heads, width/heads) }
	scores := graph.Div(graph.Einsum("qhd,khd->hqk", split("wq"), split("wk")), math.Sqrt(float64(width/heads)))
	s := graph.ShapeOf(graph.Int32, t, t)
	earlier := graph.Ge(graph.IotaAxis(s, 0), graph.IotaAxis(s, 1))
	scores = graph.Select(graph.BroadcastTo(earlier, heads, t, t), scores, math.Inf(-1))
	mixed := graph.Reshape(graph.Einsum("hqk,khd->qhd", graph.Softmax(scores, -1), split("wv")), t, width)
	y := graph.Add(x, graph.Dot(mixed, in["wo"]))
	y = graph.Sub(y, graph.ExpandDims(graph.Mean(y, -1), -1))
	y = graph.Mul(y, graph.Rsqrt(graph.Add(graph.ExpandDims(graph.Variance(y, -1), -1), 1e-5)))
	y = graph.Add(graph.Mul(y, in["scale"]), in["shift"])
	return graph.Mean(graph.Square(graph.Sub(y, in["target"]))), nil
}

func surrogateLoss(in arrays) (*graph.Array, arrays) {
	step := func(v *graph.Array) *graph.Array { return graph.Convert(graph.Gt(v, 1), v.DType()) }
	spike := graph.CustomVjp(step, func(v *graph.Array) (*graph.Array, *graph.Array) { return step(v), v },
		func(v, ct *graph.Array) *graph.Array {
			return graph.Div(ct, graph.Square(graph.Add(1, graph.Mul(10, graph.Abs(graph.Sub(v, 1))))))
		})
	_, spikes := graph.Scan(func(v, x *graph.Array) (*graph.Array, *graph.Array) {
		s := spike(v)
		return graph.Add(graph.Mul(graph.Mul(0.9, v), graph.Sub(1, s)), graph.Dot(x, in["w"])), s
	}, graph.Zeros(graph.ShapeOf(graph.Float32, in["w"].Dim(1))), in["x"])
	return graph.Mean(graph.Square(graph.Sub(graph.Mean(spikes, 0), in["target"]))), nil
}

func secondOrder(in arrays) arrays {
	f := func(w *graph.Array) *graph.Array {
		h := graph.Tanh(graph.Dot(in["x"], graph.Reshape(graph.SliceAxis(w, 0, 0, 20), 4, 5)))
		return graph.Mean(graph.Square(graph.Sub(graph.Dot(h, graph.SliceAxis(w, 0, 20, 25)), in["y"])))
	}
	loss, d := graph.ValueAndGrad(f)(in["w"])
	_, hvp := graph.Jvp(graph.Grad(f), in["w"], in["p"])
	return arrays{"loss": loss, "d_w": d, "hvp": hvp, "hessian": graph.Hessian(f)(in["w"])}
}

func condScanLoss(in arrays) (*graph.Array, arrays) {
	last, sums := graph.Scan(func(c, a *graph.Array) (*graph.Array, *graph.Array) {
		c = graph.Cond(graph.Gt(graph.Index(c, 0), 0),
			func() *graph.Array { return graph.Sub(graph.Tanh(graph.Mul(2, c)), a) },
			func() *graph.Array {
				rolled := graph.Concatenate(0, graph.SliceAxis(c, 0, -1, 4), graph.SliceAxis(c, 0, 0, -1))
				return graph.Add(graph.Mul(1.1, c), graph.Mul(a, rolled))
			})
		return c, graph.Sum(c)
	}, in["x0"], in["a"])
	return graph.Add(graph.Sum(graph.Square(last)), graph.Mul(0.1, graph.Mean(sums))), nil
}

func vmapGrad(in arrays) arrays {
	one := func(x, y *graph.Array) *graph.Array {
		return graph.Grad(func(w1 *graph.Array) *graph.Array {
			p := maps.Clone(in)
			p["w1"], p["x"], p["labels"] = w1, graph.ExpandDims(x, 0), graph.ExpandDims(y, 0)
			l, _ := mlpLoss(p)
			return l
		})(in["w1"])
	}
	return arrays{"d_w1": graph.VMap2(one)(in["x"], in["labels"])}
}

func jacobian(in arrays) arrays {
	y := func(x *graph.Array) *graph.Array { return graph.Mul(graph.Tanh(graph.Dot(in["A"], x)), x) }
	return arrays{"y": y(in["x"]), "forward": graph.JacFwd(y)(in["x"]), "reverse": graph.JacRev(y)(in["x"])}
}

var models = map[string]model{
	"mlp":       lossModel(mlpLoss, "labels"),
	"cnn":       lossModel(cnnLoss, "labels"),
	"gru":       lossModel(gruLoss, "target"),
	"attention": lossModel(attentionLoss, "target"),
	"surrogate": lossModel(surrogateLoss, "x", "target"),
	"second":    secondOrder,
	"cond_scan": lossModel(condScanLoss),
	"vmap_grad": vmapGrad,
	"jacobian":  jacobian,
}

// Values and derivatives of JAX's small models, on the reference interpreter and on XLA: all models are one program.
func TestGradientsAgainstJAX(t *testing.T) {
	var doc struct {
		Cases []struct {
			Name            string
			Inputs, Outputs map[string]oracles.Array
		}
	}
	require.NoError(t, oracles.Read("testdata/jax_grad.json.gz", &doc))
	require.Len(t, doc.Cases, len(models))
	dtypes := map[string]graph.DType{"float32": graph.Float32, "int32": graph.Int32}
	in := make([]arrays, len(doc.Cases))
	for i, c := range doc.Cases {
		in[i] = arrays{}
		for k, a := range c.Inputs {
			in[i][k] = graph.FromBytes(graph.ShapeOf(dtypes[a.DType], a.Shape...), a.Data)
		}
	}
	for where, backend := range xlatest.Backends(t) {
		all, err := xlabridge.Jit(backend, func(in []arrays) (out []arrays) {
			for i, c := range doc.Cases {
				out = append(out, models[c.Name](in[i]))
			}
			return out
		})(in)
		require.NoError(t, err)
		for i, c := range doc.Cases {
			t.Run(where+"/"+c.Name, func(t *testing.T) {
				for k, want := range c.Outputs {
					require.Contains(t, all[i], k)
					graphtest.Same(t, graphtest.FromOracle(want), all[i][k], graphtest.Tolerance{Largest: 1e-5}, k)
				}
			})
		}
	}
}
