package policy

import (
	"math"

	"xlarun/envs"
	"xlarun/graph"
	"xlarun/graph/nn"
	"xlarun/graph/random"
	"xlarun/rollout/settings"
)

// spikingInputs maps observations to channels, numbers from 0 to 1. Bounds scale an element to 0..1. If an element has
// a lower bound below 0, elements are scaled to -1..1 and have two channels each: max(x, 0) and max(-x, 0). Elements
// without bounds become x/(1+|x|).
type spikingInputs struct {
	space  envs.Space
	n      int
	signed bool
	low    []float32 // of each element, 0 without bounds
	scale  []float32 // 1 over the largest absolute value, or over the range; 0 without bounds
}

// wide is the absolute value from which a bound counts as none.
const wide = 1e6

func newSpikingInputs(space envs.Space, n int) spikingInputs {
	in := spikingInputs{space: space, n: n, low: make([]float32, n), scale: make([]float32, n)}
	box, ok := space.(envs.Box)
	for i := range n {
		low, high := 0., 1.
		if ok {
			low, high = bound(box.Low, i), bound(box.High, i)
		}
		in.signed = in.signed || low < 0
		switch {
		case math.Abs(low) > wide || math.Abs(high) > wide || !(low < high):
		case low < 0:
			in.scale[i] = float32(1 / max(-low, high))
		default:
			in.low[i], in.scale[i] = float32(low), float32(1/(high-low))
		}
	}
	return in
}

// width returns the number of channels.
func (in spikingInputs) width() int {
	if in.signed {
		return 2 * in.n
	}
	return in.n
}

// scaled returns the elements of an observation, f32[n], from -1 to 1.
func (in spikingInputs) scaled(observation *graph.Array) *graph.Array {
	x := Flat(in.space, observation)
	scale := graph.Float32s(in.scale)
	bounded := x.Sub(graph.Float32s(in.low)).Mul(scale)
	return graph.Select(scale.Gt(0), bounded, x.Div(graph.Add(1, x.Abs())))
}

// split returns the channels of elements.
func (in spikingInputs) split(x *graph.Array) *graph.Array {
	if !in.signed {
		return x
	}
	return graph.Concatenate(0, x.Max(0), x.Neg().Max(0))
}

// Encoding holds the settings of how observations become spikes.
type Encoding struct {
	Substeps int             `set:"substeps" min:"1" max:"4096" help:"substeps of dt ms per step of the environment"`
	Encoder  string          `set:"encoder" oneof:"current,rate,regular,latency,delta,population" help:"how observations become spikes: as the mean current of rate (current), random spike trains (rate), regular trains (regular), one spike, earlier for larger values (latency), spikes on a change (delta), random trains of several units (population)"`
	Rate     settings.Number `set:"rate" above:"0" needs:"encoder=current|rate|regular|population" help:"spikes per second of an input that is 1; at most one per substep"`
	Gain     settings.Number `set:"gain" above:"0" help:"factor of observations, scaled to -1..1 by their bounds, before they become spikes"`
	Fields   int             `set:"fields" min:"2" max:"4096" needs:"encoder=population" help:"units per input of the encoder population"`
	Change   float64         `set:"change" above:"0" needs:"encoder=delta" help:"change of an input that makes the encoder delta send a spike"`
}

func defaultEncoding() Encoding {
	return Encoding{Substeps: 8, Encoder: "current", Rate: settings.Num(500), Gain: settings.Num(1), Fields: 5,
		Change: .05}
}

// channels returns the number of spike trains that the first layer takes.
func (e Encoding) channels(in spikingInputs) int {
	switch e.Encoder {
	case "population":
		return in.n * e.Fields
	case "delta":
		return 2 * in.n
	}
	return in.width()
}

// train holds the spikes of the inputs in a step.
type train struct {
	each   *graph.Array // f32[substeps, channels]; nil if steady
	steady *graph.Array // f32[channels]: the same in every substep
	steps  int
}

// rowOf is a substep of a train. Spikes is nil if the train is steady.
type rowOf struct {
	Spikes *graph.Array `tree:"optional"`
}

// total returns the number of spikes of each channel in the step, f32[channels].
func (t train) total() *graph.Array {
	if t.steady != nil {
		return t.steady.Mul(float32(t.steps))
	}
	return t.each.Sum(0)
}

// silent is the largest input without a spike with the encoder latency, as in Spyx.
const silent = .01

// startEncoding returns the carry of the encoder delta; nil for others.
func (e Encoding) startEncoding(in spikingInputs) *graph.Array {
	if e.Encoder != "delta" {
		return nil
	}
	return nn.Delta{Threshold: e.Change}.Start(in.n)
}

// encode returns the train of a step, given elements x, f32[n], and dt, the ms of a substep. changed is the carry of
// the encoder delta.
func (e Encoding) encode(in spikingInputs, changed, x, dt *graph.Array, key random.Key) (train, *graph.Array) {
	x = x.Mul(e.Gain.Array())
	rate := func(channels *graph.Array) *graph.Array { // spikes a substep
		return channels.Mul(e.Rate.Array().Mul(dt).Mul(.001)).Clamp(0, 1)
	}
	n, t := e.Substeps, train{steps: e.Substeps}
	switch e.Encoder {
	case "current":
		t.steady = rate(in.split(x))
	case "rate":
		t.each = nn.RateCode(key, rate(in.split(x)), n)
	case "regular":
		t.each = nn.RegularCode(rate(in.split(x)), n)
	case "latency":
		t.each = nn.LatencyCode(in.split(x), n, silent)
	case "population":
		low := 0.
		if in.signed {
			low = -1
		}
		t.each = nn.RateCode(key, rate(nn.PopulationCode(x, e.Fields, low, 1)), n)
	case "delta":
		next, spikes := nn.Delta{Threshold: e.Change}.Step(changed, x)
		t.each = graph.Pad(spikes.ExpandDims(0), 0, []int{0, 0}, []int{n - 1, 0}) // sent in the first substep
		return t, next
	}
	return t, nil
}

// integrated returns the outputs as leaky integrators of the last layer's spikes, after one more substep:
// v' = Keep*v + (1-Keep)*(spikes·W + B).
func (s *Spiking) integrated(p spikingReady, v, spikes *graph.Array) *graph.Array {
	arrived := single(p.Out.Apply(spikes))
	return arrived.Add(p.Keep.Mul(v.Sub(arrived)))
}

// decoded returns the outputs of a step, given their potentials, and the last layer's counts, f32[units], and spikes,
// f32[substeps, units].
func (s *Spiking) decoded(p spikingReady, potentials, counts, spikes *graph.Array) *graph.Array {
	switch s.Decoder {
	case "membrane":
		return potentials
	case "first-spike":
		return p.Out.Apply(nn.FirstSpike(spikes))
	case "population-vector": // nn.PopulationVector, by a matrix that may be shared
		all := counts.Sum(0)
		return single(p.Out.W.Times(counts)).Div(graph.Select(all.Eq(0), graph.OnesLike(all),
			all)).Add(p.Out.B)
	}
	return p.Out.Apply(counts.Div(float32(s.Substeps)))
}
