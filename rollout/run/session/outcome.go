package session

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
	"time"

	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/internal/quantity"
	"xlarun/rollout/episode"
	"xlarun/rollout/policy"
	"xlarun/rollout/run"
	"xlarun/rollout/settings"
	"xlarun/xlabridge"
)

// Outcome says how far a run came and how good its members are.
type Outcome struct {
	Step        int64              // of Kind.Unit: the last one
	EndedBy     string             // "goal", "patience", "last" (step), "rounds", "total_steps", "time" or "stopped"
	Metrics     map[string]float64 // the last value of each metric
	Best        *Member            // nil: none was evaluated; large ones of an interrupted run are in its folder only
	HallEntries []*Member          // the hall of fame, the best result first
	Folder      string             // "" for none
	Summary     []string           // lines for people; none if no round was done and the run was not at its end
	// Abandoned says that a call on a device, on the disk or of the observer had not returned. The backend is closed
	// when it does.
	Abandoned bool
	// JSON are the settings, the metrics, the best member and what the run cost; nil as Summary.
	JSON Object
}

// Member is a member of a run and its result on new episodes.
type Member struct {
	run.HallEntry // of the best member only the Candidate
	EvalResult    episode.EvalResult
	// OfChoice says that EvalResult is of the episodes by which the best member was chosen.
	OfChoice bool
	// Choice is the result of the best member, acting as it does, in those episodes. EvalResult is of others then: the
	// largest of several means is too large on average. nil: there was one member, and nothing was chosen.
	Choice *episode.EvalResult
	// Actions is how it acts: policy.Sampled or policy.Greedy, the one with the better result; "" for a policy that
	// has one way. Other is the result of the other way, on the same episodes; nil if there is none.
	Actions  string
	Other    *episode.EvalResult
	episodes random.Key // episode e of EvalResult has the key FoldIn(episodes, e)
}

// whenChosen returns the result in the episodes by which the best member was chosen, or the only one.
func (m *Member) whenChosen() episode.EvalResult {
	if m.Choice != nil {
		return *m.Choice
	}
	return m.EvalResult
}

// facts returns the result under the names that JSON and the member's file have: which episodes it is of, and how many
// of them failed.
func (m *Member) facts() []run.Fact {
	of := "new episodes"
	if m.OfChoice {
		of = "episodes of the choice"
	}
	facts := append(resultFacts("", m.EvalResult), run.Fact{Name: "episodes", Value: len(m.EvalResult.Return)},
		run.Fact{Name: "evaluated_on", Value: of})
	if m.Choice != nil {
		facts = append(facts, resultFacts("choice_", *m.Choice)...)
	}
	return facts
}

// resultFacts returns a result, with names that begin with prefix.
func resultFacts(prefix string, r episode.EvalResult) []run.Fact {
	return []run.Fact{{Name: prefix + "mean_return", Value: run.Finite(r.Mean)},
		{Name: prefix + "standard_error", Value: run.Finite(r.Error)},
		{Name: prefix + "failed_episodes", Value: r.Failed}}
}

// ways returns the ways to act in which the member was evaluated.
func (m *Member) ways() []string {
	if m.Other == nil {
		return nil
	}
	return []string{policy.Sampled, policy.Greedy}
}

// wayFacts returns how the member acts and the results of its ways; nil if it has one way.
func (m *Member) wayFacts() []run.Fact {
	if m.Other == nil {
		return nil
	}
	facts := []run.Fact{{Name: "actions", Value: m.Actions}}
	for _, way := range m.ways() {
		facts = append(facts, resultFacts(way+"_", m.withActions(way).EvalResult)...)
	}
	return facts
}

// ofBest returns facts of the best member with the names that they have in JSON.
func ofBest(facts []run.Fact) []run.Fact {
	named := slices.Clone(facts)
	for i := range named {
		named[i].Name = "best_member_" + named[i].Name
	}
	return named
}

// withActions returns the member with a way to act.
func (m *Member) withActions(actions string) *Member {
	if m.Actions == actions {
		return m
	}
	other := *m
	other.EvalResult, other.Actions, other.Other, other.Choice = *m.Other, actions, &m.EvalResult, nil
	return &other
}

// withoutParams returns the member's results; nil for nil.
func (m *Member) withoutParams() *Member {
	if m == nil {
		return nil
	}
	results := *m
	results.Params = nil
	return &results
}

// onHost returns the member with a copy of its parameters on the host.
func (m *Member) onHost() (*Member, error) {
	leaves, tree := graph.Flatten(m.Params)
	for i, a := range leaves {
		var err error
		if leaves[i], err = xlabridge.ToHost(a); err != nil {
			return nil, err
		}
	}
	copied := *m
	copied.Params = tree.Unflatten(leaves)
	return &copied, nil
}

// otherActions returns the other way to act.
func otherActions(actions string) string {
	if actions == policy.Sampled {
		return policy.Greedy
	}
	return policy.Sampled
}

// Object is a JSON object whose members keep their order. Of two members with one name the first counts.
type Object []run.Fact

// MarshalJSON writes the object.
func (o Object) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	seen := map[string]bool{}
	for _, f := range o {
		if seen[f.Name] {
			continue
		}
		seen[f.Name] = true
		name, _ := json.Marshal(f.Name) // a text: it cannot fail
		value, err := json.Marshal(f.Value)
		if err != nil {
			return nil, err
		}
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = append(append(append(b, name...), ':'), value...)
	}
	return append(b, '}'), nil
}

// outcome returns the outcome. stopped means that the run was interrupted or failed.
func (s *session) outcome(stopped bool) *Outcome {
	o := &Outcome{Step: s.last.Step, EndedBy: s.endedBy(), Metrics: s.values, Best: s.best, HallEntries: s.hall,
		Summary: s.summary(stopped)}
	if s.Folder != nil {
		o.Folder = s.Folder.Dir()
	}
	o.JSON = s.json(o)
	return o
}

// json returns the kind, the settings, the last values of all metrics under their names in metrics.jsonl, the best
// member's result, and what the run cost.
func (s *session) json(outcome *Outcome) Object {
	kind := s.Kind
	o := Object{{Name: "kind", Value: kind.Name}, {Name: kind.Unit + "s", Value: s.last.Step}}
	add := func(name string, value any) { o = append(o, run.Fact{Name: name, Value: value}) }
	set := func(name string, value any) {
		name = strings.ReplaceAll(name, "-", "_")
		if _, metric := s.values[name]; metric { // the metric keeps its name
			name = "settings." + name
		}
		add(name, value)
	}
	for _, f := range settings.Fields(s.Experiment) {
		switch {
		case slices.Contains([]string{"devices", "memory", kind.Unit + "s"}, f.Name): // requests; the results are below
		case f.Name == "pop":
			set("population", f.Value())
		default:
			set(f.Name, f.Value())
		}
	}
	for _, c := range settings.ChosenParts(s.Experiment) {
		for _, f := range settings.Fields(c.Settings) {
			if !run.InChoice(s.Experiment, c, f) {
				set(c.Name+"."+f.Name, f.Value())
			}
		}
	}
	for _, v := range s.last.Values {
		add(v.Name, run.Finite(v.Number))
	}
	for _, name := range slices.Sorted(maps.Keys(s.values)) { // metrics that are not measured in every round
		add(name, run.Finite(s.values[name]))
	}
	if b := s.best; b != nil {
		add("best_member", b.Name)
		o = append(o, ofBest(slices.Concat(b.facts(), b.wayFacts()))...)
	}
	for _, f := range s.facts {
		add(f.Name, f.Value)
	}
	if len(s.hall) > 0 {
		add("hall_of_fame_members", s.hallJSON())
	}
	add("ended_by", outcome.EndedBy)
	add("solved", s.solved())
	add("steps_per_second", run.Finite(s.stepsPerSecond()))
	add("steps_per_second_counts", kind.Work)
	add("trace_seconds", s.profile.TraceSeconds)
	add("compile_seconds", s.profile.CompileSeconds)
	add("cache", s.profile.Cache)
	add("time_to_first_"+kind.Round+"_seconds", s.firstSeconds())
	wall := time.Since(s.Start)
	add("wall_seconds", wall.Seconds())
	add("training_share", run.Finite(s.trainingShare(wall)))
	add("peak_memory_bytes", s.peak)
	add("devices", s.profile.Devices)
	add("folder", outcome.Folder)
	return slices.Concat(o, s.pace.facts(kind.Round), s.profile.Facts)
}

// firstSeconds returns the time to the end of the first round as a value for JSON: nil if there was none.
func (s *session) firstSeconds() any {
	if s.rounds == 0 {
		return nil
	}
	return s.firstEnd.Seconds()
}

// stepsPerSecond returns the speed of all rounds except the first, of the first if it is the only one, and NaN if there
// was none.
func (s *session) stepsPerSecond() float64 {
	switch {
	case s.rounds == 0:
		return math.NaN()
	case s.rounds == 1 || s.steady == 0:
		return s.work0 / s.first
	}
	return s.work1 / s.steady
}

// endedBy returns why the run is over.
func (s *session) endedBy() string {
	switch {
	case s.last.Done:
		return "goal"
	case s.last.Stalled:
		return "patience"
	case s.last.Step >= s.Job.Last:
		return "last"
	case s.endedAt != "":
		return s.endedAt
	}
	return "stopped"
}

// solved reports whether the run reached its goal and, if members are evaluated, the best one does, too, without a
// failed episode.
func (s *session) solved() bool {
	if !s.last.Done || s.best == nil {
		return s.last.Done
	}
	missed := s.best.EvalResult.Mean < s.goal // false without a goal, which is NaN
	return !missed && s.best.EvalResult.Failed == 0
}

// summary returns the outcome as lines for people.
func (s *session) summary(stopped bool) []string {
	ending := ""
	if s.ending != "" {
		ending = ": " + s.ending
	}
	unit, step := s.Kind.Unit, s.last.Step
	var text string
	switch {
	case s.rounds == 0:
		text = fmt.Sprintf("nothing was left to do: the run had ended with %s %d (%s)", unit, step, s.reason())
	case s.last.Done && !s.solved():
		text = fmt.Sprintf("reached the target in training in %s %d after %.1f s%s; on new episodes the saved "+
			"member does not reach it", unit, step, s.lastEnd.Seconds(), ending)
	case s.last.Done:
		text = fmt.Sprintf("solved in %s %d after %.1f s%s", unit, step, s.lastEnd.Seconds(), ending)
	case s.last.Stalled:
		text = fmt.Sprintf("out of patience in %s %d after %.1f s%s", unit, step, s.lastEnd.Seconds(), ending)
	case s.endedAt != "":
		text = fmt.Sprintf("stopped after %s, in %s %d%s", s.amount(), unit, step, ending)
	case stopped:
		text = fmt.Sprintf("stopped after %s %d%s", unit, step, ending)
	default:
		text = fmt.Sprintf("stopped at the last of %s%s", quantity.Count(step, unit, unit+"s"), ending)
	}
	lines := append([]string{text}, s.table...)
	if b := s.best; b != nil {
		name := memberName(b.Name)
		if s.meanAt < step {
			name += fmt.Sprintf(" of %s %d, the last one whose candidates were evaluated again", unit, s.meanAt)
		}
		line := fmt.Sprintf("the best member (%s) has a mean return of %v over %s", name, b.EvalResult,
			quantity.Count(len(b.EvalResult.Return), "new episode", "new episodes"))
		if b.Other != nil {
			line += fmt.Sprintf(" with %s actions", b.Actions)
		}
		if b.Choice != nil {
			line += fmt.Sprintf(", and had %v when it was chosen", *b.Choice)
		}
		if b.Other != nil {
			line += fmt.Sprintf("; with %s actions it has %v", otherActions(b.Actions), *b.Other)
		}
		if b.EvalResult.Failed > 0 {
			line += "; the return of a failed episode is not finite and does not count"
		}
		lines = append(lines, line)
	}
	if len(s.hall) > 0 {
		lines = append(lines, s.hallText())
	}
	if text := s.untrained(time.Since(s.Start)); text != "" {
		lines = append(lines, text)
	}
	if s.Folder != nil {
		lines = append(lines, "the run is in "+s.Folder.Dir())
	}
	return lines
}

// trainingShare returns the share of the time since the start in which rounds were computed; NaN without a round.
func (s *session) trainingShare(wall time.Duration) float64 {
	if s.rounds == 0 {
		return math.NaN()
	}
	return (s.first + s.steady) / wall.Seconds()
}

// untrained says how much of the time since the start went to other things than rounds, and to which; "" without a
// round.
func (s *session) untrained(wall time.Duration) string {
	share := s.trainingShare(wall)
	if math.IsNaN(share) {
		return ""
	}
	before := s.firstEnd.Seconds() - s.first
	text := fmt.Sprintf("%.0f %% of %.1f s without training: %.1f s until the first %s, %.1f s for members and files",
		100*(1-share), wall.Seconds(), before, s.Kind.Round, max(0, wall.Seconds()*(1-share)-before-s.waited))
	if s.awaited >= .05 {
		text += fmt.Sprintf(", of which %.1f s to compile their evaluation", s.awaited)
	}
	if s.waited >= .05 {
		text += fmt.Sprintf(", and %.1f s of waiting for the server", s.waited)
	}
	return text
}

// reason says what had ended a run that has nothing left to do.
func (s *session) reason() string {
	switch by := s.endedBy(); by {
	case "goal":
		return "it had reached its target"
	case "patience":
		return "it was out of patience"
	case "last":
		if f, ok := settings.Lookup(s.Experiment, s.Kind.Length); ok {
			return f.Name + " = " + f.Text()
		}
		return "the last one"
	default: // a time ends no run before a round
		return s.Ends.value(by)
	}
}

// amount returns how much the run had done when it reached one of Options.Ends.
func (s *session) amount() string {
	switch s.endedAt {
	case endedByRounds:
		return quantity.Count(s.round, s.Kind.Round, s.Kind.Round+"s")
	case endedByWork:
		return quantity.Count(s.totalWork, "step", "steps")
	}
	return s.Ends.After.String()
}

// profileJSON returns the content of profile.json.
func (s *session) profileJSON() (p map[string]any, err error) {
	text, err := json.Marshal(s.profile)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, &p); err != nil {
		return nil, err
	}
	p["steady_steps_per_second"] = run.Finite(s.stepsPerSecond())
	p["steps_per_second_counts"] = s.Kind.Work
	p["time_to_first_"+s.Kind.Round+"_seconds"] = s.firstSeconds()
	wall := time.Since(s.Start)
	p["wall_seconds"], p["training_share"] = wall.Seconds(), run.Finite(s.trainingShare(wall))
	p["process_peak_memory_bytes"] = s.peak
	p["backend"] = s.backend.Backend()
	if s.best != nil {
		for _, f := range ofBest(s.best.wayFacts()) {
			p[f.Name] = f.Value
		}
	}
	for _, f := range s.pace.facts(s.Kind.Round) {
		p[f.Name] = f.Value
	}
	if c, ok := s.backend.(*xlabridge.Client); ok {
		p["plugin"] = fmt.Sprintf("%s (%s)", filepath.Base(c.PluginPath()), c.Fingerprint())
		p["device_names"], _ = c.DeviceDescriptions()
	}
	for _, name := range []string{"SLURM_JOB_ID", "SLURM_RESTART_COUNT"} { // whose output tells what became of the run
		if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
			p[strings.ToLower(name)] = n
		}
	}
	return p, nil
}
