package play

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"xlarun/cmd/xlarun/console"
	"xlarun/rollout/episode"
	"xlarun/rollout/policy"
	"xlarun/rollout/policy/genome"
	"xlarun/rollout/settings"
)

// digestKey is the key of a safetensors file's digest, which a genome in JSON does not have: people edit it.
const digestKey = "digest"

// The endings of files of genomes.
const (
	genomeSuffix  = ".json"
	drawingSuffix = ".svg"
)

// memberFile is the argument of a command that reads one member's file.
const memberFile = "FILE" + suffix + "|GENOME" + genomeSuffix

// genome returns a member of the policy genome as a document.
func (s *Saved) genome(metadata map[string]string) (genome.Document, error) {
	if !s.Acts() {
		return genome.Document{}, fmt.Errorf("the member acts in no environment")
	}
	params, net, err := s.network()
	if err != nil {
		return genome.Document{}, err
	}
	network := net.Traits().Genotype
	if network == nil {
		return genome.Document{}, noGenome("the member's policy is " + s.Metadata["policy"] + ", and only members of " +
			settings.AnyOf(policy.GenomePolicies()) + " have networks of nodes and connections")
	}
	g, ok := params.(genome.Genome)
	if !ok {
		return genome.Document{}, noGenome("the member's observations are normalized by running moments, which are " +
			"no part of a genome")
	}
	d, err := network.Document(g)
	d.Metadata = maps.Clone(metadata)
	delete(d.Metadata, digestKey)
	return d, err
}

// noGenome says why a member is not written as a genome.
type noGenome string

func (e noGenome) Error() string { return string(e) }

// encodeGenome returns the genome in JSON.
func (s *Saved) encodeGenome(metadata map[string]string) ([]byte, error) {
	d, err := s.genome(metadata)
	if err != nil {
		return nil, err
	}
	text, err := json.MarshalIndent(d, "", "  ")
	return append(text, '\n'), err
}

// encodeDrawing returns a picture of the genome.
func (s *Saved) encodeDrawing(metadata map[string]string) ([]byte, error) {
	d, err := s.genome(metadata)
	return d.SVG(), err
}

// drawNetwork draws the network of a genome beside a picture of its episode, and says where.
func (s *Saved) drawNetwork(streams console.Streams, picture string) error {
	svg, err := s.encodeDrawing(nil)
	if _, is := errors.AsType[noGenome](err); is {
		return nil
	}
	if err != nil {
		return err
	}
	path := strings.TrimSuffix(picture, filepath.Ext(picture)) + drawingSuffix
	if err := console.WriteFile(path, svg); err != nil {
		return fmt.Errorf("the picture %s cannot be written (%w)", path, console.Cause(err))
	}
	_, err = fmt.Fprintf(streams.Out, "network      %s\n", path)
	return err
}

// addPolicy adds to the metadata what a file of xlarun export says of the policy and of the episode.
func (s *Saved) addPolicy(d genome.Document) error {
	text, err := json.Marshal(d.Settings())
	if err != nil {
		return err
	}
	s.Metadata["policy"], s.Metadata["policy_settings"] = "genome", string(text)
	if s.Metadata["steps"] == "" {
		s.Metadata["steps"] = "500"
	}
	return nil
}

// readGenome reads a genome in JSON, as encodeGenome writes it, as a member. It drops the results that the file names,
// since the genome may have been edited, and refuses metadata that do not fit the genome.
func (s *Saved) readGenome() error {
	text, err := os.ReadFile(s.Path)
	if err != nil {
		return console.BadInput("%s cannot be read: %w", s.Path, console.Cause(err))
	}
	d, err := genome.ReadDocument(text)
	if err != nil {
		return console.BadInput("%s %w", s.Path, err)
	}
	if s.Metadata = maps.Clone(d.Metadata); s.Metadata["env"] == "" {
		return console.BadInput("%s names no environment in its metadata, as files of xlarun export do: its key env",
			s.Path)
	}
	s.dropResults()
	delete(s.Metadata, digestKey)
	if s.Metadata["policy"] == "" { // of another program
		if err := s.addPolicy(d); err != nil {
			return err
		}
	}
	r, err := episode.RolloutOf(s.Metadata)
	if err != nil {
		return console.BadInput("%s: %w", s.Path, err)
	}
	network := r.Policy.Traits().Genotype
	if network == nil {
		return console.BadInput("%s: its policy is %s, want %s", s.Path, s.Metadata["policy"],
			settings.AnyOf(policy.GenomePolicies()))
	}
	g, err := network.Genome(d)
	if err != nil {
		return console.BadInput("%s: %w", s.Path, err)
	}
	described, err := describePolicy(policy.Unwrap(r.Policy), g)
	if err != nil {
		return err
	}
	for _, key := range slices.Sorted(maps.Keys(described)) {
		if got, ok := s.Metadata[key]; ok && got != described[key] {
			return console.BadInput("%s contradicts itself: its metadata say %s %s, and its policy %s has %s", s.Path,
				key, got, s.Metadata["policy"], described[key])
		}
	}
	s.setParams(g)
	return nil
}
