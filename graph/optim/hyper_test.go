package optim_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/graph/optim"
	"xlarun/xlabridge"
	"xlarun/xlabridge/xlatest"
)

type hyper struct{ Rate, Decay *graph.Array }

// A changed learning rate is another input of the same compiled program.
func TestHyperparamsDoNotCompileAgain(t *testing.T) {
	type carry struct {
		Params *graph.Array
		State  optim.State
	}
	for name, backend := range xlatest.Backends(t) {
		t.Run(name, func(t *testing.T) {
			traces := 0
			opt := optim.InjectHyperparams(hyper{graph.Scalar(.1), graph.Scalar(0)}, func(h hyper) optim.Transform {
				return optim.Chain(optim.AddDecayedWeights(h.Decay, nil), optim.SGD(h.Rate))
			})
			step := xlabridge.Jit(backend, func(c carry) carry {
				traces++
				c.Params, c.State = optim.Step(opt, c.Params, graph.OnesLike(c.Params), c.State)
				return c
			})
			p := graph.Scalar(10)
			c, err := step(carry{p, opt.Init(p)})
			require.NoError(t, err)
			require.InDelta(t, 9.9, floats(t, c.Params)[0], 1e-6)
			require.InDelta(t, .1, floats(t, optim.Hyper[hyper](c.State).Rate)[0], 1e-7)
			c.State = optim.SetHyper(c.State, hyper{graph.Scalar(.5), graph.Scalar(.1)})
			c, err = step(c)
			require.NoError(t, err)
			require.InDelta(t, 9.9-.5*(1+.99), floats(t, c.Params)[0], 1e-6)
			require.Equal(t, 1, traces)
		})
	}
}

// A population of optimizers, each with its own learning rate and weight decay: vmap over hyper-parameters, inside a
// Scan over time, gives what each of them gives alone with its numbers written into the program.
func TestPopulationOfOptimizers(t *testing.T) {
	rates, decays := []float32{.001, .01, .1, 1}, []float32{0, .1, 0, .01}
	loss := func(w *graph.Array) *graph.Array {
		return w.Sub(graph.Float32s([]float32{1, -2})).Square().Sum()
	}
	type carry struct {
		W     *graph.Array
		State optim.State
	}
	train := func(opt optim.Transform, w *graph.Array) *graph.Array {
		end, _ := graph.Scan(func(c carry, _ graph.None) (carry, graph.None) {
			c.W, c.State = optim.Step(opt, c.W, graph.Grad(loss)(c.W), c.State)
			return c, graph.None{}
		}, carry{w, opt.Init(w)}, graph.None{}, graph.Length(25))
		return end.W
	}
	start := graph.Float32s([]float32{3, 3})
	for name, backend := range xlatest.Backends(t) {
		t.Run(name, func(t *testing.T) {
			type results struct {
				Together *graph.Array
				Alone    []*graph.Array
			}
			got, err := xlabridge.Jit2(backend, func(h hyper, w *graph.Array) (r results) {
				r.Together = graph.VMap(func(h hyper) *graph.Array {
					return train(optim.AdamW(h.Rate, optim.WeightDecay(h.Decay)), w)
				})(h)
				for i := range rates {
					alone := optim.AdamW(float64(rates[i]), optim.WeightDecay(float64(decays[i])))
					r.Alone = append(r.Alone, train(alone, w))
				}
				return r
			})(hyper{graph.Float32s(rates), graph.Float32s(decays)}, start)
			require.NoError(t, err)
			for i, want := range got.Alone {
				near(t, floats(t, want), floats(t, got.Together.Index(i)), 1e-5, "rate", rates[i])
			}
			inPlace := floats(t, got.Together.Index(3))
			require.InDelta(t, 1, inPlace[0], .5) // the fastest one is near the minimum
			require.Greater(t, math.Abs(floats(t, got.Together.Index(0))[0]-1), 1.9)
		})
	}
}

// States are made, mapped and stepped lane by lane too, hyper-parameters included.
func TestStatesAreMapped(t *testing.T) {
	opt := optim.InjectHyperparams(graph.Scalar(.1), func(lr *graph.Array) optim.Transform {
		return optim.SGD(lr, optim.Momentum(.5))
	})
	params := graph.Float32s([]float32{1, 2, 3, 4, 5, 6}, 3, 2)
	rates := graph.Float32s([]float32{.1, .2, .4})
	for name, backend := range xlatest.Backends(t) {
		t.Run(name, func(t *testing.T) {
			type member struct {
				Params *graph.Array
				State  optim.State
			}
			start, err := xlabridge.Jit2(backend, graph.VMap2(func(p, lr *graph.Array) member {
				return member{p, optim.SetHyper(opt.Init(p), lr)}
			}))(params, rates)
			require.NoError(t, err)
			step := xlabridge.Jit(backend, graph.VMap(func(m member) member {
				m.Params, m.State = optim.Step(opt, m.Params, graph.OnesLike(m.Params), m.State)
				return m
			}))
			for range 2 {
				start, err = step(start)
				require.NoError(t, err)
			}
			require.InDeltaSlice(t, []float64{.75, 1.75, 2.5, 3.5, 4, 5}, floats(t, start.Params), 1e-6)
		})
	}
}

// The gradient of a step by its learning rate: hyper-parameters are differentiable.
func TestGradientByLearningRate(t *testing.T) {
	loss := func(w *graph.Array) *graph.Array { return w.Square() }
	after := func(lr *graph.Array) *graph.Array {
		opt := optim.SGD(lr)
		w := graph.Scalar(3)
		w, _ = optim.Step(opt, w, graph.Grad(loss)(w), opt.Init(w))
		return loss(w)
	}
	// (3 - 6 lr)^2 has the slope -12 (3 - 6 lr).
	require.InDelta(t, -12*(3-.6), floats(t, graph.Grad(after)(graph.Scalar(.1)))[0], 1e-4)
}
