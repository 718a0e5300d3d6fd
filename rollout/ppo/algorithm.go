package ppo

import (
	"xlarun/graph"
	"xlarun/graph/optim"
)

// algorithm is the part that differs between the ways to learn from a rollout: proximal for ppo, QLearning for pqn. It
// points to a struct, whose numbers are inputs of the program.
type algorithm interface {
	// actingParams returns the parameters that collect in an update, i32[]; updates, f32[], is the number of them.
	actingParams(p Params, update, updates *graph.Array) Params
	// scaleRewards returns rewards in the units that values are learned in.
	scaleRewards(rewards *graph.Array) *graph.Array
	// fields returns a batch with only those optional fields that the loss reads.
	fields(b batch) batch
	// loss returns the loss of transitions along axis 0, f32[]. normalize normalises their advantages by those of the
	// whole minibatch.
	loss(u *update, p Params, out outputs, b batch,
		normalize func(advantages *graph.Array) *graph.Array) (*graph.Array, losses)
	// optimizer returns the optimiser with a learning rate f32[].
	optimizer(rate *graph.Array) optim.Transform
	// metrics returns the names of its metrics, in their order, given those of ppo.
	metrics(ppo []string) []string
	// measure returns its own metrics of an update, each f32[].
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
