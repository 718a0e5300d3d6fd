package play

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"strings"

	"xlarun/cmd/xlarun/console"
	"xlarun/cmd/xlarun/display"
	"xlarun/internal/quantity"
	"xlarun/rollout/episode"
	"xlarun/rollout/run"
	"xlarun/rollout/settings"
	"xlarun/xlabridge"
)

// parity is what a member does on the same episodes under other dynamics of its neurons than it was trained with. Its
// parameters are genes, which mean the same to all dynamics.
type parity struct {
	Dynamics string   `json:"dynamics"` // of the member that is played
	Trained  string   `json:"trained_dynamics"`
	Mean     *float64 `json:"trained_mean_return"`
	Error    *float64 `json:"trained_standard_error"`
	// Difference is the mean over episodes of the return less that with the trained dynamics, with its standard error.
	Difference      *float64 `json:"difference"`
	DifferenceError *float64 `json:"difference_standard_error"`
	with            *episode.Member
	same            bool // each episode has the same return
}

// equalDynamics are the mechanistic dynamics that "mechanistic" stands for: those that spike as fast ones do.
var equalDynamics = map[string]string{"fast:cubalif": "mechanistic:lif:current"}

// setDynamics makes m a member with other dynamics, and returns the parity with what it was.
func (s *Saved) setDynamics(m *episode.Member, dynamics string) (*parity, error) {
	spec := s.Metadata["policy"]
	if name, _, _ := strings.Cut(spec, ":"); name != "spiking" {
		return nil, console.BadInput("--dynamics got %s, but the member's policy is %s, which has no such neurons: "+
			"leave it out, or play a member of the policy spiking", dynamics, cmp.Or(spec, "none"))
	}
	var values settings.Values
	if text := s.Metadata["policy_settings"]; text != "" {
		if err := json.Unmarshal([]byte(text), &values); err != nil {
			return nil, err
		}
	}
	trained, ok := values["dynamics"].(string)
	if !ok {
		trained = "fast"
	}
	if dynamics == "mechanistic" {
		dynamics = cmp.Or(equalDynamics[trained], "mechanistic:lif")
	}
	if dynamics == trained {
		return nil, console.BadInput("--dynamics got %s, with which the member was trained: leave it out, or give "+
			"others", dynamics)
	}
	changes := settings.Values{"dynamics": dynamics}
	for name, value := range values {
		if name != "dynamics" {
			changes[name] = value
		}
	}
	text, err := json.Marshal(changes)
	if err != nil {
		return nil, err
	}
	other := *s
	other.Metadata = maps.Clone(s.Metadata)
	other.Metadata["policy_settings"] = string(text)
	before := *m
	changed, err := episode.Restore(other.Arrays, other.Metadata)
	if err != nil {
		return nil, console.BadInput("--dynamics %s: %w", dynamics, err)
	}
	*m = *changed
	return &parity{Dynamics: dynamics, Trained: trained, with: &before}, nil
}

// compare plays the member with the dynamics that it was trained with on the episodes of an evaluation.
func (p *parity) compare(b xlabridge.Backend, m *episode.Member, e episode.EvalResult, episodes int, seed int64) error {
	with := *p.with
	rollout := *m.Rollout // with the environment, the steps and the actions of the flags
	rollout.Policy = with.Policy
	with.Rollout = &rollout
	if err := with.SetActions(m.Actions()); err != nil {
		return err
	}
	trained, err := Evaluate(b, &with, episodes, seed)
	if err != nil {
		return err
	}
	var sum, squares, n float64
	for i, r := range e.Return {
		if d := r - trained.Return[i]; !math.IsNaN(d) {
			sum, squares, n = sum+d, squares+d*d, n+1
		}
	}
	p.same = n > 0 && squares == 0
	mean := sum / n
	p.Mean, p.Error, p.Difference = run.Finite(trained.Mean), run.Finite(trained.Error), run.Finite(mean)
	p.DifferenceError = run.Finite(math.Sqrt(max(0, squares/n-mean*mean) / (n - 1)))
	return nil
}

// print writes the parity below the results of the dynamics that were played.
func (p *parity) print(out io.Writer, episodes int) {
	fmt.Fprintf(out, "dynamics     %s; trained with %s, whose mean return is %s, standard error %s, on the same %s\n",
		p.Dynamics, p.Trained, numberOf(p.Mean), numberOf(p.Error), quantity.Count(episodes, "episode", "episodes"))
	if p.same {
		fmt.Fprintln(out, "             the return is the same in each of them")
		return
	}
	fmt.Fprintf(out, "             difference %s, standard error %s\n", numberOf(p.Difference),
		numberOf(p.DifferenceError))
}

// numberOf formats a number that may be none.
func numberOf(x *float64) string {
	if x == nil {
		return "not known"
	}
	return display.Fitness(*x)
}
