package policy

import (
	"fmt"

	"xlarun/graph"
	"xlarun/graph/random"
)

// Report counts as Spiking.Report does. Inputs that are observations send no spikes.
func (p *NIR) Report(c nirState) *graph.Array {
	operations := c.Sent.Sum().Mul(float32(p.synapses(-1)))
	spikes, neurons, layer := graph.Scalar(0), 0, 0
	for i, k := range p.layers {
		if k.dense() {
			continue
		}
		if cells := c.Neurons[layer]; cells.Sent != nil {
			sent := cells.Sent.Sum()
			spikes, neurons = spikes.Add(sent), neurons+k.out
			operations = operations.Add(sent.Mul(float32(p.synapses(i))))
		}
		layer++
	}
	seconds := c.Steps.Mul(float32(p.DT * float64(p.Substeps) / 1000))
	rate := spikes.Div(seconds.Max(1e-30).Mul(float32(max(neurons, 1))))
	return graph.Stack([]*graph.Array{rate, operations, operations.Mul(float32(OperationEnergy / 1000))}, 0)
}

// synapses returns the number of weights that a spike of a layer, or of an input (-1), is multiplied by.
func (p *NIR) synapses(layer int) (n int) {
	if layer >= 0 && p.layers[layer].recurrent {
		n = p.layers[layer].out
	}
	if next := layer + 1; next < len(p.layers) && p.layers[next].dense() {
		n += p.layers[next].out
	}
	return n
}

// Trace is Tracer.Trace for the layers that spike, without potentials, whose unit a file does not say.
func (p *NIR) Trace(params NIRParams, observations *graph.Array, keys random.Key) []LayerTrace {
	r := p.ready(params)
	return traceEpisode(observations, keys, p.startReady(r),
		func(carry nirState, observation *graph.Array, key random.Key) (nirState, []LayerTrace) {
			next, _, trace := p.act(r, carry, observation, key, true)
			return next, trace
		})
}

// Weights is Tracer.Weights, in the units of the file.
func (p *NIR) Weights(all NIRParams) (names []string, weights []*graph.Array) {
	from, spiking := "inputs", 0
	for i, l := range all.Layers {
		k := p.layers[i]
		if k.dense() {
			to := "outputs"
			if i+1 < len(p.layers) && !p.layers[i+1].integrates() {
				to = fmt.Sprintf("layer %d", spiking+1)
			}
			names, weights = append(names, from+" to "+to), append(weights, l.W)
			from = to
			continue
		}
		if k.cell.spikes() {
			spiking++
			from = fmt.Sprintf("layer %d", spiking)
		}
		if l.Wh != nil {
			names, weights = append(names, from+" to itself"), append(weights, l.Wh)
		}
	}
	return names, weights
}
