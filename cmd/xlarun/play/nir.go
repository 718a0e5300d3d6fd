package play

import (
	"fmt"
	"maps"
	"strings"

	"xlarun/cmd/xlarun/console"
	"xlarun/rollout/episode"
	"xlarun/rollout/policy"
)

// nirSuffix is the ending of graphs of the Neuromorphic Intermediate Representation.
const nirSuffix = ".nir"

// nirKeys are the keys of a member's metadata that a NIR file keeps.
var nirKeys = []string{"env", "env_params", "steps", "seed", "kind", "member", "generation", "mean_return",
	"standard_error", "failed_episodes", "episodes", "evaluated_on", "xlarun"}

// encodeNIR returns the bytes of a NIR file of the member.
func (s *Saved) encodeNIR(metadata map[string]string) ([]byte, error) {
	if !s.Acts() {
		return nil, fmt.Errorf("the member acts in no environment")
	}
	params, net, err := s.network()
	if err != nil {
		return nil, err
	}
	if _, ok := net.(*policy.Normalizing); ok {
		return nil, fmt.Errorf("the member's observations are normalized by running moments, and NIR has no node " +
			"for that")
	}
	network := net.Traits().NIR
	if network == nil {
		return nil, fmt.Errorf("NIR has nodes for spiking networks, and none for the policy %s", s.Metadata["policy"])
	}
	g, err := network(params)
	if err != nil {
		return nil, err
	}
	kept := map[string]string{}
	for _, key := range nirKeys {
		kept[key] = metadata[key]
	}
	policy.SetNIRMetadata(g, kept)
	return g.Write()
}

// readNIR reads a NIR file whose metadata name an environment, as a member of the policy nir.
func (s *Saved) readNIR() error {
	g, params, values, err := policy.ReadNIR(s.Path)
	if err != nil {
		return console.BadInput("%s: %s", s.Path, strings.TrimPrefix(strings.TrimPrefix(err.Error(), "nir: "),
			s.Path+": "))
	}
	s.Metadata = maps.Clone(policy.NIRMetadata(g))
	if s.Metadata["env"] == "" {
		return console.BadInput("%s names no environment, as files of xlarun export do: xlarun render ENV --policy "+
			"nir:%s plays it in one, xlarun evolve ENV --policy nir:%s begins from it", s.Path, s.Path, s.Path)
	}
	about := episode.Describe(s.Metadata["env"], "nir:"+s.Path, values, 0)
	delete(about, "steps")
	maps.Copy(s.Metadata, about)
	s.setParams(params)
	return nil
}
