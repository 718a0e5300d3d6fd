package policy

import (
	"cmp"
	"fmt"
	"strings"

	"xlarun/envs"
	"xlarun/rollout/settings"
)

func init() {
	MustRegister("nir", &NIRSettings{Input: auto, Encoder: auto, Decoder: auto, Rule: "exact",
		Surrogate: "fast-sigmoid"}, (*NIRSettings).traits)
}

// auto is the value of settings that the file's metadata decide.
const auto = "auto"

// NIRSettings are the settings of the policy "nir". Zero and auto mean what the metadata of the file's Input says, if
// xlarun export wrote it, else the default of the policy spiking.
type NIRSettings struct {
	File      string  `set:"file" args:"" wants:"a file of a NIR graph, as in nir:network.nir" help:"file of the network: its layers, and the numbers that the search starts from"`
	Layers    string  `set:"layers" wants:"layers such as linear:4:16,lif:16,affine:16:2" help:"layers of a network whose numbers come from elsewhere: with them no file is read. Saved members have this setting"`
	SHA256    string  `set:"sha256" help:"digest of the file, which a run writes into its config: another file is refused. With it the file is read although there are layers"`
	Input     string  `set:"input" oneof:"auto,spikes,observation" help:"what the network gets in each substep: the spikes of the encoder (spikes), or the elements of the observation times gain (observation)"`
	Encoder   string  `set:"encoder" oneof:"auto,current,rate,regular,latency,delta,population" needs:"input=!observation" help:"how observations become spikes, as in spiking"`
	Decoder   string  `set:"decoder" oneof:"auto,last,mean" help:"what the outputs are: the network's outputs after the last substep (last), or their mean over the substeps (mean). auto: last after an LI, else mean"`
	Substeps  int     `set:"substeps" min:"0" max:"4096" zero:"the file's" help:"substeps of dt ms per step of the environment; 0: as the file says, or 8"`
	DT        float64 `set:"dt" min:"0" zero:"the file's" help:"ms of the network's time per substep; 0: as the file says, or 1"`
	Rate      float64 `set:"rate" min:"0" zero:"the file's" needs:"input=!observation&encoder=auto|current|rate|regular|population" help:"spikes per second of an input that is 1; 0: as the file says, or 500"`
	Gain      float64 `set:"gain" min:"0" zero:"the file's" help:"factor of observations; 0: as the file says, or 1"`
	Fields    int     `set:"fields" min:"0" max:"4096" zero:"the file's" needs:"input=!observation&encoder=auto|population" help:"units per input of the encoder population; 0: as the file says, or 5"`
	Change    float64 `set:"change" min:"0" zero:"the file's" needs:"input=!observation&encoder=auto|delta" help:"change of an input that makes the encoder delta send a spike; 0: as the file says, or 0.05"`
	Rule      string  `set:"rule" oneof:"exact,euler,spyx" help:"how time constants become decays: exp(-dt/tau) (exact), 1 - dt/tau (euler), or as in files of Spyx, with the dt that they were written with (spyx)"`
	Surrogate string  `set:"surrogate" oneof:"fast-sigmoid,arctan,triangular,boxcar,straight-through" help:"what replaces the derivative of a spike in gradients"`
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
	return Erase(p), nil
}

// readsFile reports whether Make reads the file.
func (s *NIRSettings) readsFile() bool { return s.Layers == "" || s.SHA256 != "" }

// traits say that there is a file, and that the network can have any number of outputs.
func (s *NIRSettings) traits() MakerTraits {
	return MakerTraits{
		AnyOutputs: func() Maker {
			all := *s
			all.anyOutputs = true
			return &all
		},
		WithoutFile: func() settings.Values {
			if s.Layers == "" {
				return nil
			}
			return settings.Values{"sha256": ""}
		},
		ReadCopy: func(path string) error {
			_, err := readNIR(path, "")
			return err
		}}
}

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
	if p.layers[len(p.layers)-1].integrates() {
		decoder = "last"
	}
	or(&p.Decoder, decoder)
	p.Substeps, p.DT = cmp.Or(p.Substeps, usual.Substeps), cmp.Or(p.DT, 1)
	p.Rate, p.Gain = cmp.Or(p.Rate, usual.Rate.Value), cmp.Or(p.Gain, usual.Gain.Value)
	p.Fields, p.Change = cmp.Or(p.Fields, usual.Fields), cmp.Or(p.Change, usual.Change)
}

// Traits say that it comes from a file, and that its neurons count their spikes and can be recorded.
func (p *NIR) Traits() (t Traits[NIRParams, nirState]) {
	t.Prepared = FormOf(p.Prepare, p.PrepareShared, p.startReady, p.actReady)
	t.Describe, t.Reports, t.Report, t.NIR = p.Describe, spikingReports, p.Report, p.NIR
	t.Tracer = &Tracer[NIRParams]{p.Trace, p.Weights, p.DT}
	t.File = &File{Without: p.withoutFile()}
	t.File.Kept = t.File.Without.With("sha256", p.digest)
	if f, ok := nirFiles.Load(p.digest); ok {
		t.File.Bytes = f.(*nirFile).bytes
	}
	return t
}

// withoutFile returns settings with which the policy is made without the file.
func (p *NIR) withoutFile() settings.Values {
	values := settings.Values{}
	for _, f := range settings.Fields(&p.NIRSettings) {
		if !f.IsArgument() {
			values[f.Name] = f.Value()
		}
	}
	values["layers"], values["sha256"] = p.structure(), ""
	return values
}
