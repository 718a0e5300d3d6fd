package nn_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/graph/neuron"
	"xlarun/graph/random"
)

// Slopes are the derivatives of the equations by each variable, with a current alone and with conductances.
func TestSlopesAreDerivatives(t *testing.T) {
	const units = 6
	for _, name := range neuron.Models() {
		m := neuron.New(name)
		s := m.Start(units)
		s[0] = graph.Float32s([]float32{-90, -70, -58, -52, -45, -30.5}, units)
		current := graph.Float32s([]float32{0, 100, -200, 500, 50, 10}, units)
		for _, in := range []neuron.Input{
			{Current: current}, {Current: current, Conductance: graph.Float32s([]float32{0, 5, 10, 20, 1, 7}, units)}} {
			_, slope := m.Derivative(s, in)
			for i, variable := range m.Variables() {
				tangents := make(neuron.State, len(s))
				for k := range s {
					tangents[k] = graph.ZerosLike(s[k])
				}
				tangents[i] = graph.OnesLike(s[i])
				_, want := graph.Jvp(func(s neuron.State) neuron.State {
					change, _ := m.Derivative(s, in)
					return change
				}, s, tangents)
				w, g := floats(t, want[i]), floats(t, slope[i].Add(graph.ZerosLike(s[i])))
				for u := range w {
					require.InDelta(t, w[u], g[u], 2e-5*(1+math.Abs(w[u])), "%s, %s of unit %d", name, variable, u)
				}
			}
		}
	}
}

// driven runs a layer with a constant current for the given number of steps.
func driven(l neuron.Layer, current *graph.Array, steps int) (last neuron.LayerState, spikes *graph.Array) {
	return l.Apply(l.Start(current.Dim(0)), neuron.Arrivals{Current: current.BroadcastTo(steps, current.Dim(0))})
}

// No current of any size makes a number that is not finite by itself, by any integrator at the longest step; a NaN
// stays in its unit.
func TestUpswingsStayFinite(t *testing.T) {
	for _, name := range neuron.Models() {
		for _, method := range neuron.Integrators() {
			m := neuron.New(name)
			dt, err := graph.Float(m.Longest().ReduceMin())
			require.NoError(t, err)
			l := neuron.Layer{Model: m, Integrator: method, DT: graph.Scalar(dt / 4)}
			last, spikes := driven(l, graph.Float32s([]float32{0, 500, 2000, 1e4, 1e5, -1e3, float32(math.NaN())}, 7),
				150)
			for i, variable := range m.Variables() {
				for u, x := range floats(t, last.Neurons[i])[:6] {
					require.False(t, math.IsNaN(x) || math.IsInf(x, 0), "%s by %s: %s of unit %d is %v", name, method,
						variable, u, x)
				}
			}
			require.True(t, math.IsNaN(floats(t, last.Neurons[0])[6]), "%s by %s", name, method)
			total := floats(t, spikes.Sum(0))
			require.Zero(t, total[0], "%s by %s", name, method)
			require.Zero(t, total[6], "%s by %s", name, method)
			require.Positive(t, total[2]+total[3], "%s by %s", name, method)
		}
	}
}

// Substeps are steps of the layer with shorter ones, whose spikes are added up.
func TestSubstepsAreShorterSteps(t *testing.T) {
	whole := neuron.Layer{Model: neuron.NewAdEx(), Synapse: neuron.NewConductances(), DT: graph.Scalar(1), Substeps: 4,
		Refractory: graph.Scalar(2)}
	fine := whole
	fine.DT, fine.Substeps = graph.Scalar(.25), 0
	const units, steps = 5, 60
	k := random.SplitN(random.New(4), 2)
	each := graph.ShapeOf(graph.Float32, steps, units)
	arrives := neuron.Arrivals{Excitatory: random.Uniform(k[0], each, 0, 1).Mul(20),
		Inhibitory: random.Uniform(k[1], each, 0, 1).Mul(5)}
	last, spikes := whole.Apply(whole.Start(units), arrives)
	apart := func(x *graph.Array) *graph.Array { // what arrives, in the first of each four
		return graph.Pad(x.ExpandDims(1), 0, []int{0, 0, 0}, []int{0, 3, 0}).Reshape(4*steps, units)
	}
	wantLast, want := fine.Apply(fine.Start(units), neuron.Arrivals{Excitatory: apart(arrives.Excitatory),
		Inhibitory: apart(arrives.Inhibitory)})
	require.Equal(t, floats(t, want.Reshape(steps, 4, units).Sum(1)), floats(t, spikes))
	require.InDeltaSlice(t, floats(t, wantLast.Neurons[0]), floats(t, last.Neurons[0]), 1e-4)
	n, err := graph.Float(spikes.Sum())
	require.NoError(t, err)
	require.Greater(t, n, 20.)
}

// VMap over layers and their constants makes a population; a lane equals a single layer.
func TestLayersAreMapped(t *testing.T) {
	thresholds := graph.Float32s([]float32{-52, -50, -45}, 3)
	play := func(threshold *graph.Array) *graph.Array {
		m := neuron.NewLIF()
		m.Threshold = threshold
		_, spikes := driven(neuron.Layer{Model: m, DT: graph.Scalar(1), Refractory: graph.Scalar(2)},
			graph.Float32s([]float32{90, 120, 200, 400}, 4), 200)
		return spikes.Sum(0)
	}
	all := floats(t, graph.VMap(play)(thresholds))
	for i := range 3 {
		require.Equal(t, floats(t, play(thresholds.Index(i))), all[4*i:4*i+4])
	}
	require.Greater(t, all[2], all[6]) // a lower threshold, more spikes
	require.LessOrEqual(t, all[3], 100.)
}

// A spike's derivative is the derivative of Layer.Spike, through the potential to the current.
func TestSpikesHaveTheGivenDerivative(t *testing.T) {
	m := neuron.NewLIF()
	l := neuron.Layer{Model: m, DT: graph.Scalar(1), Spike: func(x *graph.Array) *graph.Array {
		return graph.CustomJvp(func(x *graph.Array) *graph.Array {
			return x.Gt(0).Convert(graph.Float32)
		},
			func(x, t *graph.Array) (out, tangent *graph.Array) {
				return x.Gt(0).Convert(graph.Float32), graph.Mul(3, t)
			})(x)
	}}
	d := graph.Grad(func(current *graph.Array) *graph.Array {
		_, spikes := l.Step(l.Start(1), neuron.Arrivals{Current: current})
		return spikes.Sum()
	})(graph.Float32s([]float32{10}, 1))
	require.InEpsilon(t, 3*(1-math.Exp(-1./20))/10, floats(t, d)[0], 1e-5) // 3 times R*(1 - exp(-dt/tau))
}

// A derivative through spikes without a surrogate is an error. A derivative of the potentials between spikes is not.
func TestSpikesWithoutADerivative(t *testing.T) {
	for _, c := range []struct {
		number, substeps int
		what             string
		loss             func(last neuron.LayerState, spikes *graph.Array) *graph.Array
		refused          bool
	}{
		{1, 1, "the number of spikes", func(_ neuron.LayerState, s *graph.Array) *graph.Array {
			return s.Sum()
		}, true},
		{2, 4, "the number of spikes, in substeps", func(_ neuron.LayerState, s *graph.Array) *graph.Array {
			return s.Sum()
		}, true},
		{3, 1, "the last potential", func(l neuron.LayerState, _ *graph.Array) *graph.Array {
			return l.Neurons[0].Sum()
		}, false},
		{4, 4, "the last potential, in substeps", func(l neuron.LayerState, _ *graph.Array) *graph.Array {
			return l.Neurons[0].Sum()
		}, false},
		{5, 1, "spikes that count as constant", func(l neuron.LayerState, s *graph.Array) *graph.Array {
			return graph.StopGradient(s).Mul(l.Neurons[0]).Sum()
		}, false},
	} {
		l := neuron.Layer{Model: neuron.NewLIF(), DT: graph.Scalar(1), Substeps: c.substeps}
		_, err := graph.Trace("loss", func(current *graph.Array) *graph.Array {
			return graph.Grad(func(current *graph.Array) *graph.Array {
				return c.loss(l.Apply(l.Start(2), neuron.Arrivals{Current: current}))
			})(current)
		}, graph.Abstract(graph.ShapeOf(graph.Float32, 5, 2)))
		if c.refused {
			require.ErrorContains(t, err, "neuron.Layer: got asked for the derivative of its spikes, which have "+
				"none: give the Layer a Spike", "%d: %s", c.number, c.what)
		} else {
			require.NoError(t, err, "%d: %s", c.number, c.what)
		}
	}
}

// Plasticity by reward is a loop over pairs in float64: eligibility is left behind by pairs, and weights follow it
// where there is a reward.
func TestRewardedPlasticityIsALoop(t *testing.T) {
	const in, out, steps, dt = 3, 2, 300, 1.
	p := neuron.NewSTDP(dt, 1)
	p.Modulated, p.TauC, p.TauMinus = true, 200, 30
	k := random.SplitN(random.New(6), 3)
	trains := func(key random.Key, n int) *graph.Array {
		return random.Bernoulli(key, .05, steps, n).Convert(graph.Float32)
	}
	type step struct{ Pre, Post, Reward *graph.Array }
	x := step{trains(k[0], in), trains(k[1], out),
		graph.Mul(.3, random.Normal(k[2], graph.ShapeOf(graph.Float32, steps)))}
	start := graph.Float32s([]float32{.1, .5, .9, .3, .7, .5}, in, out)
	end, _ := graph.Scan(func(s neuron.STDPState, x step) (neuron.STDPState, graph.None) {
		return p.Reward(p.Step(s, x.Pre, x.Post), x.Reward), graph.None{}
	}, p.Start(start), x)
	pre, post, reward := floats(t, x.Pre), floats(t, x.Post), floats(t, x.Reward)
	w, c := floats(t, start), make([]float64, in*out)
	var tracePre [in]float64
	var tracePost [out]float64
	moved := 0.
	for s := range steps {
		for i := range in {
			tracePre[i] *= math.Exp(-dt / p.TauPlus)
		}
		for j := range out {
			tracePost[j] *= math.Exp(-dt / p.TauMinus)
		}
		for i := range in {
			for j := range out {
				e := i*out + j
				c[e] = c[e]*math.Exp(-dt/p.TauC) + p.APlus*tracePre[i]*post[s*out+j] - p.AMinus*pre[s*in+i]*tracePost[j]
				w[e] = min(max(w[e]+reward[s]*c[e], 0), 1)
			}
		}
		for i := range in {
			tracePre[i] += pre[s*in+i]
		}
		for j := range out {
			tracePost[j] += post[s*out+j]
		}
	}
	require.InDeltaSlice(t, w, floats(t, end.W), 1e-5)
	require.InDeltaSlice(t, c, floats(t, end.Eligibility), 1e-6)
	for e, from := range floats(t, start) {
		moved = max(moved, math.Abs(w[e]-from))
	}
	require.Greater(t, moved, .005)
}

// What cannot be: a sentence each.
func TestBadLayers(t *testing.T) {
	lif := func(change func(m *neuron.LIF, l *neuron.Layer)) func() {
		return func() {
			m := neuron.NewLIF()
			l := neuron.Layer{DT: graph.Scalar(1)}
			change(&m, &l)
			if l.Model == nil {
				l.Model = m
			}
			l.Start(2)
		}
	}
	for _, c := range []struct {
		number int
		make   func()
		want   string
	}{
		{1, func() { neuron.New("lfi") }, `got the model "lfi", want one of [adex expif hh izhikevich lif]`},
		{2, lif(func(m *neuron.LIF, _ *neuron.Layer) {
			m.C = graph.Scalar(-200)
		}), "the constant C of unit 0 is -200, want a number above 0"},
		{3, lif(func(m *neuron.LIF, _ *neuron.Layer) {
			m.GL = graph.Float32s([]float32{10, 0}, 2)
		}), "the constant GL of unit 1 is 0, want a number above 0"},
		{4, lif(func(m *neuron.LIF, _ *neuron.Layer) {
			m.Threshold = graph.Scalar(math.NaN())
		}), "the constant Threshold of unit 0 is NaN, want a number"},
		{5, lif(func(m *neuron.LIF, _ *neuron.Layer) { m.EL = nil }), "the constant EL is nil: fill it"},
		{6, lif(func(_ *neuron.LIF, l *neuron.Layer) {
			l.DT = graph.Scalar(25)
		}), "a substep of 25 ms is longer than 20 ms, the longest for unit 0: use a shorter DT or more Substeps"},
		{7, lif(func(_ *neuron.LIF, l *neuron.Layer) {
			l.Model = neuron.NewHodgkinHuxley()
			l.Substeps = 5
		}), "a substep of 0.2 ms is longer than 0.1 ms"},
		{8, lif(func(_ *neuron.LIF, l *neuron.Layer) {
			l.DT = graph.Scalar(0)
		}), "the constant DT of unit 0 is 0, want a number above 0"},
		{9, lif(func(_ *neuron.LIF, l *neuron.Layer) { l.DT = nil }), "got the DT nil, want ms, f32[]"},
		{10, lif(func(_ *neuron.LIF, l *neuron.Layer) { l.Substeps = -1 }), "got Substeps = -1, want at least 1"},
		{11, lif(func(_ *neuron.LIF, l *neuron.Layer) {
			l.Refractory = graph.Scalar(-2)
		}), "the constant Refractory of unit 0 is -2, want a number at least 0"},
		{12, lif(func(_ *neuron.LIF, l *neuron.Layer) {
			l.Synapse = neuron.Currents{Tau: graph.Scalar(-5)}
		}), "the constant Tau of unit 0 is -5, want a number at least 0"},
		{13, lif(func(m *neuron.LIF, l *neuron.Layer) {
			l.Integrator = "rk5"
			l.Model = m
			l.Step(l.Start(1), neuron.Arrivals{})
		}), `got "rk5", want one of ["euler" "exponential-euler" "rk4"]`},
		{14, func() { neuron.Layer{DT: graph.Scalar(1)}.Start(1) }, "got no Model"},
		{101, func() {
			neuron.Layer{Model: neuron.NewHodgkinHuxley(), DT: graph.Scalar(.01), Refractory: graph.Scalar(50)}.Start(1)
		}, "got a Refractory period for a model without reset"},
		{102, func() {
			l := neuron.Layer{Model: neuron.NewLIF(), DT: graph.Scalar(1)}
			l.Step(l.Start(1), neuron.Arrivals{Excitatory: graph.Float32s([]float32{1})})
		}, "there is no Synapse"},
		{15, func() {
			neuron.Layer{Model: neuron.NewLIF(), DT: graph.Scalar(1)}.Start(0)
		}, "got 0 units, want at least 1"},
		{16, func() {
			neuron.NewSTDP(1, 1).Start(graph.Zeros(graph.ShapeOf(graph.Float32, 3)))
		}, "got weights f32[3], want f32[in, out]"},
		{17, func() {
			neuron.NewSTDP(-1, 1).Start(graph.Zeros(graph.ShapeOf(graph.Float32, 3, 2)))
		}, "got DT = -1 ms, want a number above 0"},
		{18, func() {
			neuron.NewSTDP(1, -1).Start(graph.Zeros(graph.ShapeOf(graph.Float32, 3, 2)))
		}, "got weights between 0 and -1, want Least at most Most"},
		{19, func() {
			p := neuron.NewSTDP(1, 1)
			p.Reward(p.Start(graph.Zeros(graph.ShapeOf(graph.Float32, 2, 2))), graph.Scalar(1))
		}, "got a reward, but Modulated is false"},
	} {
		require.ErrorContains(t, graph.Try(c.make), c.want, "case %d", c.number)
	}
}
