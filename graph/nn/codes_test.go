package nn_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/graph/nn"
	"xlarun/graph/random"
)

// The codes and decoders equal plain loops, for numbers inside, at and outside the bounds.
func TestCodesAreLoops(t *testing.T) {
	values := []float32{0, .005, .01, .1, .25, 1. / 3, .5, .7, .99, 1, -3, 7, float32(math.Inf(1)),
		float32(math.Inf(-1))}
	x, n := graph.Float32s(values), len(values)
	within := func(v float32) float64 { return math.Min(math.Max(float64(v), 0), 1) }
	for _, steps := range []int{1, 2, 8, 13} {
		regular, latency := make([]float64, steps*n), make([]float64, steps*n)
		for i, v := range values {
			for s := range steps {
				regular[s*n+i] = math.Floor(float64(float32(s+1)*float32(within(v)))) -
					math.Floor(float64(float32(s)*float32(within(v))))
				if at := math.RoundToEven((1 - within(v)) * float64(steps-1)); float64(s) == at && within(v) > .01 {
					latency[s*n+i] = 1
				}
			}
		}
		require.Equal(t, regular, floats(t, nn.RegularCode(x, steps)), "%d steps", steps)
		require.Equal(t, latency, floats(t, nn.LatencyCode(x, steps, float64(float32(.01)))), "%d steps", steps)
		key := random.New(int64(steps))
		drawn := floats(t, random.Uniform(key, graph.ShapeOf(graph.Float32, steps, n), 0, 1))
		rate := make([]float64, steps*n)
		for i := range rate {
			if drawn[i] < within(values[i%n]) {
				rate[i] = 1
			}
		}
		train := nn.RateCode(key, x, steps)
		require.Equal(t, rate, floats(t, train), "%d steps", steps)
		sooner, mean := make([]float64, n), make([]float64, n)
		for i := range n {
			for s := range steps {
				mean[i] += rate[s*n+i] / float64(steps)
				sooner[i] = math.Max(sooner[i], rate[s*n+i]*float64(steps-s)/float64(steps))
			}
		}
		require.InDeltaSlice(t, mean, floats(t, nn.SpikeRate(train)), 1e-6)
		require.InDeltaSlice(t, sooner, floats(t, nn.FirstSpike(train)), 1e-6)
	}
	rates := floats(t, nn.SpikeRate(nn.RateCode(random.New(1), x, 20000)))
	for i, v := range values {
		require.InDelta(t, within(v), rates[i], .015, "an element of %g", v)
	}
	require.Equal(t, []int{3, 2, 2}, nn.LatencyCode(graph.Zeros(graph.ShapeOf(graph.Float32, 2, 2)), 3, 0).Dims())
}

func TestDeltaSendsOnAChange(t *testing.T) {
	in := [][]float32{{0, .3, -.2}, {.05, .3, -.2}, {.09, .1, -.2}, {.13, -.5, -.2}, {.13, -.45, 9}}
	last, want := []float32{0, 0, 0}, []float64{}
	var flat []float32
	for _, x := range in {
		spikes := make([]float64, 6)
		for i, v := range x {
			if v-last[i] > .1 {
				spikes[i], last[i] = 1, v
			} else if v-last[i] < -.1 {
				spikes[3+i], last[i] = 1, v
			}
		}
		want, flat = append(want, spikes...), append(flat, x...)
	}
	d := nn.Delta{Threshold: .1}
	end, spikes := d.Apply(d.Start(3), graph.Float32s(flat, 5, 3))
	require.Equal(t, want, floats(t, spikes))
	for i, v := range floats(t, end) {
		require.Equal(t, float64(last[i]), v)
	}
}

func TestPopulationCodeAndVector(t *testing.T) {
	got := floats(t, nn.PopulationCode(graph.Float32s([]float32{-1, .25}), 5, -1, 1))
	for i, x := range []float64{-1, .25} {
		for f := range 5 {
			peak := -1 + float64(f)*.5
			require.InDelta(t, math.Exp(-(x-peak)*(x-peak)/.25/2), got[i*5+f], 1e-6)
		}
	}
	preferred := graph.Float32s([]float32{1, 0, 0, 1, -1, 0}, 3, 2)
	require.InDeltaSlice(t, []float64{.25, .25}, floats(t, nn.PopulationVector(graph.Float32s([]float32{2, 1, 1}),
		preferred)), 1e-6)
	require.Equal(t, []float64{0, 0}, floats(t, nn.PopulationVector(graph.Float32s([]float32{0, 0, 0}), preferred)))
}

// A NaN makes its own train NaN, and no other train.
func TestCodesKeepNaN(t *testing.T) {
	x := graph.Float32s([]float32{.5, float32(math.NaN()), .5})
	_, changed := nn.Delta{Threshold: .1}.Step(graph.Zeros(x.Shape()), x)
	for name, code := range map[string]*graph.Array{
		"rate": nn.RateCode(random.New(0), x, 4), "regular": nn.RegularCode(x, 4), "latency": nn.LatencyCode(x, 4, 0),
		"population": nn.PopulationCode(x, 4, 0, 1).Reshape(3, 4).Transpose(1, 0),
		"delta":      changed.Reshape(2, 3),
	} {
		for i, v := range floats(t, code) {
			require.Equal(t, i%3 == 1, math.IsNaN(v), "%s: element %d is %v", name, i, v)
		}
	}
}

func TestCodesBadInput(t *testing.T) {
	x := graph.Float32s([]float32{.5})
	for _, c := range []struct {
		make func()
		want string
	}{
		{func() { nn.RateCode(random.New(0), x, 0) }, "nn.RateCode: got 0 steps, want at least 1"},
		{func() { nn.RegularCode(graph.Of(int32(1)), 3) }, "want floats of 0 to 1"},
		{func() { nn.LatencyCode(nil, 3, 0) }, "want floats of 0 to 1"},
		{func() { nn.PopulationCode(x, 1, 0, 1) }, "got 1 fields from 0 to 1, want 2 fields or more"},
		{func() {
			nn.PopulationCode(x, 3, 1, 0)
		}, "got 3 fields from 1 to 0, want 2 fields or more, and bounds of which the first is less"},
		{func() { nn.Delta{}.Step(x, x) }, "got Threshold 0, want a number above 0"},
		{func() { nn.SpikeRate(graph.Zeros(graph.ShapeOf(graph.Float32, 0, 2))) }, "with a step or more"},
		{func() { nn.FirstSpike(nil) }, "with a step or more"},
		{func() { nn.PopulationVector(x, x) }, "want [units, out]"},
	} {
		require.ErrorContains(t, graph.Try(c.make), c.want)
	}
}

// An input arrives after its delay, for all delays, and nothing arrives before the first step.
// Delays that are no whole numbers of 0 to Longest are taken as the nearest.
func TestDelaysOutOfRange(t *testing.T) {
	x := random.Normal(random.New(2), graph.ShapeOf(graph.Float32, 9, 4))
	run := func(steps ...float32) []float64 {
		d := nn.Delay{Steps: graph.Float32s(steps), Longest: 3}
		_, arrived := d.Apply(d.Start(4), x)
		return floats(t, arrived)
	}
	require.Equal(t, run(3, 2, 0, 0), run(5, 1.6, -1, .4))
}

// Layers that nobody made say so.
func TestLayersOfNothing(t *testing.T) {
	for name, start := range map[string]func(){
		"nn.LIF: got no Threshold": func() {
			nn.LIF{}.Start(3)
		}, "nn.ALIF: got no Threshold": func() {
			nn.ALIF{}.Start(3)
		}, "nn.CuBaLIF: got no Threshold": func() { nn.CuBaLIF{}.Start(3) },
		"nn.LI: got no Beta": func() {
			nn.LI{}.Start(3)
		}, "nn.Delay: got no Steps": func() { nn.Delay{Longest: 2}.Start(3) },
	} {
		require.ErrorContains(t, graph.Try(start), name)
	}
}

func TestDelayHoldsUp(t *testing.T) {
	const steps = 11
	for _, longest := range []int{1, 3, 4} {
		held := make([]float32, longest+1)
		for i := range held {
			held[i] = float32(i)
		}
		units := len(held)
		x := random.Normal(random.New(2), graph.ShapeOf(graph.Float32, steps, units))
		d := nn.Delay{Steps: graph.Float32s(held), Longest: longest}
		last, got := d.Apply(d.Start(units), x)
		in, want := floats(t, x), make([]float64, steps*units)
		for s := range steps {
			for u := range units {
				if s >= u {
					want[s*units+u] = in[(s-u)*units+u]
				}
			}
		}
		require.Equal(t, want, floats(t, got))
		require.Equal(t, []int{longest, units}, last.Ring.Dims())
		_, again := d.Apply(last, graph.Zeros(x.Shape())) // what was under way arrives
		require.Equal(t, in[(steps-1)*units+units-1], floats(t, again)[(longest-1)*units+units-1])
	}
	d := nn.Delay{Steps: graph.Scalar(0)}
	require.ErrorContains(t, graph.Try(func() { d.Start(2) }), "got Longest = 0, want at least 1")
	d.Longest = 2
	require.ErrorContains(t, graph.Try(func() {
		d.Step(nn.DelayState{}, graph.Float32s([]float32{1}))
	}), "want [2, units], as Start makes it")
}
