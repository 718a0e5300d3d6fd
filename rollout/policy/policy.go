// Package policy holds the networks that members act with, and the heads that turn their outputs into actions. A policy
// is written for one member and one observation: graph.VMap adds the population, graph.Scan the episode.
package policy

import (
	"fmt"

	"xlarun/envs"
	"xlarun/graph"
	"xlarun/graph/random"
)

// Network is a policy with parameters P and a memory C, both trees: it maps observations to outputs. Its methods are
// pure functions that can be traced. A head turns outputs into actions; see HeadOf.
type Network[P, C any] interface {
	// Traits says what else the policy can do.
	Traits() Traits[P, C]
	// Init draws one member's parameters.
	Init(key random.Key) P
	// Start returns the carry of an episode's first step, graph.None{} for policies without memory.
	Start(params P) C
	// Act returns the output for one observation of the policy's space. next has the structure and shapes of carry. key
	// belongs to the step. It costs nothing unless the policy draws from it.
	Act(params P, carry C, observation *graph.Array, key random.Key) (next C, out Output)
}

// Policy is a Network whose types are hidden by Erase: what runs work with.
type Policy = Network[any, any]

// Output is the output of a policy for one observation.
type Output struct {
	// Action is the input of a head, f32[Head.Size]: a logit for each action, or a mean for each element of a box.
	Action *graph.Array
}

// Stateless is embedded by policies with parameters P and without memory.
type Stateless[P any] struct{}

// Start returns the empty tree.
func (Stateless[P]) Start(P) graph.None { return graph.None{} }

// MakeCritic is Build with the maker of an actor, for a critic with a number of outputs of its own.
func MakeCritic(m Maker, observation envs.Space, outputs int) (Policy, error) {
	if t := TraitsOf(m); t.AnyOutputs != nil {
		m = t.AnyOutputs()
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
