package policy

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"xlarun/graph"
	"xlarun/graph/nn"
	"xlarun/graph/nn/nir"
	"xlarun/internal/files"
	"xlarun/rollout/settings"
)

// nirFile is a file that was read.
type nirFile struct {
	bytes  []byte
	graph  *nir.Graph
	digest string // sha256 of its bytes, in hexadecimal digits
}

// nirFiles has the files that this process has read, by digest: a file that changes or goes away during a run changes
// nothing in it, as the settings of a run have the digest.
var nirFiles sync.Map

// readNIR reads a file. It refuses one with another digest; "" takes any.
func readNIR(name, digest string) (*nirFile, error) {
	if f, ok := nirFiles.Load(digest); ok {
		return f.(*nirFile), nil
	}
	b, err := files.Read(name, longestParams)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(b)
	f := &nirFile{bytes: b, digest: hex.EncodeToString(sum[:])}
	if digest != "" && digest != f.digest {
		return nil, fmt.Errorf("%s has changed since the run began: its sha256 is %s, and policy.sha256 is %s; "+
			"without policy.sha256 and policy.layers it is taken as it is now", name, f.digest, digest)
	}
	if before, ok := nirFiles.Load(f.digest); ok {
		return before.(*nirFile), nil
	}
	if f.graph, err = nir.Read(b); err != nil {
		return nil, err
	}
	nirFiles.Store(f.digest, f)
	return f, nil
}

// ReadNIR reads a file once. It returns its graph, the parameters of the policy nir:FILE with its default settings, as
// Init returns them, and the settings with which that policy is made without the file.
func ReadNIR(file string) (*nir.Graph, NIRParams, settings.Values, error) {
	m, err := MakerOf("nir:"+file, nil)
	if err != nil {
		return nil, NIRParams{}, nil, err
	}
	p := &NIR{NIRSettings: *m.(*NIRSettings), firstResized: -1}
	f, err := readNIR(file, "")
	if err == nil {
		err = p.take(f)
	}
	if err != nil {
		return nil, NIRParams{}, nil, err
	}
	p.fillIn()
	return f.graph, p.start, p.withoutFile(), nil
}

// read reads the file.
func (p *NIR) read() error {
	f, err := readNIR(p.File, p.SHA256)
	if err != nil {
		return err
	}
	return p.take(f)
}

// metadataSettings are the settings that the metadata of a file may have, in the order in which they are read.
var metadataSettings = []string{"input", "encoder", "decoder", "substeps", "dt", "rate", "gain", "fields", "change"}

// take takes layers and parameters of a file, and the settings that are not given.
func (p *NIR) take(f *nirFile) error {
	metadata := NIRMetadata(f.graph)
	if metadata["format"] != nirFormat { // other programs may mean something else by these names
		metadata = nil
	}
	if err := p.decide(metadata); err != nil {
		return fmt.Errorf("its metadata are wrong: %w", err)
	}
	layers, err := f.graph.Layers(nir.Scale{DT: cmp.Or(p.DT, 1) / 1000, Rule: p.Rule}, nn.Surrogate{Kind: p.Surrogate})
	if err != nil {
		return err
	}
	if len(layers) == 0 {
		return errors.New("it has no layers")
	}
	p.layers, p.start, p.digest = nil, NIRParams{}, f.digest
	for i, l := range layers {
		k, n, err := nirLayerOf(l)
		if err == nil && i > 0 && p.layers[i-1].out != k.in {
			err = fmt.Errorf("it takes %d inputs, the layer before gives %d", k.in, p.layers[i-1].out)
		}
		if err != nil {
			return fmt.Errorf("layer %d: %w", i, err)
		}
		if p.layers = append(p.layers, k); p.levels(i) {
			before := &p.start.Layers[i-1]
			if err := levelled(before, n.Membrane); err != nil {
				return err
			}
		}
		p.start.Layers = append(p.start.Layers, n)
	}
	return nil
}

// decide sets the settings that are auto or 0 to those of a file's metadata.
func (p *NIR) decide(metadata map[string]string) error {
	for _, key := range metadataSettings {
		f, _ := settings.Lookup(&p.NIRSettings, key)
		if text := f.Text(); metadata[key] == "" || text != auto && text != "0" {
			continue
		}
		if err := f.Set(metadata[key]); err != nil {
			return err
		}
		if err := settings.Check(&p.NIRSettings); err != nil { // here, so that the first wrong key is named
			return err
		}
	}
	return nil
}

// levelled divides the weights before an LI by 1 - decay, which Graph.Layers multiplied into them.
func levelled(l *NIRLayer, genes *graph.Array) error {
	decays, err := decaysOfGenes(genes)
	if err != nil {
		return err
	}
	rise := graph.Sub(1, decays).Convert(graph.Float32)
	l.W = l.W.Div(rise)
	if l.B != nil {
		l.B = l.B.Div(rise)
	}
	*l, err = graph.Eval(*l)
	return err
}

// nirLayerOf returns structure and parameters of a layer of package nn.
func nirLayerOf(layer any) (k nirKind, n NIRLayer, err error) {
	for _, t := range nirTypes {
		if l, ok := layer.(nn.Dense); ok && t.dense() && t.bias == (l.B != nil) {
			k, n = nirKind{t, l.W.Dim(0), l.W.Dim(1)}, NIRLayer{W: l.W, B: l.B}
			break
		}
		if t.dense() {
			continue
		}
		if neurons, ok := t.cell.read(layer); ok && t.recurrent == (neurons.Wh != nil) {
			k.nirType = t
			if n, err = genesOf(neurons); err != nil {
				return k, n, err
			}
			k.in, k.out = n.Membrane.Dim(0), n.Membrane.Dim(0)
			break
		}
	}
	if k.name == "" {
		return k, n, fmt.Errorf("it is a %T, and the policy nir has layers for Affine, Linear, LIF, CubaLIF and LI",
			layer)
	}
	for _, a := range graph.Leaves(n) {
		v, err := graph.Floats(a)
		if err != nil {
			return k, n, err
		}
		if slices.ContainsFunc(v, func(x float64) bool { return math.IsNaN(x) || math.IsInf(x, 0) }) {
			return k, n, errors.New("a parameter is NaN or infinite")
		}
	}
	return k, n, nil
}

// genesOf returns the parameters of neurons.
func genesOf(neurons nirNeurons) (n NIRLayer, err error) {
	if neurons.Beta.Rank() != 1 {
		return n, fmt.Errorf("its neurons are of dims %v, want one axis", neurons.Beta.Dims())
	}
	n = NIRLayer{Threshold: neurons.Threshold, Wh: neurons.Wh}
	if n.Membrane, err = geneOf(neurons.Beta); err == nil && neurons.Alpha != nil {
		n.Synapse, err = geneOf(neurons.Alpha)
	}
	return n, err
}
