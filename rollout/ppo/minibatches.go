package ppo

import (
	"xlarun/graph"
	"xlarun/rollout/train"
)

// minibatches are what an update learns from, as rows that are shuffled.
type minibatches interface {
	// rows returns how many there are.
	rows() int
	// advantages returns those of some rows, i32[n].
	advantages(rows *graph.Array) *graph.Array
	// take returns the transitions of some rows along axis 0, and a function that runs the networks on them.
	take(rows *graph.Array) (batch, func(p Params) outputs)
}

// minibatches returns a rollout that began with the states before, all leaves [steps, environments, …]. Its rows are
// whole environments if the policy has memory, else transitions or steps of all environments.
func (u *update) minibatches(before EnvState, b batch) minibatches {
	switch {
	case u.memory:
		stepsFirst := func(a *graph.Array) *graph.Array {
			axes := []int{1, 0}
			for i := 2; i < a.Rank(); i++ {
				axes = append(axes, i)
			}
			return a.Transpose(axes...)
		}
		return sequences{u.network, graph.Once(sequence{before.Actor, before.Critic, graph.MapTree(stepsFirst, b)})}
	case u.config.blocks():
		return blocks{transitions{u.network, b}}
	}
	return transitions{u.network, mergeTree(b)}
}

// minibatchLoss returns the loss of minibatches, as a train.Stepper takes it.
func (u *update) minibatchLoss(all minibatches) func(*graph.Array) func(*graph.Array) train.Loss[Params, losses] {
	return func(minibatch *graph.Array) func(*graph.Array) train.Loss[Params, losses] {
		normalize := func(advantages *graph.Array) *graph.Array { return advantages }
		if u.hyperparameters.normalize {
			normalize = normalizer(all.advantages(minibatch))
		}
		return func(rows *graph.Array) train.Loss[Params, losses] {
			b, forward := all.take(rows)
			return func(p Params) (*graph.Array, losses) { return u.loss(u, p, forward(p), b, normalize) }
		}
	}
}

// transitions are rows of one transition. The leaves of all are [rows, …].
type transitions struct {
	network *network
	all     batch
}

func (t transitions) rows() int { return t.all.Target.Dim(0) }

func (t transitions) advantages(rows *graph.Array) *graph.Array {
	return graph.Take(t.all.Advantage, rows, 0)
}

func (t transitions) take(rows *graph.Array) (batch, func(p Params) outputs) {
	b := takeTree(t.all, rows)
	return b, func(p Params) outputs { return t.network.runBatch(p, b) }
}

// blocks are rows of one step of all environments. The leaves of all are [rows, environments, …].
type blocks struct{ transitions }

func (t blocks) take(rows *graph.Array) (batch, func(p Params) outputs) {
	b := mergeTree(takeTree(t.all, rows))
	return b, func(p Params) outputs { return t.network.runBatch(p, b) }
}

// sequence is what is learned from all steps of one environment, and what the networks carried before them.
type sequence struct {
	Actor, Critic any
	Steps         batch // leaves [steps, …]
}

// sequences are rows of one sequence. The leaves of all are [rows, …].
type sequences struct {
	network *network
	all     sequence
}

func (s sequences) rows() int { return s.all.Steps.Target.Dim(0) }

func (s sequences) advantages(rows *graph.Array) *graph.Array {
	return graph.Take(s.all.Steps.Advantage, rows, 0)
}

func (s sequences) take(rows *graph.Array) (batch, func(p Params) outputs) {
	b := takeTree(s.all, rows)
	return mergeTree(b.Steps), func(p Params) outputs {
		run := func(one sequence) outputs { return s.network.runSequence(p, one) }
		return mergeTree(graph.VMap(run)(b))
	}
}

// takeTree returns some rows, i32[n], of a tree.
func takeTree[T any](tree T, rows *graph.Array) T {
	return graph.Once(graph.MapTree(func(a *graph.Array) *graph.Array { return graph.Take(a, rows, 0) }, tree))
}

// mergeTree returns a tree with axes 0 and 1 as one.
func mergeTree[T any](tree T) T {
	return graph.MapTree(func(a *graph.Array) *graph.Array { return graph.MergeAxes(a, 0, 2) }, tree)
}
