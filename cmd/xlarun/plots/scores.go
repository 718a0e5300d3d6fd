package plots

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"xlarun/cmd/xlarun/console"
	"xlarun/graph/safetensors"
	"xlarun/internal/quantity"
	"xlarun/rollout/episode"
	"xlarun/rollout/run"
)

// scoring says which number of a run is its score.
type scoring struct {
	metric string  // "": the return of evaluations
	x      string  // the axis of at
	at     float64 // where on it; 0: at the end of each run
}

// String describes the score.
func (s scoring) String() string {
	if s.at == 0 {
		return "last " + spaced(s.metric) + " of each run"
	}
	unit := strings.TrimSuffix(spaced(s.x), "s")
	if s.at != 1 {
		unit += "s"
	}
	return fmt.Sprintf("%s at %s %s", spaced(s.metric), strconv.FormatFloat(s.at, 'f', -1, 64), unit)
}

// agentSetting is a setting that each agent of a run gets: its number.
const agentSetting = "agent"

// scored is a run, or an agent of one, with its score. A mean that is not finite is -Inf: it is below all others.
type scored struct {
	*savedRun
	episode.EvalScore
	of string // the evaluation: ofResult, ofAgent or ofRun; "" of a metric that was asked for
}

// The evaluations that scores are of. A result was chosen among members and then evaluated once more.
const (
	ofResult = "each run's result"
	ofAgent  = "each agent's last evaluation"
	ofRun    = "each run's last evaluation"
)

// number returns the score as one number: -Inf if an episode failed. So it is below all scores without failures.
func (s scored) number() float64 {
	if s.Failed > 0 {
		return math.Inf(-1)
	}
	return s.Mean
}

// scores returns the scores of runs, and what they are.
func scores(runs []*savedRun, s scoring) (out []scored, what string, err error) {
	if s.metric == "" {
		if s.at == 0 {
			return evaluationScores(runs)
		}
		if err := evaluatedAll(runs, ""); err != nil {
			return nil, "", err
		}
		s.metric = run.EvalReturn
	}
	if err := check(runs, "metric", s.metric); err != nil {
		return nil, "", err
	}
	if s.at != 0 && s.x == "" {
		if s.x, err = defaultX(runs); err != nil {
			return nil, "", err
		}
	} else if s.x != "" {
		if err := check(runs, "x", s.x); err != nil {
			return nil, "", err
		}
	}
	for _, r := range runs {
		score, err := s.score(r)
		if err != nil {
			return nil, "", err
		}
		out = append(out, scored{r, score, ""})
	}
	return out, s.String(), nil
}

// evaluationScores returns the scores of evaluations: of each run's result, of several agents of each one's last
// evaluation. If a run has neither, all scores are of last evaluations, and that is said.
func evaluationScores(runs []*savedRun) (out []scored, what string, err error) {
	var without *savedRun
	judged := make([][]scored, len(runs))
	for i, r := range runs {
		if judged[i] = r.judged(); judged[i] == nil && without == nil {
			without = r
		}
		out = append(out, judged[i]...)
	}
	if without == nil {
		return out, described(out), nil
	}
	if err := evaluatedAll(runs, "no judged result and "); err != nil {
		return nil, "", err
	}
	out = nil
	for i, r := range runs {
		some := judged[i]
		if some == nil || some[0].of != ofAgent {
			score, err := scoring{metric: run.EvalReturn}.score(r)
			if err != nil {
				return nil, "", err
			}
			some = []scored{{r, score, ofRun}}
		}
		out = append(out, some...)
	}
	if name := without.named(run.EvalReturn); name != spaced(run.EvalReturn) { // of a kind without judged results
		return out, fmt.Sprintf("last %s of each run", name), nil
	}
	return out, fmt.Sprintf("%s (%s has no judged result)", described(out), without.dir), nil
}

// evaluatedAll returns an error if a run has no evaluations; too says what else it does not have.
func evaluatedAll(runs []*savedRun, too string) error {
	for _, r := range runs {
		if !r.has(run.EvalReturn) {
			return console.BadInput("%s has %sno %s: give --metric, one of %s", r.dir, too, run.EvalReturn,
				strings.Join(r.metrics, ", "))
		}
	}
	return nil
}

// described says which evaluations scores are of, and of how many episodes. If there are several, it names the kinds of
// the runs of each.
func described(all []scored) string {
	var evaluations []string
	for _, s := range all {
		if !slices.Contains(evaluations, s.of) {
			evaluations = append(evaluations, s.of)
		}
	}
	texts := make([]string, len(evaluations))
	for i, of := range evaluations {
		var kinds []string
		low, high := math.MaxInt, 0
		for _, s := range all {
			if s.of != of {
				continue
			}
			low, high = min(low, s.Episodes), max(high, s.Episodes)
			if !slices.Contains(kinds, s.kind) {
				kinds = append(kinds, s.kind)
			}
		}
		texts[i] = of + " on "
		if low < high {
			texts[i] += fmt.Sprintf("%d to ", low)
		}
		texts[i] += quantity.Count(high, "new episode", "new episodes")
		if len(evaluations) > 1 {
			texts[i] += " (" + strings.Join(kinds, ", ") + ")"
		}
	}
	if len(texts) == 1 {
		return "mean return of " + texts[0]
	}
	return "a mix of mean returns: of " + strings.Join(texts, "; of ")
}

// score returns the score of a run by a metric, of an evaluation with its failures.
func (s scoring) score(r *savedRun) (e episode.EvalScore, err error) {
	if e.Mean, err = s.value(r); err != nil || s.metric != run.EvalReturn {
		return e, err
	}
	for metric, count := range map[string]*int{run.EvalFailed: &e.Failed, run.EvalEpisodes: &e.Episodes} {
		if !r.has(metric) {
			continue
		}
		s.metric = metric
		x, err := s.value(r)
		if err != nil {
			return e, err
		}
		if x > 0 {
			*count = int(math.Ceil(x)) // some between two evaluations, if there are some in one
		}
	}
	return e, nil
}

// value returns a metric of a run where the score is taken.
func (s scoring) value(r *savedRun) (float64, error) {
	if s.at == 0 {
		if s.metric == r.unit {
			return r.last(), nil
		}
		values := r.columns[s.metric].values
		return lowestIfNotFinite(values[len(values)-1]), nil
	}
	xs, ys := r.points(s.x, s.metric)
	if len(xs) == 0 || s.at < xs[0] {
		return 0, console.BadInput("--at got %g, which is before the first %s of %s", s.at, s.metric, r.dir)
	}
	return lowestIfNotFinite(between(xs, ys, s.at)), nil
}

// lowestIfNotFinite returns x, or -Inf.
func lowestIfNotFinite(x float64) float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return math.Inf(-1)
	}
	return x
}

// judged returns a run with the score of its result, a run of several agents as one for each agent with that of its
// last evaluation; nil if it has none.
func (r *savedRun) judged() []scored {
	if agents, ok := r.settings["agents"]; ok && agents != "1" {
		text, err := os.ReadFile(filepath.Join(r.dir, "agents.json"))
		if err != nil {
			return nil
		}
		return r.agents(text)
	}
	best, err := safetensors.Open(filepath.Join(r.dir, run.BestMember+".safetensors"))
	if err != nil {
		return nil
	}
	defer func() { _ = best.Close() }()
	score, err := episode.SavedScore(best.Metadata())
	if err != nil {
		return nil
	}
	score.Mean = lowestIfNotFinite(score.Mean)
	return []scored{{r, score, ofResult}}
}

// agents returns each agent of a run, given agents.json; nil if they were not evaluated. An agent has the settings that
// agents.json lists for it.
func (r *savedRun) agents(text []byte) (all []scored) {
	var file map[string]json.RawMessage
	if json.Unmarshal(text, &file) != nil {
		return nil
	}
	numbers := func(key string) (list []*float64) { // null where a number is not finite
		if json.Unmarshal(file[key], &list) != nil { // another thing
			return nil
		}
		return list
	}
	returns := numbers(run.EvalReturn)
	lists := map[string][]*float64{}
	for key := range file {
		if list := numbers(key); len(list) == len(returns) {
			lists[strings.ReplaceAll(key, "_", "-")] = list
		}
	}
	count := func(name string, agent int) int {
		if list := lists[strings.ReplaceAll(name, "_", "-")]; list != nil && list[agent] != nil {
			return int(*list[agent])
		}
		return 0
	}
	for i, x := range returns {
		one := *r
		one.settings = maps.Clone(r.settings)
		one.settings[agentSetting] = fmt.Sprint(i)
		for name, list := range lists {
			if _, ok := r.settings[name]; ok && list[i] != nil {
				one.settings[name] = strconv.FormatFloat(*list[i], 'g', 4, 64)
			}
		}
		score := episode.EvalScore{Mean: math.Inf(-1), Failed: count(run.EvalFailed, i),
			Episodes: count(run.EvalEpisodes, i)}
		if x != nil {
			score.Mean = *x
		}
		all = append(all, scored{&one, score, ofAgent})
	}
	return all
}
