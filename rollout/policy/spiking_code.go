package policy

import (
	"math"

	"xlarun/envs"
	"xlarun/graph"
	"xlarun/graph/nn"
	"xlarun/graph/random"
)

// spikingInputs is how observations become numbers of 0 to 1, the channels: each element by its bounds to 0..1, or,
// where one has a lower bound below 0, to -1..1 and from there to two channels, of what is above 0 and of what is
// below. Elements without bounds go through x/(1+|x|).
type spikingInputs struct {
	space  envs.Space
	n      int
	signed bool
	low    []float32 // of each element, 0 where it has no bounds
	scale  []float32 // 1 over what it may be at most, or over its range; 0: it has no bounds
}

// wide is the size from which on a bound is none.
const wide = 1e6

func newSpikingInputs(space envs.Space, n int) spikingInputs {
	in := spikingInputs{space: space, n: n, low: make([]float32, n), scale: make([]float32, n)}
	box, ok := space.(envs.Box)
	at := func(bounds []float64, i int) float64 { return bounds[min(i, len(bounds)-1)] }
	for i := range n {
		low, high := 0., 1.
		if ok {
			low, high = at(box.Low, i), at(box.High, i)
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

// width is the number of channels.
func (in spikingInputs) width() int {
	if in.signed {
		return 2 * in.n
	}
	return in.n
}

// scaled are the elements of an observation, f32[n], of -1 to 1.
func (in spikingInputs) scaled(observation *graph.Array) *graph.Array {
	x := Flat(in.space, observation)
	scale := graph.Float32s(in.scale)
	bounded := x.Sub(graph.Float32s(in.low)).Mul(scale)
	return graph.Select(scale.Gt(0), bounded, x.Div(graph.Add(1, x.Abs())))
}

// split are the channels of elements.
func (in spikingInputs) split(x *graph.Array) *graph.Array {
	if !in.signed {
		return x
	}
	return graph.Concatenate(0, x.Max(0), x.Neg().Max(0))
}

// channels is the number of trains that the first layer takes.
func (s *Spiking) channels() int {
	switch s.Encoder {
	case "population":
		return s.inputs.n * s.Fields
	case "delta":
		return 2 * s.inputs.n
	}
	return s.inputs.width()
}

// train are the spikes that inputs send along a step's substeps.
type train struct {
	each   *graph.Array // f32[substeps, channels]
	steady *graph.Array // f32[channels]: the same in each of them, in the place of each
	steps  int
}

// rowOf is a substep of a train; nil where there is none.
type rowOf struct {
	Spikes *graph.Array `tree:"optional"`
}

// total is how much each channel sends in the step, f32[channels].
func (t train) total() *graph.Array {
	if t.steady != nil {
		return t.steady.Mul(float32(t.steps))
	}
	return t.each.Sum(0)
}

// silent is the most that an input may be without a spike by the encoder latency, as in Spyx.
const silent = .01

// encode makes the trains of a step of elements x, f32[n]; changed is what the encoder delta carries.
func (s *Spiking) encode(changed, x *graph.Array, key random.Key) (train, *graph.Array) {
	x = x.Mul(s.Gain.Array())
	often := func(channels *graph.Array) *graph.Array { // spikes a substep
		return channels.Mul(s.Rate.Array().Mul(s.DT.Array()).Mul(.001)).Clamp(0, 1)
	}
	n, t := s.Substeps, train{steps: s.Substeps}
	switch s.Encoder {
	case "current":
		t.steady = often(s.inputs.split(x))
	case "rate":
		t.each = nn.RateCode(key, often(s.inputs.split(x)), n)
	case "regular":
		t.each = nn.RegularCode(often(s.inputs.split(x)), n)
	case "latency":
		t.each = nn.LatencyCode(s.inputs.split(x), n, silent)
	case "population":
		low := 0.
		if s.inputs.signed {
			low = -1
		}
		t.each = nn.RateCode(key, often(nn.PopulationCode(x, s.Fields, low, 1)), n)
	case "delta":
		next, spikes := nn.Delta{Threshold: s.Change}.Step(changed, x)
		t.each = graph.Pad(spikes.ExpandDims(0), 0, []int{0, 0}, []int{n - 1, 0}) // sent in the first substep
		return t, next
	}
	return t, nil
}

// integrated are the outputs as leaky integrators of the last layer's spikes, after one more substep: v' = Keep*v +
// (1-Keep)*(spikes·W + B).
func (s *Spiking) integrated(p spikingReady, v, spikes *graph.Array) *graph.Array {
	arrived := single(p.Out.Apply(spikes))
	return arrived.Add(p.Keep.Mul(v.Sub(arrived)))
}

// decoded are the outputs of a step by their potentials, by how often each neuron of the last layer spiked, f32[units],
// or by its spikes, f32[substeps, units].
func (s *Spiking) decoded(p spikingReady, potentials, often, spikes *graph.Array) *graph.Array {
	switch s.Decoder {
	case "membrane":
		return potentials
	case "first-spike":
		return p.Out.Apply(nn.FirstSpike(spikes))
	case "population-vector": // nn.PopulationVector, by a matrix that may be shared
		all := often.Sum(0)
		return single(p.Out.W.Times(often)).Div(graph.Select(all.Eq(0), graph.OnesLike(all),
			all)).Add(p.Out.B)
	}
	return p.Out.Apply(often.Div(float32(s.Substeps)))
}
