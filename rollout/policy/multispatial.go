package policy

import (
	"math"

	"xlarun/envs"
	"xlarun/rollout/settings"
)

func init() {
	MustRegister("multispatial", &MultispatialSettings{HyperNEATNumbers: defaultHyperNEATNumbers(),
		CPPN: defaultCPPN()}, makesGenomes)
}

// MultispatialSettings are the settings of the policy "multispatial".
type MultispatialSettings struct {
	HyperNEATNumbers
	CPPN
}

// Make makes a linear policy whose weights a genome draws by the places of the environment (envs.Substrate). It is
// HyperNEAT with a multi-spatial substrate (Pugh and Stanley, "Evolving multimodal controllers with HyperNEAT", 2013):
// things of different kinds lie on different sheets, and for each sheet the genome has an output of its own. So it need
// not tell kinds apart by a coordinate.
func (s *MultispatialSettings) Make(observation envs.Space, outputs int) (Policy, error) {
	if err := checked(s); err != nil {
		return nil, err
	}
	box, _ := observation.(envs.Box)
	if box.Substrate == nil {
		return nil, settings.Wrong("policy", "multispatial", "an environment that says where the elements of its "+
			"observations lie (envs.Box.Substrate), such as Forage-L1-v1: use hyperneat here")
	}
	if n := len(box.Substrate.Outputs); n != outputs {
		return nil, settings.Wrong("policy", "multispatial", "%d outputs, one for each place in the "+
			"environment's substrate: its actions need %d", n, outputs)
	}
	substrate, err := NewMLP(nil, "", observation, outputs)
	if err != nil {
		return nil, err
	}
	queries := sheets(box.Substrate)
	pattern, err := s.network(len(queries[0].inputs), box.Substrate.Sheets()+1)
	if err != nil {
		return nil, err
	}
	return Erase(&HyperNEAT{HyperNEATNumbers: s.HyperNEATNumbers, substrate: substrate, pattern: pattern,
		queries: queries}), nil
}

// sheets asks for the weights and biases of a linear policy. The genome gets the place of an element, that of an
// output, the difference between them and its length. It has an output for each sheet of elements. Its last output is
// for biases, with the middle instead of an element.
func sheets(l *envs.Substrate) (all []query) {
	ask := func(from, to envs.Place, output int) {
		x, y := to.X-from.X, to.Y-from.Y
		var inputs []float32
		for _, v := range []float64{from.X, from.Y, to.X, to.Y, x, y, math.Hypot(x, y)} {
			inputs = append(inputs, float32(v))
		}
		all = append(all, query{inputs, output})
	}
	for _, from := range l.Elements {
		for _, to := range l.Outputs {
			ask(from, to, from.Sheet)
		}
	}
	for _, to := range l.Outputs {
		ask(envs.Place{}, to, l.Sheets())
	}
	return all
}
