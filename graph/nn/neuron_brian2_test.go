package nn_test

import (
	"fmt"
	"math"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/graph/neuron"
	"xlarun/internal/long"
	"xlarun/third_party/oracles"
	"xlarun/xlabridge"
	"xlarun/xlabridge/xlatest"
)

// brianCase is one run of brian2: third_party/oracles/brian2_neurons.py says what the fields hold.
type brianCase struct {
	Name   string
	Config struct {
		Method                           string
		DT, Refractory                   float64
		Every                            int
		APlus, AMinus, TauPlus, TauMinus float64
	}
	Inputs, Outputs map[string]oracles.Array
}

func brianCases(t *testing.T) []brianCase {
	t.Helper()
	var file struct{ Cases []brianCase }
	require.NoError(t, oracles.Read("../neuron/testdata/brian2_neurons.json.gz", &file))
	return file.Cases
}

// scales are what differences are counted in: the width of a spike in mV, currents of adaptation in pA, recovery in
// mV/ms, gates.
var scales = map[string]float64{"v": 100, "w": 100, "u": 10, "m": 1, "h": 1, "n": 1, "ge": 10, "gi": 10}

func array(a oracles.Array) *graph.Array { return graph.Float32s(a.Float32s(), a.Shape...) }

// potentialsApart is how far numbers are apart, in units of a scale: the most, and the share that is within 1e-5.
func potentialsApart(t *testing.T, want, got *graph.Array, scale float64) (most, within float64) {
	t.Helper()
	require.Equal(t, want.Dims(), got.Dims())
	w, g := floats(t, want), floats(t, got)
	for i := range w {
		d := math.Abs(w[i]-g[i]) / scale
		require.False(t, math.IsNaN(d), "element %d", i)
		most = max(most, d)
		if d <= 1e-5 {
			within += 1 / float64(len(w))
		}
	}
	return most, within
}

// wide are a tree's float32 numbers as float64 ones of the same decimals, such as -50.4.
func wide[T any](t *testing.T, tree T) T {
	return graph.MapTree(func(a *graph.Array) *graph.Array {
		v := floats(t, a)
		for i, x := range v {
			v[i], _ = strconv.ParseFloat(strconv.FormatFloat(x, 'g', -1, 32), 64)
		}
		return graph.Float64s(v, a.Dims()...)
	}, tree)
}

// Every model by every integrator is brian2's at two time steps: in float64, as brian2 counts, all spikes and
// potentials, adaptation and gates to 1e-5; in float32 all spikes, and all but a few numbers to 1e-5. Those are of
// upswings, where what float32 rounds at -60 mV, some 1e-6 mV in each step, moves a spike by some 1e-5 ms and the
// potential beside it by 100 times that. The short form compiles one case of each model, and interprets each integrator
// at one time step.
func TestModelsAgreeWithBrian2(t *testing.T) {
	client := xlatest.OpenCPU(t, 0)
	seen, played := map[string]int{}, map[string]bool{}
	for _, c := range brianCases(t) {
		if c.Name == "conductances" || c.Name == "stdp" {
			continue
		}
		seen[c.Name]++
		var b xlabridge.Backend = client
		if seen[c.Name] > 1 && !long.On() {
			b = &xlabridge.Reference{}
		}
		if by := c.Name + c.Config.Method; !played[by] || long.On() {
			played[by] = true
		} else {
			continue
		}
		method := map[string]neuron.Integrator{"euler": neuron.Euler, "rk4": neuron.RK4,
			"exponential_euler": neuron.ExponentialEuler}[c.Config.Method]
		l := neuron.Layer{Model: neuron.New(c.Name), Integrator: method, DT: graph.Scalar(c.Config.DT)}
		if c.Config.Refractory > 0 {
			l.Refractory = graph.Scalar(c.Config.Refractory)
		}
		start := l.Start(3)
		for i, name := range l.Model.Variables() {
			start.Neurons[i] = array(c.Inputs["start_"+name])
		}
		what := fmt.Sprintf("%s by %s, %v ms", c.Name, c.Config.Method, c.Config.DT)
		each, current := int(math.Round(1/c.Config.DT)), array(c.Inputs["current"])
		play := xlabridge.Jit(b, func(r brianRun) recording { return recorded(r, each) })
		narrow, err := play(brianRun{l, start, current})
		require.NoError(t, err)
		exact, err := play(brianRun{wide(t, l), wide(t, start), current.Convert(graph.Float64)})
		require.NoError(t, err)
		for _, r := range []recording{narrow, exact} {
			require.Equal(t, floats(t, array(c.Outputs["spikes"])), floats(t, r.Spikes), what)
		}
		for i, name := range l.Model.Variables() {
			want := array(c.Outputs[name])
			most, _ := potentialsApart(t, want, exact.S[i], scales[name])
			require.LessOrEqual(t, most, 1e-5, "%s: %s", what, name)
			most32, within := potentialsApart(t, want, narrow.S[i], scales[name])
			require.GreaterOrEqual(t, within, .85, "%s: %s in float32", what, name)
			t.Logf("%s: %s within %.1e of %v; in float32 %.1f %%, the others within %.1e", what, name, most,
				scales[name], 100*within, most32)
		}
	}
	require.Equal(t, map[string]int{"lif": 6, "expif": 4, "adex": 4, "izhikevich": 4, "hh": 4}, seen)
}

// brianRun is a layer, its start and currents [ms, units].
type brianRun struct {
	Layer   neuron.Layer
	Start   neuron.LayerState
	Current *graph.Array
}

// recording is a layer's variables after each ms and all spikes [steps, units].
type recording struct {
	S      neuron.State
	Spikes *graph.Array
}

// recorded runs a layer with the given number of steps in a ms.
func recorded(r brianRun, steps int) recording {
	_, k := graph.Scan(func(s neuron.LayerState, now *graph.Array) (neuron.LayerState, recording) {
		s, spikes := r.Layer.Apply(s, neuron.Arrivals{Current: now.BroadcastTo(steps, now.Dim(0))})
		return s, recording{s.Neurons, spikes}
	}, r.Start, r.Current)
	return recording{k.S, k.Spikes.Reshape(-1, r.Current.Dim(1))}
}

// Conductances with a refractory period are brian2's, whose synapses bring what arrives at the end of a step: here at
// the start of the next.
func TestConductancesAgreeWithBrian2(t *testing.T) {
	seen := 0
	for _, c := range brianCases(t) {
		if c.Name != "conductances" {
			continue
		}
		seen++
		l := neuron.Layer{Model: neuron.NewLIF(), Synapse: neuron.NewConductances(), DT: graph.Scalar(c.Config.DT),
			Refractory: graph.Scalar(c.Config.Refractory)}
		later := func(name string) *graph.Array {
			a := array(c.Inputs[name])
			return graph.Concatenate(0, graph.Zeros(graph.ShapeOf(graph.Float32, 1, a.Dim(1))),
				graph.Slice(a, []int{0, 0}, []int{a.Dim(0) - 1, a.Dim(1)}))
		}
		type kept struct{ V, E, I, Spikes *graph.Array }
		_, got := graph.Scan(func(s neuron.LayerState, a neuron.Arrivals) (neuron.LayerState, kept) {
			s, spikes := l.Step(s, a)
			return s, kept{s.Neurons[0], s.Synapses[0], s.Synapses[1], spikes}
		}, l.Start(3), neuron.Arrivals{Excitatory: later("excitatory"), Inhibitory: later("inhibitory")})
		require.Equal(t, floats(t, array(c.Outputs["spikes"])), floats(t, got.Spikes))
		most, _ := potentialsApart(t, array(c.Outputs["v"]), got.V, scales["v"])
		require.LessOrEqual(t, most, 1e-5)
		t.Logf("%v ms: potentials within %.1e of %v", c.Config.DT, most, scales["v"])
		// brian2 records conductances after the arrivals of the step.
		for name, g := range map[string]*graph.Array{"ge": got.E, "gi": got.I} {
			arrived := array(c.Inputs[map[string]string{"ge": "excitatory", "gi": "inhibitory"}[name]])
			keep := math.Exp(-c.Config.DT / map[string]float64{"ge": 5, "gi": 10}[name])
			most, _ := potentialsApart(t, array(c.Outputs[name]), graph.Mul(keep, g).Add(arrived), scales[name])
			require.LessOrEqual(t, most, 1e-5, name)
		}
	}
	require.Equal(t, 2, seen)
}

// Plasticity of all pairs is brian2's.
func TestSTDPAgreesWithBrian2(t *testing.T) {
	seen := 0
	for _, c := range brianCases(t) {
		if c.Name != "stdp" {
			continue
		}
		seen++
		o := c.Config
		p := neuron.STDP{DT: o.DT, APlus: o.APlus, AMinus: o.AMinus, TauPlus: o.TauPlus, TauMinus: o.TauMinus, Most: 1}
		type pair struct{ Pre, Post *graph.Array }
		end, _ := graph.Scan(func(s neuron.STDPState, x pair) (neuron.STDPState, graph.None) {
			return p.Step(s, x.Pre, x.Post), graph.None{}
		}, p.Start(array(c.Inputs["start"])), pair{array(c.Inputs["pre"]), array(c.Inputs["post"])})
		most, _ := potentialsApart(t, array(c.Outputs["weights"]), end.W, 1)
		require.LessOrEqual(t, most, 1e-5)
	}
	require.Equal(t, 2, seen)
}
