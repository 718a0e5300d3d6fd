// Package policy holds the networks that members act with, and the heads that make actions of what they put out. A
// policy is written for one member and one observation; graph.VMap gives it the population, graph.Scan the episode.
package policy

import (
	"fmt"

	"xlarun/envs"
	"xlarun/graph"
	"xlarun/graph/random"
)

// Policy maps observations to outputs, given parameters. Its methods are pure functions that can be traced. What an
// environment makes of the outputs is the head's business; see HeadOf.
type Policy interface {
	// Init draws one member's parameters: a tree.
	Init(key random.Key) any
	// Start is what the policy carries into an episode's first step: a tree, graph.None{} for policies without memory.
	Start(params any) any
	// Act answers one observation (of the space that the policy was made for). next has the structure and shapes of
	// carry. key is the step's own; a policy that draws nothing leaves it alone, which costs nothing.
	Act(params, carry any, observation *graph.Array, key random.Key) (next any, out Output)
}

// Output is what a policy says of one observation.
type Output struct {
	// Action is what a head makes an action of, f32[Head.Size]: a logit for each of several actions, a mean for each
	// element of a box.
	Action *graph.Array
}

// Stateless is what policies without memory embed.
type Stateless struct{}

// Start is the empty tree.
func (Stateless) Start(any) any { return graph.None{} }

// Preparer is a Policy with work on the parameters that all steps of an episode can share.
type Preparer interface {
	Policy
	// Prepare makes of one member's parameters, as Init makes them, something that Start and Act take in their place.
	Prepare(params any) any
}

// Alike is a Preparer whose Prepare may pay where many lanes have the same parameters, too; else it is for members with
// weights of their own.
type Alike interface {
	Preparer
	// PreparesAlike tells whether it does.
	PreparesAlike() bool
}

// Describer is a Policy of which a reader of one member's parameters needs to know more than their names and shapes
// say; docs/members.md has the keys.
type Describer interface {
	Policy
	// Describe gives what there is to know, by key: text as it is, anything else as its JSON. params are one member's,
	// as Init makes them.
	Describe(params any) (map[string]any, error)
}

// Reporter is a Policy that counts what it does in an episode. Runs that play episodes have the numbers among their
// metrics, as means over the members and their episodes, and xlarun play has them of the episodes that it plays.
type Reporter interface {
	Policy
	// Reports names the numbers, as metrics are named: "spike_rate_hz". It is called while programs are traced and
	// checked, often, and gives the same each time.
	Reports() []string
	// Report is what the numbers are of the steps so far, f32[len(Reports())] in the order of Reports, by the carry
	// that Act (and Learn, of a Learner) gave in the last of them. It is a pure function of one member, traced once in
	// the loop over steps, so that it is computed behind every step; what counts is the one of the step that ends the
	// episode. A sum over steps has to stand in the carry.
	Report(carry any) *graph.Array
}

// ReporterOf is the reporter that p is, or has behind a Normalizing.
func ReporterOf(p Policy) (Reporter, bool) {
	r, ok := Behind(p).(Reporter)
	return r, ok
}

// Learner is a Policy that changes within an episode by the rewards of its steps.
type Learner interface {
	Policy
	// Learns tells whether it does, by its settings.
	Learns() bool
	// Learn takes the reward f32[] of a step into the carry that Act gave in it.
	Learn(carry any, reward *graph.Array) any
}

// LearnerOf is the learner that p is, or has behind a Normalizing, where it learns.
func LearnerOf(p Policy) (Learner, bool) {
	l, ok := Behind(p).(Learner)
	return l, ok && l.Learns()
}

// Maker makes a policy for an environment. It is a pointer to a struct of settings (see package settings), which are
// the policy's: --policy.activation relu. Numbers among them are inputs of the compiled program where the policy that
// Make gives is a pointer to the struct, too, or to one that embeds it. The setting whose tag has the key args is what
// stands behind the colon of a spec: "mlp:16,16" is the policy mlp with --policy.hidden 16,16.
type Maker interface {
	// Make makes the policy for observations of a space and so many outputs. Its errors are best a *settings.Error.
	Make(observation envs.Space, outputs int) (Policy, error)
}

// Size is the number of parameters of one member.
func Size(p Policy) (n int, err error) {
	err = graph.Try(func() {
		for _, leaf := range graph.Leaves(p.Init(random.New(0))) {
			n += leaf.Size()
		}
	})
	return n, err
}

// Flat makes an observation of a space the float32 vector, f32[FlatSize], that a network takes: discrete ones one-hot,
// boxes row-major.
func Flat(s envs.Space, observation *graph.Array) *graph.Array {
	if d, ok := s.(envs.Discrete); ok {
		return graph.OneHot(observation, d.N, graph.Float32)
	}
	return graph.Flatten1D(observation).Convert(graph.Float32)
}

// fitting is an input in the dtype of a network whose parameters are of half precision: x itself beside others.
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

// single is x in float32, in which what is summed up over many steps stays where parameters are of half precision.
func single(x *graph.Array) *graph.Array { return x.Convert(graph.Float32) }

// FlatSize is the length of Flat for observations of a space. Its error, a *settings.Error, is for spaces that are too
// large.
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
