package policy

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"xlarun/envs"
	"xlarun/graph"
	"xlarun/graph/nn"
	"xlarun/graph/random"
	"xlarun/rollout/settings"
)

func init() {
	MustRegister("nir", func() Maker {
		return &NIRSettings{Input: auto, Encoder: auto, Decoder: auto, Rule: "exact", Surrogate: "fast-sigmoid"}
	})
}

// auto is the value of settings that the file's metadata decide.
const auto = "auto"

// NIRSettings are the settings of the policy "nir". Zero and auto mean what the metadata of the file's Input says, if
// xlarun export wrote it, else the default of the policy spiking.
type NIRSettings struct {
	File      string   `set:"file" args:"" wants:"a file of a NIR graph, as in nir:network.nir"`
	_         struct{} `help:"file of the network: its layers, and the numbers that the search starts from"`
	Layers    string   `set:"layers" wants:"layers such as linear:4:16,lif:16,affine:16:2"`
	_         struct{} `help:"layers of a network whose numbers come from elsewhere: with them no file is read."`
	_         struct{} `help:"Saved members have this setting"`
	SHA256    string   `set:"sha256" help:"digest of the file, which a run writes into its config: another file is"`
	_         struct{} `help:"refused. With it the file is read although there are layers"`
	Input     string   `set:"input" oneof:"auto,spikes,observation"`
	_         struct{} `help:"what the network gets in each substep: the spikes of the encoder (spikes),"`
	_         struct{} `help:"or the elements of the observation times gain (observation)"`
	Encoder   string   `set:"encoder" oneof:"auto,current,rate,regular,latency,delta,population"`
	_         struct{} `help:"how observations become spikes, as in spiking"`
	_         struct{} `needs:"input=!observation"`
	Decoder   string   `set:"decoder" oneof:"auto,last,mean"`
	_         struct{} `help:"what the outputs are: the network's outputs after the last substep (last),"`
	_         struct{} `help:"or their mean over the substeps (mean). auto: last behind an LI, else mean"`
	Substeps  int      `set:"substeps" min:"0" max:"4096" zero:"the file's"`
	_         struct{} `help:"substeps of dt ms per step of the environment; 0: as the file says, or 8"`
	DT        float64  `set:"dt" min:"0" zero:"the file's"`
	_         struct{} `help:"ms of the network's time per substep; 0: as the file says, or 1"`
	Rate      float64  `set:"rate" min:"0" zero:"the file's"`
	_         struct{} `help:"spikes per second of an input that is 1; 0: as the file says, or 500"`
	_         struct{} `needs:"input=!observation&encoder=auto|current|rate|regular|population"`
	Gain      float64  `set:"gain" min:"0" zero:"the file's" help:"factor of observations; 0: as the file says, or 1"`
	Fields    int      `set:"fields" min:"0" max:"4096" zero:"the file's"`
	_         struct{} `help:"units per input of the encoder population; 0: as the file says, or 5"`
	_         struct{} `needs:"input=!observation&encoder=auto|population"`
	Change    float64  `set:"change" min:"0" zero:"the file's"`
	_         struct{} `help:"change of an input that makes the encoder delta send a spike;"`
	_         struct{} `help:"0: as the file says, or 0.05"`
	_         struct{} `needs:"input=!observation&encoder=auto|delta"`
	Rule      string   `set:"rule" oneof:"exact,euler,spyx"`
	_         struct{} `help:"how time constants become decays: exp(-dt/tau) (exact), 1 - dt/tau (euler),"`
	_         struct{} `help:"or as in files of Spyx, with the dt that they were written with (spyx)"`
	Surrogate string   `set:"surrogate" oneof:"fast-sigmoid,arctan,triangular,boxcar,straight-through"`
	_         struct{} `help:"what replaces the derivative of a spike in gradients"`
	// anyOutputs says that the network is made with another number of outputs than the file's.
	anyOutputs bool
}

// Make reads the file and makes a NIR.
func (s *NIRSettings) Make(observation envs.Space, outputs int) (Policy, error) {
	if err := checked(s); err != nil {
		return nil, err
	}
	p := &NIR{NIRSettings: *s, firstResized: -1}
	key, name := "policy.file", s.File
	var err error
	switch {
	case s.Layers != "":
		key, name = "policy.layers", s.Layers
		if p.layers, err = readKinds(s.Layers); err != nil {
			return nil, settings.Wrong(key, s.Layers, "layers such as linear:4:16,lif:16,affine:16:2: %s", err)
		}
	case s.File == "":
		return nil, settings.Wrong(key, "", "the file of a NIR graph, as in nir:network.nir")
	}
	if s.readsFile() {
		if err := p.read(); err != nil {
			return nil, settings.Wrong("policy.file", s.File, "a file of a NIR graph that the policy nir can run: %s",
				strings.TrimPrefix(strings.TrimPrefix(err.Error(), "nir: "), s.File+": "))
		}
		if s.Layers != "" && p.structure() != s.Layers {
			return nil, settings.Wrong(key, s.Layers, "the layers of %s, %s, or no such setting", s.File, p.structure())
		}
	}
	if p.fillIn(); p.Input == "spikes" && p.Encoder == "population" && p.Fields < 2 {
		return nil, settings.Wrong("policy.fields", p.Fields, "2 or more for the encoder population of %s", name)
	}
	elements, err := FlatSize(observation)
	if err != nil {
		return nil, err
	}
	p.inputs = newSpikingInputs(observation, elements)
	in := p.channels()
	if have := p.layers[0].in; have != in {
		wants := fmt.Sprintf("a network of %d inputs, the spike trains that the encoder %s makes of %s", in, p.Encoder,
			observation)
		if p.Input == "observation" {
			wants = fmt.Sprintf("a network of %d inputs, the elements of %s", in, observation)
		}
		if p.Input == "spikes" && have == elements {
			wants += "; --policy.input observation gives it the elements themselves"
		}
		return nil, settings.Wrong(key, name, "%s; this one has %d", wants, have)
	}
	have := p.layers[len(p.layers)-1].out
	switch {
	case have == outputs:
	case !s.anyOutputs:
		return nil, settings.Wrong(key, name, "a network of %d outputs, which the actions take; this one has %d",
			outputs, have)
	default:
		if err := p.resize(outputs); err != nil {
			return nil, settings.Wrong(key, name, "a network that can have %d outputs, too: %s", outputs, err)
		}
	}
	return p, nil
}

// readsFile reports whether Make reads the file.
func (s *NIRSettings) readsFile() bool { return s.Layers == "" || s.SHA256 != "" }

// AnyOutputs implements OutputsMaker.
func (s *NIRSettings) AnyOutputs() Maker {
	all := *s
	all.anyOutputs = true
	return &all
}

// WithoutFile implements FileMaker.
func (s *NIRSettings) WithoutFile() settings.Values {
	if s.Layers == "" {
		return nil
	}
	return settings.Values{"sha256": ""}
}

// resize changes the number of outputs: that of the last linear layer, and of the neurons behind it.
func (p *NIR) resize(outputs int) error {
	last := len(p.layers) - 1
	for ; last >= 0 && !p.layers[last].dense(); last-- {
		if p.layers[last].recurrent() {
			return errors.New("its last neurons feed themselves")
		}
	}
	if last < 0 {
		return errors.New("it has no weights")
	}
	p.firstResized = last
	p.layers = slices.Clone(p.layers)
	for i := last; i < len(p.layers); i++ {
		if p.layers[i].out = outputs; i > last {
			p.layers[i].in = outputs
		}
	}
	return nil
}

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

// nirKind is the structure of a layer.
type nirKind struct {
	name    string // affine, linear, lif, cubalif, li, and rlif and rcubalif, which feed themselves
	in, out int
}

func (k nirKind) String() string {
	if k.dense() {
		return fmt.Sprintf("%s:%d:%d", k.name, k.in, k.out)
	}
	return fmt.Sprintf("%s:%d", k.name, k.out)
}

func (k nirKind) dense() bool     { return k.name == "affine" || k.name == "linear" }
func (k nirKind) recurrent() bool { return k.name == "rlif" || k.name == "rcubalif" }
func (k nirKind) current() bool   { return k.name == "cubalif" || k.name == "rcubalif" }

// readKinds reads the setting layers.
func readKinds(text string) (all []nirKind, err error) {
	names := []string{"affine", "linear", "lif", "rlif", "cubalif", "rcubalif", "li"}
	for part := range strings.SplitSeq(text, ",") {
		fields := strings.Split(part, ":")
		k := nirKind{name: fields[0]}
		if !slices.Contains(names, k.name) {
			return nil, fmt.Errorf("there is no layer %q among %s", k.name, strings.Join(names, ", "))
		}
		var sizes []int
		for _, f := range fields[1:] {
			n, err := strconv.Atoi(f)
			if err != nil || n < 1 || n > maxWidth {
				return nil, fmt.Errorf("%s has the size %q, want 1 to %d", part, f, maxWidth)
			}
			sizes = append(sizes, n)
		}
		want := 1
		if k.dense() {
			want = 2
		}
		if len(sizes) != want {
			return nil, fmt.Errorf("%s has %d sizes, want %d", part, len(sizes), want)
		}
		k.in, k.out = sizes[0], sizes[len(sizes)-1]
		if len(all) > 0 && all[len(all)-1].out != k.in {
			return nil, fmt.Errorf("%s takes %d inputs, the layer before gives %d", part, k.in, all[len(all)-1].out)
		}
		all = append(all, k)
	}
	return all, nil
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

// fillIn replaces the settings that are still auto by their defaults.
func (p *NIR) fillIn() {
	usual := defaultEncoding()
	or := func(s *string, usual string) {
		if *s == auto {
			*s = usual
		}
	}
	or(&p.Input, "spikes")
	or(&p.Encoder, usual.Encoder)
	decoder := "mean"
	if p.layers[len(p.layers)-1].name == "li" {
		decoder = "last"
	}
	or(&p.Decoder, decoder)
	p.Substeps, p.DT = cmp.Or(p.Substeps, usual.Substeps), cmp.Or(p.DT, 1)
	p.Rate, p.Gain = cmp.Or(p.Rate, usual.Rate.Value), cmp.Or(p.Gain, usual.Gain.Value)
	p.Fields, p.Change = cmp.Or(p.Fields, usual.Fields), cmp.Or(p.Change, usual.Change)
}

// SettingsWithoutFile implements FromFile.
func (p *NIR) SettingsWithoutFile() settings.Values {
	values := settings.Values{}
	for _, f := range settings.Fields(&p.NIRSettings) {
		if !f.IsArgument() {
			values[f.Name] = f.Value()
		}
	}
	values["layers"], values["sha256"] = p.structure(), ""
	return values
}

// SettingsOfFile implements FromFile.
func (p *NIR) SettingsOfFile() settings.Values {
	return p.SettingsWithoutFile().With("sha256", p.digest)
}

// structure returns the setting layers of the network.
func (p *NIR) structure() string {
	var parts []string
	for _, k := range p.layers {
		parts = append(parts, k.String())
	}
	return strings.Join(parts, ",")
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

// Init returns the numbers of the file. Where a network has more outputs than the file's, or fewer, weights of those
// outputs are drawn from the normal distribution of variance 1/in: of all if they are fewer.
func (p *NIR) Init(key random.Key) any {
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
			if k.name == "affine" {
				l.B = zeros(k.out)
			}
		default:
			l.Membrane = zeros(k.out)
			if k.name != "li" {
				l.Threshold = zeros(k.out)
			}
			if k.current() {
				l.Synapse = zeros(k.out)
			}
			if k.recurrent() {
				l.Wh = zeros(k.out, k.out)
			}
		}
		all.Layers = append(all.Layers, l)
	}
	return all
}

// nirReady holds the layers that Prepare makes of parameters: Layer, nn.LIF, nn.CuBaLIF, nn.LI or levelLI.
type nirReady struct{ Layers []any }

// levelLI is an LI whose potential goes towards its input.
type levelLI struct{ Beta *graph.Array }

// Prepare computes the decays, pads neurons to whole vector registers with some that have no inputs, and transposes a
// narrow last layer.
func (p *NIR) Prepare(params any) any { return p.prepare(laying{}, true, params) }

// PrepareShared computes the decays.
func (p *NIR) PrepareShared(m Shared) any { return p.prepare(layingOf(m), false, m.Params) }

// ready returns parameters as Prepare returns them.
func (p *NIR) ready(params any) nirReady {
	if r, ok := params.(nirReady); ok {
		return r
	}
	return p.prepare(laying{}, false, params)
}

func (p *NIR) prepare(lay laying, fill bool, params any) (r nirReady) {
	all, ok := params.(NIRParams)
	if !ok || len(all.Layers) != len(p.layers) {
		graph.Throw("policy.NIR", "got parameters of type %T, want policy.NIRParams with %d layers, as Init makes "+
			"them", params, len(p.layers))
	}
	last := len(p.layers) - 1
	for ; last >= 0 && !p.layers[last].dense(); last-- {
	}
	surrogate := nn.Surrogate{Kind: p.Surrogate}
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
				r.Layers = append(r.Layers, lay.last(nn.Dense{W: l.W, B: b}, before))
				continue
			}
			if fill {
				pad = lay.fill(k.out)
			}
			r.Layers = append(r.Layers, Layer{lay.weight(l.W, before, pad), padded(b, pad)})
			continue
		}
		var own *graph.Array
		if l.Wh != nil {
			own = single(lay.whole(l.Wh, pad, pad))
		}
		var layer any
		beta := decaysOnDevice(wide(l.Membrane))
		switch {
		case p.levels(i):
			layer = levelLI{beta}
		case k.name == "li":
			layer = nn.LI{Beta: beta}
		case k.current():
			layer = nn.CuBaLIF{Alpha: decaysOnDevice(wide(l.Synapse)), Beta: beta, Threshold: wide(l.Threshold),
				Wh: own, Surrogate: surrogate}
		default:
			layer = nn.LIF{Beta: beta, Threshold: wide(l.Threshold), Wh: own, Surrogate: surrogate}
		}
		r.Layers = append(r.Layers, layer)
	}
	return r
}

// unitsOf returns the number of outputs of a prepared layer.
func unitsOf(layer any) int {
	switch l := layer.(type) {
	case Layer:
		return l.B.Dim(0)
	case nn.LIF:
		return l.Beta.Dim(0)
	case nn.CuBaLIF:
		return l.Beta.Dim(0)
	case nn.LI:
		return l.Beta.Dim(0)
	case levelLI:
		return l.Beta.Dim(0)
	}
	graph.Throw("policy.NIR", "got a layer of type %T", layer)
	return 0
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
func (p *NIR) Start(params any) any {
	start := nirState{Sent: graph.Zeros(graph.ShapeOf(graph.Float32, p.channels())), Steps: graph.Scalar(0)}
	if p.Input == "spikes" {
		start.Changed = p.encoding().startEncoding(p.inputs)
	}
	for i, layer := range p.ready(params).Layers {
		k := p.layers[i]
		if k.dense() {
			continue
		}
		zeros := graph.Zeros(graph.ShapeOf(graph.Float32, unitsOf(layer)))
		cells := nirCells{V: zeros}
		if k.current() {
			cells.I = zeros
		}
		if k.name != "li" {
			cells.Sent = zeros
		}
		start.Neurons = append(start.Neurons, cells)
	}
	return start
}

// Act runs a step's substeps.
func (p *NIR) Act(params, carry any, observation *graph.Array, key random.Key) (any, Output) {
	next, out, _ := p.act(params, carry, observation, key, false)
	return next, out
}

// act is Act. If it watches, it also returns a trace of each layer that spikes, leaves [substeps, units].
func (p *NIR) act(params, carry any, observation *graph.Array, key random.Key,
	watches bool) (any, Output, []LayerTrace) {
	r, prev := p.ready(params), stateOf[nirState]("NIR.Act", carry)
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
		in.steady = applyNIR(r.Layers[first].(Layer), in.steady)
	}
	for ; p.Decoder == "mean" && last > first && p.layers[last-1].dense(); last-- {
	}
	width := p.layers[0].in
	if last > 0 {
		width = unitsOf(r.Layers[last-1])
	}
	type substep struct {
		Neurons []nirCells
		Out     *graph.Array // f32[width]
	}
	end, traces := graph.Scan(func(prev substep, row rowOf) (next substep, watched []LayerTrace) {
		x, at := in.steady, 0
		if row.Spikes != nil {
			x = row.Spikes
		}
		for _, layer := range r.Layers[first:last] {
			if l, ok := layer.(Layer); ok {
				x = applyNIR(l, x)
				continue
			}
			var cells nirCells
			cells, x = stepNIR(layer, prev.Neurons[at], x)
			if cells.Sent != nil && watches {
				watched = append(watched, LayerTrace{Spikes: x})
			}
			next.Neurons, at = append(next.Neurons, cells), at+1
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
		out = applyNIR(layer.(Layer), out)
	}
	return next, Output{Action: out}, traces
}

// applyNIR returns x·W + B in float32. Only the product has the dtype of the weights.
func applyNIR(l Layer, x *graph.Array) *graph.Array { return single(l.W.Times(x)).Add(l.B) }

// stepNIR computes a substep of a layer of neurons. NaN or infinity in its state spreads to its spikes.
func stepNIR(layer any, s nirCells, x *graph.Array) (next nirCells, out *graph.Array) {
	switch l := layer.(type) {
	case nn.LIF:
		next.V, out = l.Step(s.V, x)
	case nn.CuBaLIF:
		var state nn.CuBaLIFState
		state, out = l.Step(nn.CuBaLIFState{V: s.V, I: s.I}, x)
		next.V, next.I = state.V, state.I
	case nn.LI:
		next.V = l.Step(s.V, x)
		return next, next.V
	case levelLI:
		next.V = x.Add(l.Beta.Mul(s.V.Sub(x)))
		return next, next.V
	}
	out = out.Add(s.V.Mul(0))
	next.Sent = s.Sent.Add(out)
	return next, out
}

// Describe returns the settings of the network. docs/spiking.md has the map from parameters to neurons.
func (p *NIR) Describe(any) (map[string]any, error) {
	return map[string]any{"layers": p.structure(), "input": p.Input, "encoder": p.Encoder, "decoder": p.Decoder,
		"substeps": p.Substeps, "dt": p.DT, "rate": p.Rate, "gain": p.Gain, "fields": p.Fields, "change": p.Change}, nil
}
