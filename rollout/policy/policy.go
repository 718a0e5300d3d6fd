// Package policy holds the networks that members act with, and the heads that turn their outputs into actions. A policy
// is written for one member and one observation: graph.VMap adds the population, graph.Scan the episode.
package policy

import (
	"fmt"

	"xlarun/envs"
	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/settings"
)

// Policy maps observations to outputs, given parameters. Its methods are pure functions that can be traced. A head
// turns outputs into actions; see HeadOf.
type Policy interface {
	// Init draws one member's parameters: a tree.
	Init(key random.Key) any
	// Start returns the carry of an episode's first step: a tree, graph.None{} for policies without memory.
	Start(params any) any
	// Act returns the output for one observation of the policy's space. next has the structure and shapes of carry. key
	// belongs to the step. It costs nothing unless the policy draws from it.
	Act(params, carry any, observation *graph.Array, key random.Key) (next any, out Output)
}

// Output is the output of a policy for one observation.
type Output struct {
	// Action is the input of a head, f32[Head.Size]: a logit for each action, or a mean for each element of a box.
	Action *graph.Array
}

// Stateless is embedded by policies without memory.
type Stateless struct{}

// Start returns the empty tree.
func (Stateless) Start(any) any { return graph.None{} }

// Preparer is a Policy that transforms its parameters once an episode.
type Preparer interface {
	Policy
	// Prepare returns one member's parameters, as Init returns them, in a form that Start and Act take instead.
	Prepare(params any) any
}

// PartReader is a Preparer whose steps read less than Prepare returns.
type PartReader interface {
	Preparer
	// BytesRead returns the bytes of one member's parameters that a step reads, and those of lists that it reads once
	// for all members of a tile.
	BytesRead() (own, shared int)
}

// Alike is a Preparer that may also pay if many lanes have the same parameters. Other Preparers are for members with
// weights of their own.
type Alike interface {
	Preparer
	// PreparesAlike reports whether it pays.
	PreparesAlike() bool
}

// Decoded is a Preparer whose parameters are no form to compute with: they are prepared in every layout.
type Decoded interface {
	Preparer
	PreparesAlways() bool
}

// Describer is a Policy whose parameters need more description than their names and shapes.
// docs/reference/member-file.md has the keys.
type Describer interface {
	Policy
	// Describe returns the description by key: text as it is, anything else as JSON. params are one member's, as Init
	// returns them.
	Describe(params any) (map[string]any, error)
}

// Reporter is a Policy with numbers of its own about an episode. They are metrics of a run, as means over the members
// and their episodes. xlarun play prints them for each episode.
type Reporter interface {
	Policy
	// Reports returns the names of the numbers, as metrics are named: "spike_rate_hz". They are always the same.
	Reports() []string
	// Report returns the numbers for the steps so far, f32[len(Reports())] in the order of Reports. carry is the carry
	// after the last of them. It is a pure function of one member, traced once in the loop over steps, and computed
	// after every step. The result after the episode's last step counts. Sums over steps belong in the carry.
	Report(carry any) *graph.Array
}

// ReporterOf returns p, or the policy inside it (Unwrap), as a Reporter.
func ReporterOf(p Policy) (Reporter, bool) {
	r, ok := Unwrap(p).(Reporter)
	return r, ok
}

// Learner is a Policy that changes within an episode by the rewards of its steps.
type Learner interface {
	Policy
	// Learns reports whether it learns with its settings.
	Learns() bool
	// Learn returns the carry, which Act returned, after the reward f32[] of the same step.
	Learn(carry any, reward *graph.Array) any
}

// LearnerOf returns p, or the policy inside it (Unwrap), as a Learner, if it learns.
func LearnerOf(p Policy) (Learner, bool) {
	l, ok := Unwrap(p).(Learner)
	return l, ok && l.Learns()
}

// Padded is a Policy that takes parameters of several sizes.
type Padded interface {
	// Sizes returns the settings that decide the sizes of params, as a policy with these sizes has them.
	Sizes(params any) settings.Values
	// Wider returns params, leaves […, size], with the sizes of this policy, which are not smaller. They mean the same.
	Wider(params any) any
}

// SizesOf returns the settings of p that decide the sizes of params; nil if p is not Padded.
func SizesOf(p Policy, params any) settings.Values {
	padded, ok := Unwrap(p).(Padded)
	if !ok {
		return nil
	}
	return padded.Sizes(inner(params))
}

// Drawer is a Policy whose members are networks that differ in their structure, so that a picture shows something.
type Drawer interface {
	// Drawing returns an SVG of a member, on the host.
	Drawing(params any) ([]byte, error)
}

// DrawingOf returns an SVG of a member's network; nil if p is no Drawer.
func DrawingOf(p Policy, params any) ([]byte, error) {
	drawer, ok := Unwrap(p).(Drawer)
	if !ok {
		return nil, nil
	}
	return drawer.Drawing(inner(params))
}

// inner returns the parameters of the policy that Unwrap returns.
func inner(params any) any {
	switch params := params.(type) {
	case Normalized:
		return inner(params.Own)
	case Distributed:
		return inner(params.Own)
	}
	return params
}

// FromFile is a Policy whose layers come from a file.
type FromFile interface {
	Policy
	// SettingsWithoutFile returns settings with which the policy is made without the file, for saved members. Init of
	// that policy returns zeros.
	SettingsWithoutFile() settings.Values
	// SettingsOfFile returns settings with which the policy is made of the file as it was when it was read, with all
	// that the file decides, for the config of a run. If the file has changed, they make no policy. If no file was
	// read, it returns SettingsWithoutFile.
	SettingsOfFile() settings.Values
	// FileBytes returns the file as it was when it was read; nil if no file was read.
	FileBytes() []byte
}

// FileMaker is a Maker of policies that are FromFile.
type FileMaker interface {
	Maker
	// WithoutFile changes FromFile.SettingsOfFile into settings that read no file: it returns the settings that differ.
	// It returns nil for other settings.
	WithoutFile() settings.Values
	// ReadCopy reads a copy of a policy's file. Settings with its digest, as FromFile.SettingsOfFile returns them, then
	// make the policy of the copy, and need the file no more.
	ReadCopy(path string) error
}

// OutputsMaker is a Maker whose network comes with its number of outputs.
type OutputsMaker interface {
	Maker
	// AnyOutputs returns a Maker that makes the network with any number of outputs, for critics.
	AnyOutputs() Maker
}

// FixedMaker is a Maker whose network cannot have another number of outputs, so that a critic is another network.
type FixedMaker interface {
	Maker
	// FixedOutputs does nothing.
	FixedOutputs()
}

// MakeCritic is Build with the maker of an actor, for a critic with a number of outputs of its own.
func MakeCritic(m Maker, observation envs.Space, outputs int) (Policy, error) {
	if any, ok := m.(OutputsMaker); ok {
		m = any.AnyOutputs()
	}
	return Build(m, observation, outputs)
}

// Maker makes a policy for an environment. It is a pointer to a struct of the policy's settings (see package settings):
// --policy.activation relu. Numbers among them are inputs of the compiled program if the policy is a pointer to the
// same struct, or to one that embeds it. The setting with the tag args may stand after the colon of a spec: "mlp:16,16"
// is the policy mlp with --policy.hidden 16,16.
type Maker interface {
	// Make makes the policy for observations of a space and a number of outputs. Its errors should be *settings.Error.
	Make(observation envs.Space, outputs int) (Policy, error)
}

// Size returns the number of parameters of one member.
func Size(p Policy) (n int, err error) {
	err = graph.Try(func() {
		for _, leaf := range graph.Leaves(p.Init(random.New(0))) {
			n += leaf.Size()
		}
	})
	return n, err
}

// Flat returns an observation as a vector, f32[FlatSize]: discrete ones one-hot, boxes row-major.
func Flat(s envs.Space, observation *graph.Array) *graph.Array {
	if d, ok := s.(envs.Discrete); ok {
		return graph.OneHot(observation, d.N, graph.Float32)
	}
	return graph.Flatten1D(observation).Convert(graph.Float32)
}

// fitting converts an input to the dtype of a network with parameters of half precision. It returns x for others.
func fitting(x *graph.Array, params any) *graph.Array {
	leaves := graph.Leaves(params)
	if len(leaves) == 0 {
		return x
	}
	if d := leaves[0].DType(); d.IsFloat() && graph.ItemSize(d) == 2 {
		return x.Convert(d)
	}
	return x
}

// single returns x in float32. Sums over many steps stay in float32 when parameters are of half precision.
func single(x *graph.Array) *graph.Array { return x.Convert(graph.Float32) }

// FlatSize returns the length of Flat for observations of a space. Its error for spaces that are too large is a
// *settings.Error.
func FlatSize(s envs.Space) (int, error) {
	n := s.Shape().Size()
	if d, ok := s.(envs.Discrete); ok {
		n = d.N
	}
	if n < 1 || n > maxWidth {
		return 0, wrong(fmt.Sprintf("observations of %s, %d inputs", s, n), "1 to %d inputs", maxWidth)
	}
	return n, nil
}
