package run

import (
	"xlarun/graph"
	"xlarun/rollout/settings"
)

// EvalMembers returns the number of members that play an evaluation, each as many episodes as any other member.
func (e *EvalSettings) EvalMembers(episodes int) int {
	return (e.EvalEnvs + max(1, episodes) - 1) / max(1, episodes)
}

// EvalDue reports whether a step, from 1, has an evaluation: its number is a multiple of EvalEvery, or below EvalEvery
// a power of two. This depends on no length of the run, so that one that goes on is as one that never ended.
func (e *EvalSettings) EvalDue(step int64) bool {
	every := int64(e.EvalEvery)
	return e.EvalEnvs > 0 && (step%every == 0 || step < every && step&(step-1) == 0)
}

// EvalDueIn is EvalDue in a program, bool[], given the number of the step and EvalEvery, i32[].
func EvalDueIn(step, every *graph.Array) *graph.Array {
	power := step.Lt(every).And(step.And(step.Sub(1)).Eq(0))
	return step.Rem(every).Eq(0).Or(power)
}

// EvalMeasures lists the names of EvalValues.
func (e *EvalSettings) EvalMeasures() []string {
	if e.EvalEnvs == 0 {
		return nil
	}
	return EvalNames()
}

// manyEpisodes is the number of episodes of a round beside which those of an evaluation are few.
const manyEpisodes = 10240

// SuggestEval suggests more evaluations than by default where a round has many episodes.
func (e *EvalSettings) SuggestEval(values settings.Values, episodes int) {
	every := max(1, min(e.EvalEvery, (manyEpisodes+episodes-1)/max(1, episodes)))
	if e.EvalEnvs > 0 && every != e.EvalEvery {
		values["eval-every"] = every
	}
}
