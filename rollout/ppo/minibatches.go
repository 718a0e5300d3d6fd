package ppo

import (
	"math"

	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/train"
)

// minibatches are the transitions of an update, in rows that are shuffled.
type minibatches interface {
	// rows returns the number of rows.
	rows() int
	// advantages returns the advantages of some rows, i32[n].
	advantages(rows *graph.Array) *graph.Array
	// take returns the transitions of some rows, i32[n], along axis 0, and a function that runs the networks on them.
	take(rows *graph.Array) (batch, func(p Params) outputs)
}

// batch returns the part of a rollout that is learned from, with leaves [steps, environments, …]. valid, bool[steps,
// environments], marks the transitions that are learned from.
func (u *update) batch(t transition, advantages, targets, valid *graph.Array) batch {
	observations := graph.VMap(graph.VMap(u.normalize.apply))(t.Observation)
	return graph.Once(u.fields(batch{Observation: observations, Legal: t.Legal, Action: t.Action, Key: t.Key,
		First: t.First, LogProb: t.LogProb, Value: t.Value, Target: targets,
		Advantage: graph.Select(valid, advantages, math.NaN()), Valid: valid}))
}

// shuffledRows returns the order of n rows in each epoch, i32[epochs, minibatches, n / minibatches].
func (u *update) shuffledRows(key random.Key, n int) *graph.Array {
	c := u.config
	orders := graph.VMap(func(key random.Key) *graph.Array {
		return random.Permutation(key, n)
	})(random.Split(key, c.Epochs))
	return graph.Once(orders.Reshape(c.Epochs, c.Minibatches, n/c.Minibatches))
}

// minibatches returns the rows of a batch with leaves [steps, environments, …]. A row is a whole environment if the
// policy has memory, else a transition or one step of all environments. before are the environments before the rollout.
func (u *update) minibatches(before EnvState, b batch) minibatches {
	switch {
	case u.memory:
		environmentsFirst := func(a *graph.Array) *graph.Array { return a.MoveAxis(0, 1) }
		return sequences{u.network, graph.Once(sequence{before.Actor, before.Critic,
			graph.MapTree(environmentsFirst, b)})}
	case u.config.blocks():
		return blocks{transitions{u.network, b}}
	}
	return transitions{u.network, mergeTree(b)}
}

// minibatchLoss returns the loss of minibatches for train.Stepper.
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

// transitions are rows of one transition each. The leaves of all are [rows, …].
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

// blocks are rows of one step of all environments each. The leaves of all are [rows, environments, …].
type blocks struct{ transitions }

func (t blocks) take(rows *graph.Array) (batch, func(p Params) outputs) {
	b := mergeTree(takeTree(t.all, rows))
	return b, func(p Params) outputs { return t.network.runBatch(p, b) }
}

// sequence is all steps of one environment.
type sequence struct {
	Actor, Critic any   // the networks' carries before the first step
	Steps         batch // leaves [steps, …]
}

// sequences are rows of one sequence each. The leaves of all are [rows, …].
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

// takeTree returns rows, i32[n], of a tree.
func takeTree[T any](tree T, rows *graph.Array) T {
	return graph.Once(graph.MapTree(func(a *graph.Array) *graph.Array { return graph.Take(a, rows, 0) }, tree))
}

// mergeTree merges axes 0 and 1 of all leaves.
func mergeTree[T any](tree T) T {
	return graph.MapTree(func(a *graph.Array) *graph.Array { return graph.MergeAxes(a, 0, 2) }, tree)
}
