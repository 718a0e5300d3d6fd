package play

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"xlarun/cmd/xlarun/play/onnx"
	"xlarun/rollout/settings"
)

// The endings of files of members. nirSuffix is another.
const (
	suffix     = ".safetensors" // the format of runs, which takes any member
	onnxSuffix = ".onnx"
)

// format is a format of files of members, which the ending of a file's name chooses.
type format struct {
	suffix string
	makes  string // what xlarun export makes of a name with this ending, for its help
	arrays bool   // the file holds the member's arrays by name
	critic bool   // the file can hold a critic beside the actor
	// encode returns the bytes of a file; nil means safetensors, whose arrays are written one by one.
	encode func(s *Saved, metadata map[string]string) ([]byte, error)
	read   func(s *Saved) error // nil if the format is only written
}

var formats = []format{
	{suffix: suffix, arrays: true, critic: true, read: (*Saved).readArrays,
		makes: "such a file, which xlarun play takes, too"},
	{suffix: onnxSuffix, arrays: true, encode: (*Saved).encodeONNX,
		makes: "an ONNX model, for onnxruntime and others"},
	{suffix: nirSuffix, encode: (*Saved).encodeNIR, read: (*Saved).readNIR,
		makes: "a graph of the Neuromorphic Intermediate Representation of a spiking " +
			"network, for simulators and chips; --policy nir:FILE and xlarun play take it"},
	{suffix: genomeSuffix, encode: (*Saved).encodeGenome, read: (*Saved).readGenome,
		makes: "the nodes and connections of a genome, which --strategy neat " +
			"evolves, in JSON; xlarun play takes it, too"},
	{suffix: drawingSuffix, encode: (*Saved).encodeDrawing,
		makes: "a picture of such a genome"},
}

// formatOf returns the format of a file's name, and whether its ending is known. Files of members may have any name, so
// that a file with another ending is read as the first format.
func formatOf(name string) (format, bool) {
	ending := filepath.Ext(name)
	if i := slices.IndexFunc(formats, func(f format) bool { return f.suffix == ending }); i >= 0 {
		return formats[i], true
	}
	return formats[0], false
}

// endings joins the endings of the formats, each after a text: "FILE.a, FILE.b or FILE.c".
func endings(formats []format, before string) string {
	var all []string
	for _, f := range formats {
		all = append(all, before+f.suffix)
	}
	return settings.AnyOf(all)
}

// formatsHelp says in sentences, one a line, what a name makes of a member.
func formatsHelp() string {
	var text strings.Builder
	for _, f := range formats {
		fmt.Fprintf(&text, "A name that ends in %s makes %s.\n", f.suffix, f.makes)
	}
	return strings.TrimSuffix(text.String(), "\n")
}

// encodeONNX returns the bytes of an ONNX model of a member that acts.
func (s *Saved) encodeONNX(metadata map[string]string) ([]byte, error) {
	if !s.Acts() {
		return nil, fmt.Errorf("a member of a run of %s has no ONNX model, since it acts in no environment",
			s.Metadata["kind"])
	}
	return onnx.Encode(s.Arrays, metadata)
}
