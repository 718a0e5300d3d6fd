package graphtest_test

import (
	"maps"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	. "xlarun/graph"
	"xlarun/graph/graphtest"
	"xlarun/third_party/oracles"
	"xlarun/xlabridge"
	"xlarun/xlabridge/xlatest"
)

type arrays = map[string]*Array

// model is one of JAX's small models: its outputs from its inputs, third_party/oracles/jax_grad.py has the formulas.
type model func(in arrays) arrays

// lossModel gives "loss" and the gradients by all inputs but the fixed ones; extra outputs are passed on.
func lossModel(loss func(in arrays) (*Array, arrays), fixed ...string) model {
	return func(in arrays) arrays {
		free, kept := maps.Clone(in), arrays{}
		for _, k := range fixed {
			kept[k] = in[k]
			delete(free, k)
		}
		l, extra, grads := ValueAndGradAux(func(free, kept arrays) (*Array, arrays) {
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

func dense(in arrays, x *Array, layer string) *Array {
	return Add(Dot(x, in["w"+layer]), in["b"+layer])
}

// crossEntropy is the mean over the batch.
func crossEntropy(logits, labels *Array) *Array {
	log := LogSoftmax(logits, -1)
	return Neg(Mean(TakeAlongAxis(log, ExpandDims(labels, -1), -1)))
}

func mlpLoss(in arrays) (*Array, arrays) {
	h := Tanh(dense(in, in["x"], "1"))
	h = Relu(dense(in, h, "2"))
	return crossEntropy(dense(in, h, "3"), in["labels"]), nil
}

func cnnLoss(in arrays) (*Array, arrays) {
	h := Relu(Add(Conv(in["x"], in["w1"], SamePadding()), in["b1"]))
	h = MaxPool(h, []int{2, 2}, Strides(2, 2))
	h = Relu(Add(Conv(h, in["w2"], Strides(2, 2)), in["b2"]))
	return crossEntropy(dense(in, Mean(h, 1, 2), "3"), in["labels"]), nil
}

func gruLoss(in arrays) (*Array, arrays) {
	gate := func(x, h *Array, name string) *Array {
		return Add(Add(Dot(x, in["w"+name]), Dot(h, in["u"+name])), in["b"+name])
	}
	last, all := Scan(func(h, x *Array) (*Array, *Array) {
		z, r := Logistic(gate(x, h, "z")), Logistic(gate(x, h, "r"))
		n := Tanh(gate(x, Mul(r, h), "n"))
		h = Add(Mul(Sub(1, z), n), Mul(z, h))
		return h, h
	}, in["start"], in["x"])
	return Mean(Square(Sub(all, in["target"]))), arrays{"last": last}
}

func attentionLoss(in arrays) (*Array, arrays) {
	const heads = 2
	x := in["x"]
	t, width := x.Dim(0), x.Dim(1)
	split := func(name string) *Array { return Reshape(Dot(x, in[name]), t, heads, width/heads) }
	scores := Div(Einsum("qhd,khd->hqk", split("wq"), split("wk")), math.Sqrt(float64(width/heads)))
	s := ShapeOf(Int32, t, t)
	earlier := Ge(IotaAxis(s, 0), IotaAxis(s, 1))
	scores = Select(BroadcastTo(earlier, heads, t, t), scores, math.Inf(-1))
	mixed := Reshape(Einsum("hqk,khd->qhd", Softmax(scores, -1), split("wv")), t, width)
	y := Add(x, Dot(mixed, in["wo"]))
	y = Sub(y, ExpandDims(Mean(y, -1), -1))
	y = Mul(y, Rsqrt(Add(ExpandDims(Variance(y, -1), -1), 1e-5)))
	y = Add(Mul(y, in["scale"]), in["shift"])
	return Mean(Square(Sub(y, in["target"]))), nil
}

func surrogateLoss(in arrays) (*Array, arrays) {
	step := func(v *Array) *Array { return Convert(Gt(v, 1), v.DType()) }
	spike := CustomVjp(step, func(v *Array) (*Array, *Array) { return step(v), v },
		func(v, ct *Array) *Array { return Div(ct, Square(Add(1, Mul(10, Abs(Sub(v, 1)))))) })
	_, spikes := Scan(func(v, x *Array) (*Array, *Array) {
		s := spike(v)
		return Add(Mul(Mul(0.9, v), Sub(1, s)), Dot(x, in["w"])), s
	}, Zeros(ShapeOf(Float32, in["w"].Dim(1))), in["x"])
	return Mean(Square(Sub(Mean(spikes, 0), in["target"]))), nil
}

func secondOrder(in arrays) arrays {
	f := func(w *Array) *Array {
		h := Tanh(Dot(in["x"], Reshape(SliceAxis(w, 0, 0, 20), 4, 5)))
		return Mean(Square(Sub(Dot(h, SliceAxis(w, 0, 20, 25)), in["y"])))
	}
	loss, d := ValueAndGrad(f)(in["w"])
	_, hvp := Jvp(Grad(f), in["w"], in["p"])
	return arrays{"loss": loss, "d_w": d, "hvp": hvp, "hessian": Hessian(f)(in["w"])}
}

func condScanLoss(in arrays) (*Array, arrays) {
	last, sums := Scan(func(c, a *Array) (*Array, *Array) {
		c = Cond(Gt(Index(c, 0), 0),
			func() *Array { return Sub(Tanh(Mul(2, c)), a) },
			func() *Array {
				rolled := Concatenate(0, SliceAxis(c, 0, -1, 4), SliceAxis(c, 0, 0, -1))
				return Add(Mul(1.1, c), Mul(a, rolled))
			})
		return c, Sum(c)
	}, in["x0"], in["a"])
	return Add(Sum(Square(last)), Mul(0.1, Mean(sums))), nil
}

func vmapGrad(in arrays) arrays {
	one := func(x, y *Array) *Array {
		return Grad(func(w1 *Array) *Array {
			p := maps.Clone(in)
			p["w1"], p["x"], p["labels"] = w1, ExpandDims(x, 0), ExpandDims(y, 0)
			l, _ := mlpLoss(p)
			return l
		})(in["w1"])
	}
	return arrays{"d_w1": VMap2(one)(in["x"], in["labels"])}
}

func jacobian(in arrays) arrays {
	y := func(x *Array) *Array { return Mul(Tanh(Dot(in["A"], x)), x) }
	return arrays{"y": y(in["x"]), "forward": JacFwd(y)(in["x"]), "reverse": JacRev(y)(in["x"])}
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
	require.NoError(t, oracles.Read("../testdata/jax_grad.json.gz", &doc))
	require.Len(t, doc.Cases, len(models))
	dtypes := map[string]DType{"float32": Float32, "int32": Int32}
	in := make([]arrays, len(doc.Cases))
	for i, c := range doc.Cases {
		in[i] = arrays{}
		for k, a := range c.Inputs {
			in[i][k] = FromBytes(ShapeOf(dtypes[a.DType], a.Shape...), a.Data)
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
