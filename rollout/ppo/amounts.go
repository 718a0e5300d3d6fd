package ppo

import "xlarun/rollout/settings"

// Amounts are the size of a run and of an update, and what an update computes in: settings of every kind of run that learns of steps as it plays them.
type Amounts struct {
	// Steps is the number of environment steps of an agent in the whole run; updates follow from it.
	Steps       int `set:"steps" program:"no" resume:"goal" min:"1" max:"1099511627776" help:"environment steps of an agent in the whole run; the learning rate falls over them"`
	Envs        int `set:"envs" min:"1" max:"1048576" help:"environments that an agent plays at a time"`
	Horizon     int `set:"horizon" min:"1" max:"1048576" help:"steps of each environment in an update"`
	Epochs      int `set:"epochs" min:"1" max:"1024" help:"how often an update goes through what it collected"`
	Minibatches int `set:"minibatches" min:"1" max:"1048576" help:"parts of an epoch, each with a step of the optimiser: of steps, or of environments where the policy remembers"`

	Shuffle    string `set:"shuffle" oneof:"permutation,blocks" help:"what an epoch shuffles: single steps, or the blocks of all environments' steps at a time"`
	Accumulate int    `set:"accumulate" min:"1" max:"1048576" help:"parts in which the gradient of a minibatch is computed, one after the other, to need less memory"`
	Precision  string `set:"precision" oneof:"f32,bf16,f16,auto" help:"what networks compute in; parameters, losses and probabilities stay f32. auto: bf16 on accelerators, else f32"`
}

// Rates say how fast is learned, and how far rewards are seen.
type Rates struct {
	LearningRate settings.Number `set:"learning-rate" each:"" above:"0" help:"step size of the optimiser"`
	Anneal       bool            `set:"anneal" help:"let the learning rate fall to 0 over the run"`
	Gamma        settings.Number `set:"gamma" each:"" min:"0" max:"1" help:"discount of a step"`
	Lambda       settings.Number `set:"lambda" each:"" min:"0" max:"1" help:"decay of the weights of longer returns: of generalised advantage estimation, of Q(lambda)"`
	MaxGradNorm  settings.Number `set:"max-grad-norm" each:"" above:"0" help:"norm that a gradient is cut to"`
}

// Normalizing says what is normalised by what was seen.
type Normalizing struct {
	NormalizeObservations bool `set:"normalize-observations" help:"the networks see each observation less its mean, over its standard deviation, of all that were made in the updates before"`
	NormalizeRewards      bool `set:"normalize-rewards" help:"divide rewards by the standard deviation of their discounted sums"`
}

// Crowd is how many are trained.
type Crowd struct {
	// Agents are trained at the same time, each with a key of its own.
	Agents int `set:"agents" min:"1" max:"65536" help:"agents that are trained at the same time, each from a seed of its own"`
	// Tile is the number of agents that a device trains at a time; 0: by rule. Results depend on it in the last digits, and not on Devices.
	Tile int `set:"tile" min:"1" max:"65536" zero:"chosen" help:"agents that are trained together on a device; 0 to choose"`
}

// Last is the number of updates.
func (a *Amounts) Last() int64 { return int64(max(1, a.Steps/a.perUpdate())) }

// perUpdate is the number of environment steps of an agent in an update.
func (a *Amounts) perUpdate() int { return max(1, a.Envs*a.Horizon) }

// blocks tells whether blocks of steps are shuffled.
func (a *Amounts) blocks() bool { return a.Shuffle == "blocks" }
