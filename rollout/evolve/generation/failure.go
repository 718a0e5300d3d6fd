package generation

import (
	"fmt"
	"maps"

	"xlarun/graph"
	"xlarun/rollout/episode"
	"xlarun/rollout/run"
	"xlarun/xlabridge"
)

// AllFailed is the error of a generation in which all members failed.
type AllFailed struct {
	Members int
	First   string           // the first member, and where it is
	Step    float64          // of Summary.FailedStep
	Cause   *episode.Failure // nil: not found
}

func (e *AllFailed) Error() string {
	text := fmt.Sprintf("all %d members failed, since none has a finite return; %s: ", e.Members, e.First)
	switch {
	case e.Cause != nil:
		text += e.Cause.String()
	case e.Step > 0:
		text += fmt.Sprintf("its return is not finite after step %.0f", e.Step)
	default:
		text += "the mean over its episodes is not finite"
	}
	return text + ". Mend the environment, or find the op that makes the first NaN with --jit=false"
}

// BeforeFailure returns the snapshot before a generation in which all members failed, given the one after it. Such a
// generation moves no strategy. prefix is the prefix of the search's arrays.
func BeforeFailure(s run.Snapshot, prefix string) (run.Snapshot, error) {
	before := run.Snapshot{Step: s.Step - 1, Arrays: maps.Clone(s.Arrays)}
	number, err := graph.Eval(s.Arrays[prefix+"generation"].Sub(1))
	before.Arrays[prefix+"generation"] = number
	return before, err
}

// NewAllFailed returns the error of a generation with a summary. play makes the first failed member again, from the
// snapshot before the generation, and the cause is looked for in its episodes; first is its name.
func NewAllFailed(b xlabridge.Backend, s Summary, first string, play *run.Play, before run.Snapshot) *AllFailed {
	e := &AllFailed{Members: s.Failed, First: first, Step: s.FailedStep}
	made, err := play.Again.Make(b, before, []int{s.FirstFailed})
	if err != nil {
		return e
	}
	rollout, err := play.Rollout()
	if err != nil {
		return e
	}
	if cause, ok, err := episode.FindFailure(b, rollout, made[0].Params, made[0].Key); err == nil && ok {
		e.Cause = &cause
	}
	return e
}
