package episode

import (
	"cmp"
	"fmt"
	"math"
	"strconv"

	"xlarun/internal/quantity"
)

// EvalScore is what an evaluation finds, how good a member is on new episodes: an EvalResult without its episodes.
type EvalScore struct {
	Mean, Error      float64 // see EvalResult
	Failed, Episodes int     // Episodes with those that failed
}

// String returns the mean return with its standard error, if that is known, and the failures: "9.2 ± 0.4",
// "9.2 ± 0.4 (3 of 100 episodes failed)".
func (s EvalScore) String() string {
	text, spread := quantity.Mean(s.Mean, s.Error)
	if !math.IsNaN(s.Error) {
		text += " ± " + spread
	}
	if s.Failed > 0 {
		text += fmt.Sprintf(" (%d of %s failed)", s.Failed, quantity.Count(s.Episodes, "episode", "episodes"))
	}
	return text
}

// Compare returns -1 if s is the better score, 1 if other is, and 0 if they are equal. A score with fewer failures is
// better, so one without any is above all others. Of as many failures, that with the larger mean is better.
func (s EvalScore) Compare(other EvalScore) int {
	return cmp.Or(cmp.Compare(s.Failed, other.Failed), cmp.Compare(other.Mean, s.Mean))
}

// Passes reports whether the score passes a target: its mean less its standard error is at least that, so that a little
// luck does not pass. Where no error is known, of one episode, the mean is at least that. No score with failures
// passes, nor does any pass NaN.
func (s EvalScore) Passes(target float64) bool {
	least := s.Mean
	if !math.IsNaN(s.Error) {
		least -= s.Error
	}
	return s.Failed == 0 && least >= target && !math.IsInf(least, 0)
}

// SavedScore reads the score of an evaluated member from the metadata of its file. The mean is -Inf if all episodes
// failed. Errors: the member was not evaluated.
func SavedScore(metadata map[string]string) (s EvalScore, err error) {
	for key, count := range map[string]*int{"episodes": &s.Episodes, "failed_episodes": &s.Failed} {
		if *count, err = strconv.Atoi(metadata[key]); err != nil {
			return s, fmt.Errorf("the member was not evaluated: its %q is %q, want a number", key, metadata[key])
		}
	}
	number := func(key string, unknown float64) float64 {
		if x, err := strconv.ParseFloat(metadata[key], 64); err == nil {
			return x
		}
		return unknown
	}
	s.Mean, s.Error = number("mean_return", math.Inf(-1)), number("standard_error", math.NaN())
	return s, nil
}
