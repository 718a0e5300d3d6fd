package ppo

import "xlarun/rollout/settings"

// UpdateSettings are the sizes of a run and of an update, and the precision.
type UpdateSettings struct {
	// Steps is the number of environment steps of an agent in the run, rounded down to whole updates.
	Steps int `set:"steps" program:"no" resume:"goal" min:"1" max:"1099511627776" help:"environment steps of an agent"`

	Envs    int `set:"envs" min:"1" max:"1048576" help:"environments that an agent plays at a time"`
	Horizon int `set:"horizon" min:"1" max:"1048576" help:"steps of each environment in an update"`
	Epochs  int `set:"epochs" min:"1" max:"1024" help:"how often an update goes through its rollout"`
	// Minibatches is the number of parts of an epoch, each with one step of the optimizer. The steps are divided or,
	// for recurrent policies, the environments.
	Minibatches int `set:"minibatches" min:"1" max:"1048576" help:"optimizer steps of an epoch"`

	// Shuffle is the rows that an epoch shuffles: single steps, or blocks of one step of all environments.
	Shuffle    string `set:"shuffle" advanced:"" oneof:"permutation,blocks" help:"shuffle single steps, or blocks of them"`
	Accumulate int    `set:"accumulate" advanced:"" min:"1" max:"1048576" help:"parts of a minibatch's gradient, to save memory"`
	// Precision is the dtype of networks. Parameters, losses and probabilities stay f32.
	Precision string `set:"precision" advanced:"" oneof:"f32,bf16,f16,auto" help:"of networks; auto: bf16 where it is faster, and config.toml then has what was chosen"`
}

// Rates are the rates of learning and of discounting.
type Rates struct {
	LearningRate settings.Number `set:"learning-rate" each:"" above:"0" help:"step size of the optimizer"`
	Anneal       bool            `set:"anneal" advanced:"" help:"let the learning rate fall to 0 over the run"`
	Gamma        settings.Number `set:"gamma" each:"" min:"0" max:"1" help:"discount of a step"`
	Lambda       settings.Number `set:"lambda" each:"" min:"0" max:"1" help:"weight of longer returns (GAE, Q(lambda))"`
	MaxGradNorm  settings.Number `set:"max-grad-norm" advanced:"" each:"" above:"0" help:"norm that a gradient is cut to"`
}

// Normalizing are the settings of normalization by statistics of the run.
type Normalizing struct {
	NormalizeObservations bool `set:"normalize-observations" help:"normalize observations by those of earlier updates"`
	NormalizeRewards      bool `set:"normalize-rewards" advanced:"" help:"divide rewards by the deviation of discounted sums"`
}

// AgentSettings is the number of agents.
type AgentSettings struct {
	// Agents are trained at the same time, each with its own key.
	Agents int `set:"agents" min:"1" max:"65536" help:"agents that are trained at the same time"`
	// Tile is the number of agents that a device trains together; 0: see agentTiles. Results depend on it in the last
	// digits. They do not depend on Devices.
	Tile int `set:"tile" advanced:"" min:"1" max:"65536" zero:"chosen" help:"agents that a device trains together; 0 to choose"`
}

// Last returns the number of updates.
func (a *UpdateSettings) Last() int64 { return int64(max(1, a.Steps/a.perUpdate())) }

// perUpdate returns the number of environment steps of an agent in an update.
func (a *UpdateSettings) perUpdate() int { return max(1, a.Envs*a.Horizon) }

// blocks reports whether blocks of steps are shuffled.
func (a *UpdateSettings) blocks() bool { return a.Shuffle == "blocks" }
