package policy

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"

	"xlarun/graph"
	"xlarun/graph/nn"
	"xlarun/graph/nn/nir"
	"xlarun/graph/nn/nir/hdf5"
)

// nirFormat is the text format of metadata whose other texts are settings of the policy nir.
const nirFormat = "network of xlarun"

// NIRMetadata returns the texts and numbers among the metadata of a graph's Input. It is empty for a graph with several
// Inputs.
func NIRMetadata(g *nir.Graph) map[string]string {
	texts := map[string]string{}
	n := inputOf(g)
	if n == nil || n.Metadata == nil {
		return texts
	}
	for key, item := range n.Metadata.Items {
		set, ok := item.(*hdf5.Set)
		if !ok || set.Len() != 1 {
			continue
		}
		if text, err := set.Text(); err == nil {
			texts[key] = text
		} else if v, err := set.Floats(); err == nil {
			texts[key] = strconv.FormatFloat(v[0], 'g', -1, 64)
		}
	}
	return texts
}

// SetNIRMetadata adds texts to the metadata of a graph's Input. Empty ones are left out.
func SetNIRMetadata(g *nir.Graph, texts map[string]string) {
	n := inputOf(g)
	if n.Metadata == nil {
		n.Metadata = hdf5.NewGroup()
	}
	for key, text := range texts {
		if text != "" {
			n.Metadata.Items[key] = &hdf5.Set{Data: []string{text}}
		}
	}
}

// inputOf returns the only Input of a graph, else nil.
func inputOf(g *nir.Graph) (input *nir.Node) {
	for _, name := range slices.Sorted(maps.Keys(g.Nodes)) {
		if n := g.Nodes[name]; n.Type == "Input" {
			if input != nil {
				return nil
			}
			input = n
		}
	}
	return input
}

// encodingTexts returns the settings of an encoding as a file's metadata.
func encodingTexts(e Encoding, dt float64) map[string]string {
	number := func(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
	return map[string]string{"format": nirFormat, "encoder": e.Encoder, "substeps": strconv.Itoa(e.Substeps),
		"dt": number(dt), "rate": number(e.Rate.Value), "gain": number(e.Gain.Value),
		"fields": strconv.Itoa(e.Fields), "change": number(e.Change)}
}

// NIR returns the network with a member's parameters; see Traits.NIR.
func (p *NIR) NIR(all NIRParams) (*nir.Graph, error) {
	var layers []any
	for i, l := range all.Layers {
		k := p.layers[i]
		if k.dense() {
			layers = append(layers, nn.Dense{W: l.W, B: l.B})
			continue
		}
		n := nirNeurons{Threshold: l.Threshold, Wh: l.Wh}
		var err error
		if n.Beta, err = decaysOfGenes(l.Membrane); err != nil {
			return nil, err
		}
		if n.Alpha, err = decaysOfGenes(l.Synapse); err != nil {
			return nil, err
		}
		layers = append(layers, k.cell.layer(n, nn.Surrogate{}))
	}
	// The rule is exact, whatever the rule of the file that was read: the decays are known.
	g, err := nir.FromLayers(nir.Scale{DT: p.DT / 1000}, layers...)
	if err != nil {
		return nil, err
	}
	for i := range p.layers {
		if p.levels(i) {
			level(g, i)
		}
	}
	texts := encodingTexts(p.encoding(), p.DT)
	texts["input"], texts["decoder"] = p.Input, p.Decoder
	SetNIRMetadata(g, texts)
	return g, nil
}

// level sets r of an LI, the node of a layer, to 1: its potential goes towards its input.
func level(g *nir.Graph, layer int) {
	n := g.Nodes[strconv.Itoa(layer)]
	r := n.Params["r"]
	n.Params["r"] = &hdf5.Set{Dims: r.Dims, Data: slices.Repeat([]float32{1}, r.Len())}
}

// NIR is Traits.NIR for LIF neurons of the dynamics fast, and of mechanistic:lif, which spike as they do.
// Potentials are in units of the way from rest to threshold.
func (s *Spiking) NIR(p SpikingParams) (*nir.Graph, error) {
	switch {
	case s.Dynamics != "fast" && s.Dynamics != "mechanistic:lif":
		return nil, fmt.Errorf("NIR has no node for the dynamics %s; it has one for fast and mechanistic:lif",
			s.Dynamics)
	case s.Refractory > 0:
		return nil, fmt.Errorf("a LIF of NIR has no refractory period (refractory %g)", s.Refractory)
	case s.Reset.Value != s.Rest.Value:
		return nil, fmt.Errorf("the reset %g mV is not the potential at rest, %g mV, and readers of NIR have no other "+
			"reset in common", s.Reset.Value, s.Rest.Value)
	case s.plastic():
		return nil, fmt.Errorf("NIR has no plasticity (plasticity %s)", s.Plasticity)
	case s.Delay > 0:
		return nil, fmt.Errorf("delays of spikes (delay %d) are not written", s.Delay)
	case s.Decoder != "membrane" && s.Decoder != "rate":
		return nil, fmt.Errorf("NIR has no layer for the decoder %s: use membrane or rate", s.Decoder)
	}
	var layers []any
	for _, g := range p.Layers {
		n := s.Neurons(g)
		perMV := n.Threshold.Sub(n.Rest).Reciprocal()
		beta, err := s.decaysOfTau(n.Membrane)
		if err != nil {
			return nil, err
		}
		drive := graph.Sub(1, beta.Convert(graph.Float32)).Mul(n.Drive).Mul(perMV)
		into := nn.Dense{W: s.Weight(g.W).Mul(perMV), B: drive}
		cell := nn.LIF{Beta: beta, Threshold: graph.Scalar(1)}
		if g.Wh != nil {
			cell.Wh = s.Weight(g.Wh).Mul(perMV)
		}
		layers = append(layers, into, cell)
	}
	layers = append(layers, nn.Dense{W: p.Out.W, B: p.Out.B})
	decoder := "mean"
	if s.Decoder == "membrane" {
		keep, err := graph.Eval(s.Keep(p.Out.Membrane))
		if err != nil {
			return nil, err
		}
		decoder = "last"
		layers = append(layers, nn.LI{Beta: keep})
	}
	g, err := nir.FromLayers(nir.Scale{DT: s.DT.Value / 1000}, layers...)
	if err != nil {
		return nil, err
	}
	if decoder == "last" {
		level(g, len(layers)-1)
	}
	texts := encodingTexts(s.Encoding, s.DT.Value)
	texts["input"], texts["decoder"] = "spikes", decoder
	SetNIRMetadata(g, texts)
	return g, nil
}

// decaysOfTau returns the decays of time constants, ms, in float64.
func (s *Spiking) decaysOfTau(tau *graph.Array) (*graph.Array, error) {
	v, err := graph.Floats(tau)
	if err != nil {
		return nil, err
	}
	decays := make([]float64, len(v))
	for i, ms := range v {
		decays[i] = math.Exp(-s.DT.Value / ms)
	}
	return graph.Of(decays), nil
}
