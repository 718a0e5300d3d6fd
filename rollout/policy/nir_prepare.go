package policy

import (
	"xlarun/graph"
	"xlarun/graph/nn"
)

// nirReady holds the layers that Prepare makes of parameters.
type nirReady struct{ Layers []nirReadyLayer }

// nirReadyLayer has one of its fields.
type nirReadyLayer struct {
	Weights *Layer
	Neurons *nirNeurons
}

// units returns the number of the layer's outputs.
func (l nirReadyLayer) units() int {
	if l.Weights != nil {
		return l.Weights.B.Dim(0)
	}
	return l.Neurons.Beta.Dim(0)
}

// Prepare computes the decays, pads neurons to whole vector registers with some that have no inputs, and transposes a
// narrow last layer.
func (p *NIR) Prepare(params NIRParams) nirReady { return p.prepare(laying{}, true, params) }

// PrepareShared computes the decays.
func (p *NIR) PrepareShared(m Shared) nirReady {
	return p.prepare(layingOf(m), false, m.Params.(NIRParams))
}

// ready returns parameters in the form of Prepare, without units that pad.
func (p *NIR) ready(params NIRParams) nirReady { return p.prepare(laying{}, false, params) }

func (p *NIR) prepare(lay laying, fill bool, all NIRParams) (r nirReady) {
	if len(all.Layers) != len(p.layers) {
		graph.Throw("policy.NIR", "got parameters of %d layers, want %d, as Init makes them", len(all.Layers),
			len(p.layers))
	}
	last := len(p.layers) - 1
	for ; last >= 0 && !p.layers[last].dense(); last-- {
	}
	pad := 0 // units that pad the layer before
	wide := func(a *graph.Array) *graph.Array { return padded(single(a), pad) }
	for i, l := range all.Layers {
		k, before := p.layers[i], pad
		if k.dense() {
			b := graph.Zeros(graph.ShapeOf(graph.Float32, k.out))
			if l.B != nil {
				b = single(l.B)
			}
			if pad = 0; i == last {
				out := lay.last(nn.Dense{W: l.W, B: b}, before)
				r.Layers = append(r.Layers, nirReadyLayer{Weights: &out})
				continue
			}
			if fill {
				pad = lay.fill(k.out)
			}
			r.Layers = append(r.Layers, nirReadyLayer{Weights: &Layer{lay.weight(l.W, before, pad), padded(b, pad)}})
			continue
		}
		n := nirNeurons{Beta: decaysOnDevice(wide(l.Membrane))}
		if l.Wh != nil {
			n.Wh = single(lay.whole(l.Wh, pad, pad))
		}
		if k.cell.current() {
			n.Alpha = decaysOnDevice(wide(l.Synapse))
		}
		if k.cell.spikes() {
			n.Threshold = wide(l.Threshold)
		}
		r.Layers = append(r.Layers, nirReadyLayer{Neurons: &n})
	}
	return r
}
