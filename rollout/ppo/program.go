package ppo

import (
	"maps"

	"xlarun/graph"
	"xlarun/graph/optim"
	"xlarun/rollout/episode"
	"xlarun/rollout/population"
	"xlarun/rollout/ppo/auxiliary"
	"xlarun/rollout/ppo/value"
	"xlarun/rollout/settings"
	"xlarun/rollout/train"
)

// program is an update of one agent, with settings.
type program struct {
	config *Config
	*network
	play *episode.Rollout
	head value.Head
	// auxiliary is a further term of the loss; nil: there is none.
	auxiliary auxiliary.Loss
	rows      int // number of rows that an epoch shuffles
	// costlyReset: environments are reset only in steps in which an episode ended, else in each step in advance.
	costlyReset bool
	shards      shards
	algorithm
	evaluation *evaluation // nil: the actor is not evaluated while it learns
}

// inputs are the inputs of an update that stay the same in the whole run.
type inputs struct {
	Settings map[string]*graph.Array // f32[], by name
	// Each has the settings that differ between agents: f32[agents]; within the update of one agent, f32[].
	Each    map[string]*graph.Array
	Updates *graph.Array // f32[]: updates of the run, over which the learning rate falls
	Tiles   *graph.Array // i32[]: tiles of agents per device (population.Tiles.Count)
	Shards  shardInputs  // of one agent

	EvalEvery *graph.Array `tree:"optional"` // i32[]: nil without evaluations
}

// withInputs returns the program with its inputs instead of the settings.
func (g *program) withInputs(in inputs) *program {
	b := *g
	b.config = settings.Bind(settings.Bind(g.config, in.Settings, ""), in.Each, "")
	b.play = g.play.Bound(in.Settings)
	b.network = g.network.withInputs(in.Settings)
	b.head = settings.Bind(g.head, in.Settings, valuePrefix)
	if g.auxiliary != nil {
		b.auxiliary = settings.Bind(g.auxiliary, in.Settings, auxiliaryPrefix)
	}
	b.algorithm = settings.Bind(g.algorithm, in.Settings, "")
	if g.evaluation != nil {
		e := *g.evaluation
		e.Rollout = e.Rollout.Bound(in.Settings)
		b.evaluation = &e
	}
	return &b
}

// Prefixes of the names of the parts' settings among a program's inputs.
const (
	valuePrefix     = "value."
	auxiliaryPrefix = "auxiliary."
)

// inputs returns the inputs of the program for agents that are cut into tiles.
func (g *program) inputs(tiles population.Tiles) inputs {
	in := inputs{Settings: settings.Inputs(g.config, ""), Each: map[string]*graph.Array{},
		Updates: graph.Scalar(float64(g.config.Last())), Tiles: tiles.Count(), Shards: g.shards.inputs()}
	if g.evaluation != nil {
		in.EvalEvery = graph.Of(int32(g.evaluation.EvalEvery))
	}
	if g.config.Agents > 1 {
		for name, values := range g.config.perAgent() {
			numbers := make([]float32, len(values))
			for i, x := range values {
				numbers[i] = float32(x)
			}
			in.Each[name] = graph.Float32s(numbers)
			delete(in.Settings, name)
		}
	}
	maps.Copy(in.Settings, settings.Inputs(g.head, valuePrefix))
	if g.auxiliary != nil {
		maps.Copy(in.Settings, settings.Inputs(g.auxiliary, auxiliaryPrefix))
	}
	maps.Copy(in.Settings, settings.Inputs(g.algorithm, ""))
	maps.Copy(in.Settings, g.play.Inputs())
	return in
}

// hyperparameters are f32[], inputs of the program or constants.
type hyperparameters struct {
	LearningRate, Gamma, Lambda, Clip, EntropyWeight, ValueWeight, MaxGradNorm, TargetKL *graph.Array

	ValueClip        *graph.Array // nil: values are not clipped
	stops, normalize bool
}

// hyperparameters returns the hyperparameters of an update, i32[].
func (g *program) hyperparameters(in inputs, update *graph.Array) hyperparameters {
	c := g.config
	h := hyperparameters{LearningRate: c.LearningRate.Array(), Gamma: c.Gamma.Array(), Lambda: c.Lambda.Array(),
		Clip: c.Clip.Array(), EntropyWeight: c.Entropy.Array(), ValueWeight: c.ValueWeight.Array(),
		MaxGradNorm: c.MaxGradNorm.Array(), TargetKL: c.TargetKL.Array(), stops: c.stops(),
		normalize: c.NormalizeAdvantages}
	if c.ClipValues {
		h.ValueClip = c.Clip.Array()
	}
	if c.Anneal {
		progress := update.Convert(graph.Float32).Div(in.Updates)
		h.LearningRate = h.LearningRate.Mul(graph.Sub(1, progress).Max(0))
	}
	return h
}

// optimizer returns the algorithm's optimizer, which clips the norm of the gradient.
func (g *program) optimizer(h hyperparameters) optim.Transform {
	clip := optim.ClipByGlobalNorm(h.MaxGradNorm)
	return optim.Flattened(optim.Chain(clip, g.algorithm.optimizer(h.LearningRate)))
}

// update is a program while one update is traced, with the values that stay the same in the update.
type update struct {
	*program
	hyperparameters
	in        inputs
	normalize observationScale
	headState any // of the value head
	stepper   train.Stepper[Params, *graph.Array, losses]
	// step is what is done with the rows of a minibatch, i32[n]; nil: stepper.Step.
	step func(s train.State[Params], rows *graph.Array) (train.State[Params], train.Result[losses])
}

// newUpdate returns the update after a state.
func (g *program) newUpdate(s State, in inputs) *update {
	b := g.withInputs(in)
	h := b.hyperparameters(in, s.Update)
	return &update{program: b, hyperparameters: h, in: in, normalize: graph.Once(s.Observed.scale()),
		headState: s.Value, stepper: train.Stepper[Params, *graph.Array, losses]{Optimizer: b.optimizer(h),
			Zero: b.noMetrics().Losses, Parts: b.config.Accumulate, Tiles: b.shards.Rows, PerDevice: in.Shards.Rows,
			Sum: population.Tiles.PairSum}}
}

// rescaleValues returns the parameters with the layer of values rescaled, so that values stay as they were before the
// value head's state changed to after.
func (u *update) rescaleValues(s State, after any) Params {
	if len(graph.Leaves(s.Value)) == 0 {
		return s.Params
	}
	return u.withValueLayer(s.Params, func(w, b *graph.Array) (*graph.Array, *graph.Array) {
		return u.head.Rescale(s.Value, after, w, b)
	})
}
