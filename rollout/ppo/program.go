package ppo

import (
	"xlarun/graph"
	"xlarun/graph/optim"
	"xlarun/rollout/episode"
	"xlarun/rollout/population"
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
	rows int // that an epoch shuffles
	// costlyReset tells that environments are reset only in steps in which an episode ended, and not in all steps
	// beforehand.
	costlyReset bool
	shards      shards
	algorithm
}

// inputs are the inputs of an update that are not handed on.
type inputs struct {
	Settings map[string]*graph.Array // f32[], by name
	// Each are the settings of which each agent has its own: f32[agents]; of one agent, f32[].
	Each    map[string]*graph.Array
	Updates *graph.Array // f32[]: of the whole run, over which the learning rate falls
	Tiles   *graph.Array // i32[]: tiles of agents that a device trains; population.Tiles.Count
	Shards  shardInputs  // of one agent
}

// withInputs returns the program with its inputs in the place of the settings.
func (g *program) withInputs(in inputs) *program {
	b := *g
	b.config = settings.Bind(settings.Bind(g.config, in.Settings, ""), in.Each, "")
	b.play = g.play.Bound(in.Settings)
	b.network = g.network.withInputs(in.Settings)
	b.head = settings.Bind(g.head, in.Settings, valuePrefix)
	b.algorithm = settings.Bind(g.algorithm, in.Settings, "")
	return &b
}

// valuePrefix goes before the names of the value head's settings among a program's inputs.
const valuePrefix = "value."

// inputs returns the inputs of the program for agents that are cut into tiles.
func (g *program) inputs(tiles population.Tiles) inputs {
	in := inputs{Settings: settings.Inputs(g.config, ""), Each: map[string]*graph.Array{},
		Updates: graph.Scalar(float64(g.config.Last())), Tiles: tiles.Count(), Shards: g.shards.inputs()}
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
	for name, a := range settings.Inputs(g.head, valuePrefix) {
		in.Settings[name] = a
	}
	for name, a := range settings.Inputs(g.algorithm, "") {
		in.Settings[name] = a
	}
	for name, a := range g.play.Inputs() {
		in.Settings[name] = a
	}
	return in
}

// hyperparameters are f32[], inputs of the program or constants.
type hyperparameters struct {
	LearningRate, Gamma, Lambda, Clip, EntropyWeight, ValueWeight, MaxGradNorm, TargetKL *graph.Array

	ValueClip        *graph.Array // nil: values are not clipped
	stops, normalize bool
}

// hyperparameters returns those of an update, i32[].
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

// optimizer returns the algorithm's optimiser, which clips the norm of the gradient.
func (g *program) optimizer(h hyperparameters) optim.Transform {
	clip := optim.ClipByGlobalNorm(h.MaxGradNorm)
	return optim.Flattened(optim.Chain(clip, g.algorithm.optimizer(h.LearningRate)))
}

// update is a program while it is traced, with what is fixed within an update.
type update struct {
	*program
	hyperparameters
	in        inputs
	normalize observationScale
	headState any // of the value head
	stepper   train.Stepper[Params, *graph.Array, losses]
}

// newUpdate returns the update that follows a state.
func (g *program) newUpdate(s State, in inputs) *update {
	b := g.withInputs(in)
	h := b.hyperparameters(in, s.Update)
	return &update{program: b, hyperparameters: h, in: in, normalize: graph.Once(s.Observed.scale()),
		headState: s.Value, stepper: train.Stepper[Params, *graph.Array, losses]{Optimizer: b.optimizer(h),
			Zero: noMetrics().Losses, Parts: b.config.Accumulate, Tiles: b.shards.Rows, PerDevice: in.Shards.Rows,
			Sum: population.Tiles.PairSum}}
}

// rescaleValues returns the parameters with the layer of values such that it gives what it gave before the value head's
// state changed.
func (u *update) rescaleValues(s State, after any) Params {
	if len(graph.Leaves(s.Value)) == 0 {
		return s.Params
	}
	return u.withValueLayer(s.Params, func(w, b *graph.Array) (*graph.Array, *graph.Array) {
		return u.head.Rescale(s.Value, after, w, b)
	})
}
