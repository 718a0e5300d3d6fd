package ppo

import (
	"xlarun/graph"
	"xlarun/graph/optim"
)

// algorithm has the parts in which ppo (proximal) and pqn (QLearning) differ. It is a pointer to a struct, whose
// numbers are inputs of the program.
type algorithm interface {
	// actingParams returns the parameters that act in an update, i32[], of updates, f32[].
	actingParams(p Params, update, updates *graph.Array) Params
	// scaleRewards returns rewards in the units of values.
	scaleRewards(rewards *graph.Array) *graph.Array
	// fields returns a batch without the optional fields that the loss does not read.
	fields(b batch) batch
	// loss returns the loss of transitions along axis 0, f32[]. normalize normalizes advantages by the whole minibatch.
	loss(u *update, p Params, out outputs, b batch,
		normalize func(advantages *graph.Array) *graph.Array) (*graph.Array, losses)
	// optimizer returns the optimizer with a learning rate f32[].
	optimizer(rate *graph.Array) optim.Transform
	// metrics returns the names of the metrics, in their order, given the names of ppo's metrics.
	metrics(ppo []string) []string
	// measure returns the metrics of an update that ppo does not have, f32[] each.
	measure(update, updates *graph.Array) map[string]*graph.Array
}

// proximal is proximal policy optimization. Its loss is in update.go.
type proximal struct{}

func (*proximal) actingParams(p Params, _, _ *graph.Array) Params { return p }

func (*proximal) scaleRewards(rewards *graph.Array) *graph.Array { return rewards }

func (*proximal) fields(b batch) batch {
	b.Valid = nil
	return b
}

func (*proximal) optimizer(rate *graph.Array) optim.Transform {
	return optim.Adam(rate, optim.Eps(1e-5))
}

func (*proximal) metrics(ppo []string) []string { return ppo }

func (*proximal) measure(_, _ *graph.Array) map[string]*graph.Array { return nil }
