package run

// EvalSettings say how often, and on how many episodes, a run evaluates the policy that it would save now. The
// evaluation is a part of the run's program: the policy acts as it will be used, on new episodes.
type EvalSettings struct {
	// EvalEnvs is the least number of episodes of an evaluation, which is num_eval_envs in Brax.
	EvalEnvs int `set:"eval-envs" advanced:"" min:"0" max:"65536" zero:"no evaluation while training" help:"new episodes of an evaluation, while training, of the policy that would be saved then; evolve and qd round up to a multiple of --episodes, islands to one for each island; 0: there is none"`
	// EvalEvery is the number of generations or updates between evaluations; see EvalDue.
	EvalEvery int `set:"eval-every" advanced:"" needs:"eval-envs=!0" min:"1" max:"1000000" help:"generations or updates between evaluations while training; before the first of them there is one in 1, 2, 4, 8 and so on"`
}

// Metrics of an evaluation. The row of a step without an evaluation has none of them.
const (
	// EvalReturn is the mean return of the episodes that did not fail.
	EvalReturn = "eval_return"
	// EvalError is the standard error of EvalReturn.
	EvalError = "eval_std_error"
	// EvalEpisodes is the number of episodes, those that failed too.
	EvalEpisodes = "eval_num_episodes"
	// EvalFailed is the number of episodes whose return is not finite.
	EvalFailed = "eval_failed"
)

// Metrics of the environment steps so far.
const (
	// EnvSteps are those of all episodes in training, until each ended.
	EnvSteps = "env_steps"
	// ComputedSteps are those that were computed, also after the ends of episodes: what steps/s counts.
	ComputedSteps = "computed_steps"
)
