package policy

import (
	"fmt"

	"xlarun/envs"
	"xlarun/graph"
	"xlarun/graph/nn"
	"xlarun/graph/random"
	"xlarun/rollout/policy/spiking"
	"xlarun/rollout/settings"
)

func init() {
	MustRegister("spiking", &SpikingSettings{Hidden: []int{32, 16}, Settings: spiking.Defaults(),
		Encoding: defaultEncoding(),
		Decoder:  "membrane", Plasticity: "none", PlasticityRate: .01, PlasticityTau: 200, PlasticityBound: 1})
}

// SpikingSettings are the settings of the policy "spiking". spiking.Settings are the settings of its neurons.
type SpikingSettings struct {
	Hidden []int `set:"hidden" args:"" min:"1" max:"16777216" wants:"the hidden layers' sizes, whole numbers from 1 to 16777216 between commas" help:"sizes of the layers of neurons"`
	spiking.Settings
	Encoding
	Decoder         string  `set:"decoder" oneof:"membrane,rate,first-spike,population-vector" help:"what the outputs read of the last layer's spikes: leaky integrators (membrane), or per step the mean rates (rate), the times of the first spikes (first-spike), or the mean of the neurons' preferred vectors (population-vector)"`
	Plasticity      string  `set:"plasticity" oneof:"none,stdp,rewarded" help:"how the weights between layers change within an episode: not at all (none), by the timing of spikes (stdp), or by timing and the step's reward (rewarded)"`
	PlasticityRate  float64 `set:"plasticity-rate" above:"0" needs:"plasticity=!none" help:"change of a weight by a pair of spikes, in genes, or its eligibility for it; a pair in reverse order takes off 1.05 times as much"`
	PlasticityTau   float64 `set:"plasticity-tau" above:"0" needs:"plasticity=rewarded" help:"ms for which a pair of spikes is eligible for a reward"`
	PlasticityBound float64 `set:"plasticity-bound" above:"0" needs:"plasticity=!none" help:"largest change of a weight, in genes"`
}

// Make makes a Spiking.
func (s *SpikingSettings) Make(observation envs.Space, outputs int) (Policy, error) {
	if err := checked(s); err != nil {
		return nil, err
	}
	d, err := s.Check("policy.")
	if err != nil {
		return nil, err
	}
	if len(s.Hidden) == 0 {
		return nil, settings.Wrong("policy.hidden", "", "a layer of neurons or more, as in spiking:32,16")
	}
	inputs, err := FlatSize(observation)
	if err != nil {
		return nil, err
	}
	p := &Spiking{SpikingSettings: *s, dynamics: d, inputs: newSpikingInputs(observation, inputs), outputs: outputs}
	if n := p.channels(p.inputs); n > maxWidth {
		return nil, wrong(fmt.Sprintf("observations of %s, %d channels", observation, n), "1 to %d channels", maxWidth)
	}
	return Erase(p), nil
}

// Spiking is a network of layers of spiking neurons. A step of the environment is Substeps of dt ms: the encoder turns
// the observation into a spike train for each channel, each layer sends its spikes to the next, and the decoder reads
// the spikes of the last layer. Spikes of substeps are stored only for the decoder first-spike. A constant input is
// multiplied once.
//
// Parameters are SpikingParams, the genes of package spiking, the same for all dynamics and decoders. The carry holds
// the neurons' states, delayed spikes and counts of spikes. A potential that is not finite makes the outputs NaN. With
// parameters of half precision, only the matrix products are computed in it: potentials and counts stay float32.
type Spiking struct {
	SpikingSettings
	dynamics spiking.Dynamics
	inputs   spikingInputs
	outputs  int
}

// SpikingParams holds the parameters of one Spiking.
type SpikingParams struct {
	Layers []spiking.Genes
	Out    Readout
}

// Readout holds the parameters of the outputs: W [units, outputs] and B, in units of the outputs.
type Readout struct {
	nn.Dense `tree:"inline"`
	Membrane *graph.Array // [outputs]: genes for the decoder membrane; see spiking.Settings.Keep
}

// spikingReady holds the same parameters as Prepare lays them out.
type spikingReady struct {
	Layers []spikingLayer
	Out    Layer
	Keep   *graph.Array // f32[outputs]
}

// spikingState is the carry of a Spiking.
type spikingState struct {
	Layers  []spikingLayerState
	Out     *graph.Array // f32[outputs]: potentials of the outputs; zeros unless the decoder is membrane
	Changed *graph.Array `tree:"optional"` // f32[inputs], of the encoder delta
	Sent    *graph.Array // f32[channels]: spikes of the inputs so far
	Steps   *graph.Array // f32[]: steps so far
}

// Traits say that its neurons count their spikes and can be recorded, and whether it learns by rewards.
func (s *Spiking) Traits() (t Traits[SpikingParams, spikingState]) {
	t.Prepared = FormOf(s.Prepare, s.PrepareShared, s.start, s.actReady)
	t.Describe, t.Reports, t.Report, t.NIR = s.Describe, spikingReports, s.Report, s.NIR
	t.Tracer = &Tracer[SpikingParams]{s.Trace, s.Weights, s.DT.Value}
	if s.learns() {
		t.Learn = s.Learn
	}
	return t
}

// Init draws the genes of each layer (spiking.Settings.Draw). Weights of the outputs have variance 1/in, genes of their
// membranes variance 1.
func (s *Spiking) Init(key random.Key) (p SpikingParams) {
	in := s.channels(s.inputs)
	for i, units := range s.Hidden {
		p.Layers = append(p.Layers, s.Draw(random.FoldIn(key, i), in, units))
		in = units
	}
	k := random.SplitN(random.FoldIn(key, len(s.Hidden)), 2)
	p.Out = Readout{nn.NewDense(k[0], in, s.outputs, nn.Weights(fanIn)),
		random.Normal(k[1], graph.ShapeOf(graph.Float32, s.outputs))}
	return p
}

// Prepare maps genes to parameters of the dynamics, pads layers to whole vector registers with neurons without inputs,
// and transposes a narrow last layer.
func (s *Spiking) Prepare(p SpikingParams) spikingReady { return s.prepare(laying{}, true, p) }

// PrepareShared maps genes to parameters of the dynamics.
func (s *Spiking) PrepareShared(m Shared) spikingReady {
	return s.prepare(layingOf(m), false, m.Params.(SpikingParams))
}

func (s *Spiking) prepare(lay laying, fill bool, p SpikingParams) spikingReady {
	if len(p.Layers) != len(s.Hidden) {
		graph.Throw("policy.Spiking", "got parameters of %d layers, want %d, as Init makes them", len(p.Layers),
			len(s.Hidden))
	}
	var ready spikingReady
	before := 0 // neurons that pad the layer before
	for _, g := range p.Layers {
		pad := 0
		if fill {
			pad = lay.fill(g.B.Dim(0))
		}
		ready.Layers = append(ready.Layers, s.layer(lay, g, before, pad))
		before = pad
	}
	ready.Out, ready.Keep = lay.last(p.Out.Dense, before), s.Keep(single(p.Out.Membrane))
	return ready
}

// ready returns parameters in the form of Prepare, without neurons that pad.
func (s *Spiking) ready(p SpikingParams) spikingReady { return s.prepare(laying{}, false, p) }

// Start returns neurons at rest.
func (s *Spiking) Start(p SpikingParams) spikingState { return s.start(s.ready(p)) }

func (s *Spiking) start(p spikingReady) spikingState {
	zeros := func(n int) *graph.Array { return graph.Zeros(graph.ShapeOf(graph.Float32, n)) }
	start := spikingState{Out: zeros(s.outputs), Sent: zeros(s.channels(s.inputs)), Steps: graph.Scalar(0)}
	for _, l := range p.Layers {
		start.Layers = append(start.Layers, s.startLayer(l))
	}
	start.Changed = s.startEncoding(s.inputs)
	return start
}

// unrolledSubsteps is the number of substeps in one iteration of their loop. More take longer to compile and ran no
// faster.
const unrolledSubsteps = 2

// substepCarry is the carry of the loop over substeps.
type substepCarry struct {
	Layers []spikingLayerState
	Out    *graph.Array // f32[outputs]
}

// Act runs a step's substeps and decodes the spikes of the last layer.
func (s *Spiking) Act(p SpikingParams, carry spikingState, observation *graph.Array, key random.Key) (spikingState,
	Output) {
	return s.actReady(s.ready(p), carry, observation, key)
}

func (s *Spiking) actReady(p spikingReady, carry spikingState, observation *graph.Array, key random.Key) (spikingState,
	Output) {
	next, out, _ := s.act(p, carry, observation, key, func(int, spikingLayerState, *graph.Array) LayerTrace {
		return LayerTrace{}
	})
	return next, out
}

// watchLayer returns what a trace holds of a layer after a substep, given its number, its state and its spikes.
type watchLayer func(layer int, state spikingLayerState, spikes *graph.Array) LayerTrace

// act is Act. It also returns the results of watch for each layer, leaves [substeps, …].
func (s *Spiking) act(p spikingReady, prev spikingState, observation *graph.Array, key random.Key,
	watch watchLayer) (spikingState, Output, []LayerTrace) {
	type results struct {
		Last    rowOf
		Watched []LayerTrace
	}
	next := spikingState{Steps: prev.Steps.Add(1)}
	var in train
	in, next.Changed = s.encode(s.inputs, prev.Changed, s.inputs.scaled(observation), s.DT.Array(), key)
	next.Sent = prev.Sent.Add(in.total())
	constant := in.steady != nil && !s.plastic() // input and weights of the first layer: they are multiplied once
	var first drives
	if constant {
		first = p.Layers[0].In.drives(in.steady)
	}
	end, rows := graph.Scan(func(prev substepCarry, row rowOf) (next substepCarry, res results) {
		sent := in.steady
		if row.Spikes != nil {
			sent = row.Spikes
		}
		for i, l := range p.Layers {
			arrives := first
			if i > 0 || !constant {
				arrives = s.arriving(l, prev.Layers[i], sent)
			}
			state, spikes := s.substep(l, prev.Layers[i], sent, arrives)
			res.Watched = append(res.Watched, watch(i, state, spikes))
			next.Layers, sent = append(next.Layers, state), spikes
		}
		next.Out = prev.Out
		switch s.Decoder {
		case "membrane":
			next.Out = s.integrated(p, prev.Out, sent)
		case "first-spike":
			res.Last.Spikes = sent
		}
		return next, res
	}, substepCarry{prev.Layers, prev.Out}, rowOf{in.each}, graph.Length(s.Substeps),
		graph.Unroll(min(s.Substeps, unrolledSubsteps)))
	next.Layers, next.Out = end.Layers, end.Out
	last := len(s.Hidden) - 1
	return next, Output{Action: s.decoded(p, next.Out, end.Layers[last].Sent.Sub(prev.Layers[last].Sent),
		rows.Last.Spikes)}, rows.Watched
}
