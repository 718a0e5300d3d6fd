package policy

import (
	"math"
	"slices"

	"xlarun/graph"
	"xlarun/graph/random"
)

// NIRParams holds the parameters of one NIR.
type NIRParams struct{ Layers []NIRLayer }

// NIRLayer holds the parameters of a layer: W and B of a linear one, the others of neurons. Time constants are natural
// logarithms of substeps, so that a search moves all of them by the same share: a decay is exp(-exp(-gene)).
type NIRLayer struct {
	W         *graph.Array `tree:"optional"` // [in, out]
	B         *graph.Array `tree:"optional"` // [out]
	Membrane  *graph.Array `tree:"optional"` // [units]: log(tau/dt)
	Synapse   *graph.Array `tree:"optional"` // [units]: of a CubaLIF
	Threshold *graph.Array `tree:"optional"` // [units]
	Wh        *graph.Array `tree:"optional"` // [units, units]: from the layer's spikes to itself
}

// Init returns the numbers of the file. Where a network has more outputs than the file's, or fewer, weights of those
// outputs are drawn from the normal distribution of variance 1/in: of all if they are fewer.
func (p *NIR) Init(key random.Key) NIRParams {
	switch {
	case !p.readsFile():
		return p.zeros()
	case p.firstResized < 0:
		return p.start
	}
	all := NIRParams{slices.Clone(p.start.Layers)}
	for i := p.firstResized; i < len(all.Layers); i++ {
		k, l := p.layers[i], &all.Layers[i]
		vector := func(a *graph.Array, more any) *graph.Array {
			switch {
			case a == nil:
				return nil
			case k.out < a.Dim(0):
				return graph.Zeros(graph.ShapeOf(graph.Float32, k.out)).Add(more)
			}
			rest := graph.Zeros(graph.ShapeOf(graph.Float32, k.out-a.Dim(0))).Add(more)
			return graph.Concatenate(0, a, rest)
		}
		if k.dense() {
			drawn, old := fanIn(key, graph.ShapeOf(graph.Float32, k.in, k.out)), l.W
			if l.W = drawn; k.out > old.Dim(1) {
				l.W = graph.Concatenate(1, old, graph.SliceAxis(drawn, 1, old.Dim(1), k.out))
			}
			l.B = vector(l.B, 0)
			continue
		}
		for _, a := range []**graph.Array{&l.Membrane, &l.Synapse, &l.Threshold} {
			if *a != nil {
				*a = vector(*a, (*a).Mean())
			}
		}
	}
	return all
}

// zeros returns parameters that are 0.
func (p *NIR) zeros() NIRParams {
	zeros := func(dims ...int) *graph.Array { return graph.Zeros(graph.ShapeOf(graph.Float32, dims...)) }
	var all NIRParams
	for _, k := range p.layers {
		var l NIRLayer
		switch {
		case k.dense():
			l.W = zeros(k.in, k.out)
			if k.bias {
				l.B = zeros(k.out)
			}
		default:
			l.Membrane = zeros(k.out)
			if k.cell.spikes() {
				l.Threshold = zeros(k.out)
			}
			if k.cell.current() {
				l.Synapse = zeros(k.out)
			}
			if k.recurrent {
				l.Wh = zeros(k.out, k.out)
			}
		}
		all.Layers = append(all.Layers, l)
	}
	return all
}

// Genes of time constants are between these, so that they are finite where a decay is 0 or rounds to 1.
const leastGene, mostGene = -4, 16

// geneOf returns the genes of decays.
func geneOf(decays *graph.Array) (*graph.Array, error) {
	v, err := graph.Floats(decays)
	if err != nil {
		return nil, err
	}
	genes := make([]float32, len(v))
	for i, decay := range v {
		genes[i] = float32(min(max(-math.Log(-math.Log(decay)), leastGene), mostGene))
	}
	return graph.Float32s(genes), nil
}

// decaysOnDevice returns the decays of genes, in a trace.
func decaysOnDevice(genes *graph.Array) *graph.Array { return single(genes).Neg().Exp().Neg().Exp() }

// decaysOfGenes returns the decays of genes in float64; nil of nil.
func decaysOfGenes(genes *graph.Array) (*graph.Array, error) {
	if genes == nil {
		return nil, nil
	}
	v, err := graph.Floats(genes)
	if err != nil {
		return nil, err
	}
	decays := make([]float64, len(v))
	for i, g := range v {
		decays[i] = math.Exp(-math.Exp(-g))
	}
	return graph.Of(decays), nil
}
