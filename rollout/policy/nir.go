package policy

import (
	"xlarun/graph"
	"xlarun/graph/nn"
	"xlarun/graph/random"
	"xlarun/rollout/settings"
)

// NIR is a network of a NIR file: a chain of the layers of package nn that nir.Graph.Layers makes. A step of the
// environment is Substeps of dt ms. Parameters are NIRParams; Init returns the numbers of the file, whatever the key.
// The carry holds the neurons' states.
type NIR struct {
	NIRSettings
	layers []nirKind
	start  NIRParams // the numbers of the file; empty if none is read
	digest string    // of the file that was read
	inputs spikingInputs
	// firstResized is the first layer whose number of outputs is not the file's; -1: none.
	firstResized int
}

func (p *NIR) encoding() Encoding {
	return Encoding{Substeps: p.Substeps, Encoder: p.Encoder, Rate: settings.Num(p.Rate), Gain: settings.Num(p.Gain),
		Fields: p.Fields, Change: p.Change}
}

// channels returns the number of the network's inputs.
func (p *NIR) channels() int {
	if p.Input == "observation" {
		return p.inputs.n
	}
	return p.encoding().channels(p.inputs)
}

// nirState is the carry of a NIR.
type nirState struct {
	Neurons []nirCells   // of each layer of neurons
	Changed *graph.Array `tree:"optional"` // f32[inputs], of the encoder delta
	Sent    *graph.Array // f32[channels]: spikes of the inputs so far; zeros of observations
	Steps   *graph.Array // f32[]: steps so far
}

// nirCells is the state of a layer of neurons.
type nirCells struct {
	V    *graph.Array // f32[units]: potentials
	I    *graph.Array `tree:"optional"` // f32[units]: currents, of a CubaLIF
	Sent *graph.Array `tree:"optional"` // f32[units]: number of spikes so far; nil of an LI
}

// Start returns neurons at rest.
func (p *NIR) Start(params NIRParams) nirState { return p.startReady(p.ready(params)) }

func (p *NIR) startReady(r nirReady) nirState {
	start := nirState{Sent: graph.Zeros(graph.ShapeOf(graph.Float32, p.channels())), Steps: graph.Scalar(0)}
	if p.Input == "spikes" {
		start.Changed = p.encoding().startEncoding(p.inputs)
	}
	for i, layer := range r.Layers {
		k := p.layers[i]
		if k.dense() {
			continue
		}
		zeros := graph.Zeros(graph.ShapeOf(graph.Float32, layer.units()))
		cells := nirCells{V: zeros}
		if k.cell.current() {
			cells.I = zeros
		}
		if k.cell.spikes() {
			cells.Sent = zeros
		}
		start.Neurons = append(start.Neurons, cells)
	}
	return start
}

// Act runs a step's substeps.
func (p *NIR) Act(params NIRParams, carry nirState, observation *graph.Array, key random.Key) (nirState, Output) {
	return p.actReady(p.ready(params), carry, observation, key)
}

func (p *NIR) actReady(r nirReady, carry nirState, observation *graph.Array, key random.Key) (nirState, Output) {
	next, out, _ := p.act(r, carry, observation, key, false)
	return next, out
}

// act is Act. If it watches, it also returns a trace of each layer that spikes, leaves [substeps, units].
func (p *NIR) act(r nirReady, prev nirState, observation *graph.Array, key random.Key,
	watches bool) (nirState, Output, []LayerTrace) {
	next := nirState{Steps: prev.Steps.Add(1), Sent: prev.Sent}
	var in train
	if p.Input == "observation" {
		in = train{steady: Flat(p.inputs.space, observation).Mul(float32(p.Gain))}
	} else {
		in, next.Changed = p.encoding().encode(p.inputs, prev.Changed, p.inputs.scaled(observation),
			graph.Scalar(p.DT), key)
		next.Sent = prev.Sent.Add(in.total())
	}
	// Linear layers of a constant input, and of a mean, are computed once.
	first, last := 0, len(r.Layers)
	for ; in.steady != nil && first < last && p.layers[first].dense(); first++ {
		in.steady = r.Layers[first].Weights.times(in.steady)
	}
	for ; p.Decoder == "mean" && last > first && p.layers[last-1].dense(); last-- {
	}
	width := p.layers[0].in
	if last > 0 {
		width = r.Layers[last-1].units()
	}
	type substep struct {
		Neurons []nirCells
		Out     *graph.Array // f32[width]
	}
	end, traces := graph.Scan(func(prev substep, row rowOf) (next substep, watched []LayerTrace) {
		x := in.steady
		if row.Spikes != nil {
			x = row.Spikes
		}
		for i := first; i < last; i++ {
			layer := r.Layers[i]
			if layer.Weights != nil {
				x = layer.Weights.times(x)
				continue
			}
			var cells nirCells
			cells, x = p.step(i, *layer.Neurons, prev.Neurons[len(next.Neurons)], x)
			if cells.Sent != nil && watches {
				watched = append(watched, LayerTrace{Spikes: x})
			}
			next.Neurons = append(next.Neurons, cells)
		}
		if next.Out = x; p.Decoder == "mean" {
			next.Out = prev.Out.Add(x)
		}
		return next, watched
	}, substep{prev.Neurons, graph.Zeros(graph.ShapeOf(graph.Float32, width))}, rowOf{in.each},
		graph.Length(p.Substeps), graph.Unroll(min(p.Substeps, unrolledSubsteps)))
	next.Neurons = end.Neurons
	out := end.Out
	if p.Decoder == "mean" {
		out = out.Div(float32(p.Substeps))
	}
	for _, layer := range r.Layers[last:] {
		out = layer.Weights.times(out)
	}
	return next, Output{Action: out}, traces
}

// times returns x·W + B in float32. Only the product has the dtype of the weights.
func (l *Layer) times(x *graph.Array) *graph.Array { return single(l.W.Times(x)).Add(l.B) }

// step computes a substep of layer i, which is neurons. NaN or infinity in its state spreads to its spikes.
func (p *NIR) step(i int, n nirNeurons, prev nirCells, x *graph.Array) (next nirCells, out *graph.Array) {
	cell := p.layers[i].cell
	if p.levels(i) {
		cell = levelLICell{}
	}
	next, out = cell.step(n, nn.Surrogate{Kind: p.Surrogate}, prev, x)
	if cell.spikes() {
		out = out.Add(prev.V.Mul(0))
		next.Sent = prev.Sent.Add(out)
	}
	return next, out
}

// Describe returns the settings of the network. docs/explanation/spiking.md has the map from parameters to neurons.
func (p *NIR) Describe(NIRParams) (map[string]any, error) {
	return map[string]any{"layers": p.structure(), "input": p.Input, "encoder": p.Encoder, "decoder": p.Decoder,
		"substeps": p.Substeps, "dt": p.DT, "rate": p.Rate, "gain": p.Gain, "fields": p.Fields, "change": p.Change}, nil
}
