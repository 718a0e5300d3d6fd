package plots

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"strconv"
	"strings"

	"xlarun/cmd/xlarun/console"
	"xlarun/graph/safetensors"
	"xlarun/rollout/run"
	"xlarun/rollout/run/runfolder"
)

// scoring says which number of a run is its score.
type scoring struct {
	metric string  // "": the judged return of the run's result
	x      string  // the axis of at
	at     float64 // where on it; 0: at the end of each run
}

// String describes the score.
func (s scoring) String() string {
	switch {
	case s.metric == "":
		return "mean return of each run's result on new episodes"
	case s.at == 0:
		return "last " + spaced(s.metric) + " of each run"
	}
	return fmt.Sprintf("%s at %s %s", spaced(s.metric), strconv.FormatFloat(s.at, 'f', -1, 64), spaced(s.x))
}

// agentSetting is the setting by which the agents of one run are told apart.
const agentSetting = "agent"

// scored is a run, or an agent of one, with its score. A score that is not finite is -Inf: it is below all others.
type scored struct {
	*savedRun
	score float64
}

// scores returns the scores of runs, and what they are. Without a metric that is the judged return of each run's
// result, of each agent if there are several, or the last eval_return where a run has none.
func scores(runs []*savedRun, s scoring) (out []scored, by scoring, err error) {
	if s.metric == "" && s.at == 0 {
		if out = judgedRuns(runs); out != nil {
			return out, s, nil
		}
	}
	if s.metric == "" {
		s.metric = run.EvalReturn
		for _, r := range runs {
			if !r.has(s.metric) {
				return nil, s, console.BadInput("%s has no judged result and no %s: give --metric, one of %s", r.dir,
					s.metric, strings.Join(r.metrics, ", "))
			}
		}
	}
	if err := check(runs, "metric", s.metric); err != nil {
		return nil, s, err
	}
	if s.at != 0 && s.x == "" {
		if s.x, err = defaultX(runs); err != nil {
			return nil, s, err
		}
	} else if err := check(runs, "x", s.x); s.x != "" && err != nil {
		return nil, s, err
	}
	for _, r := range runs {
		score, err := s.of(r)
		if err != nil {
			return nil, s, err
		}
		out = append(out, scored{r, score})
	}
	return out, s, nil
}

// of returns the score of a run by a metric.
func (s scoring) of(r *savedRun) (float64, error) {
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

// judgedRuns returns the runs with the judged returns of their results, a run of several agents as one for each agent;
// nil if a run has none.
func judgedRuns(runs []*savedRun) (all []scored) {
	for _, r := range runs {
		some := r.judged()
		if some == nil {
			return nil
		}
		all = append(all, some...)
	}
	return all
}

// judged returns a run with the judged return of its result; nil if it has none.
func (r *savedRun) judged() []scored {
	folder, err := runfolder.Read(r.dir, runfolder.Options{})
	if err != nil {
		return nil
	}
	defer func() { _ = folder.Close() }()
	if agents, ok := r.settings["agents"]; ok && agents != "1" {
		text, err := folder.ReadFile("agents.json")
		if err != nil {
			return nil
		}
		return r.agents(text)
	}
	text, err := folder.ReadFile(run.BestMember + ".safetensors")
	if err != nil {
		return nil
	}
	best, err := safetensors.New(bytes.NewReader(text), int64(len(text)))
	if err != nil {
		return nil
	}
	score, err := strconv.ParseFloat(best.Metadata()["mean_return"], 64)
	if err != nil {
		return nil
	}
	return []scored{{r, lowestIfNotFinite(score)}}
}

// agents returns each agent of a run, given agents.json; nil if they were not judged. An agent has the settings that
// agents.json lists for it.
func (r *savedRun) agents(text []byte) (all []scored) {
	var file map[string]json.RawMessage
	var returns []*float64
	if json.Unmarshal(text, &file) != nil || json.Unmarshal(file[run.EvalReturn], &returns) != nil {
		return nil
	}
	for i, x := range returns {
		one := *r
		one.settings = maps.Clone(r.settings)
		one.settings[agentSetting] = fmt.Sprint(i)
		for key, list := range file {
			name, values := strings.ReplaceAll(key, "_", "-"), []float64(nil)
			if _, ok := r.settings[name]; ok && json.Unmarshal(list, &values) == nil && len(values) == len(returns) {
				one.settings[name] = strconv.FormatFloat(values[i], 'g', 4, 64)
			}
		}
		score := math.Inf(-1)
		if x != nil {
			score = *x
		}
		all = append(all, scored{&one, score})
	}
	return all
}
