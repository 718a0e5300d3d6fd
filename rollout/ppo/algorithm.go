package ppo

import (
	"xlarun/graph"
	"xlarun/graph/optim"
)

// algorithm is what differs between the ways to learn of what was collected: proximal is ppo's, QLearning pqn's. All else is the same program. It points to a struct, whose Numbers are inputs of the program.
type algorithm interface {
	// plays are the parameters that collect in an update, i32[], of so many, f32[].
	plays(p Params, update, updates *graph.Array) Params
	// scaled are rewards in the units that values are learned in.
	scaled(rewards *graph.Array) *graph.Array
	// learns is what is learned of, out of all that is known; number, bool[…]: the target is one.
	learns(e experience, number *graph.Array) experience
	// loss is that of a minibatch, or of a part of one: e has the experience along axis 0, by is the spread of the whole minibatch's advantages.
	loss(l *learner, p Params, out passed, e experience, by *spread) (*graph.Array, figures)
	// optimizer moves parameters, at a rate f32[].
	optimizer(rate *graph.Array) optim.Transform
	// metrics are the names of its metrics, in their order, out of ppo's and of its own.
	metrics(ppo []string) []string
	// measured are its own in an update, each f32[].
	measured(update, updates *graph.Array) map[string]*graph.Array
}
