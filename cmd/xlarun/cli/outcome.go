package cli

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"xlarun/cmd/xlarun/console"
	"xlarun/rollout/run"
	"xlarun/rollout/settings"
	"xlarun/xlabridge"
)

// jsonObject is a JSON object whose members keep their order; of two of one name the first counts.
type jsonObject []run.Fact

// MarshalJSON writes the object.
func (o jsonObject) MarshalJSON() ([]byte, error) {
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

// resultLine is the line that --json ends with: the kind, the settings that say what ran, the last values of all
// metrics, under the names that they have in metrics.jsonl, the best member's figures, and what the run cost.
func (s *session) resultLine() jsonObject {
	o := jsonObject{{Name: "kind", Value: s.Name}, {Name: s.Unit + "s", Value: s.last.Step}}
	set := func(name string, value any) {
		name = strings.ReplaceAll(name, "-", "_")
		if _, metric := s.values[name]; metric { // it has the name that it has in metrics.jsonl
			name = "settings." + name
		}
		o = append(o, run.Fact{Name: name, Value: value})
	}
	for _, f := range settings.Fields(s.Experiment) {
		name := f.Name
		if name == "pop" {
			name = "population"
		}
		switch f.Name {
		case "devices", "memory", s.Unit + "s": // what was asked for; below is what was
			continue
		}
		set(name, f.Value())
	}
	for _, c := range settings.ChosenParts(s.Experiment) {
		for _, f := range settings.Fields(c.Settings) {
			if !argued(s.Experiment, c, f) { // what stands behind the colon is there already
				set(c.Name+"."+f.Name, f.Value())
			}
		}
	}
	for _, v := range s.last.Values {
		o = append(o, run.Fact{Name: v.Name, Value: console.Number(v.Number)})
	}
	for _, name := range slices.Sorted(maps.Keys(s.values)) { // those that are not measured in every round
		o = append(o, run.Fact{Name: name, Value: console.Number(s.values[name])})
	}
	if b := s.best; b != nil {
		o = append(o, run.Fact{Name: "best_member", Value: b.Name}, run.Fact{Name: "best_member_mean_return",
			Value: console.Number(b.Judgement.Mean)},
			run.Fact{Name: "best_member_standard_error", Value: console.Number(b.Judgement.Error)},
			run.Fact{Name: "best_member_episodes", Value: len(b.Judgement.Return)})
	}
	if s.fame != nil {
		o = append(o, run.Fact{Name: "fame", Value: s.fameFacts()})
	}
	o = append(o, run.Fact{Name: "ended_by", Value: s.endedBy()})
	folder := ""
	if s.folder != nil {
		folder = s.folder.Dir()
	}
	o = append(o, run.Fact{Name: "steps_per_second", Value: console.Number(s.stepsPerSecond())},
		run.Fact{Name: "trace_seconds",
			Value: s.profile.TraceSeconds},
		run.Fact{Name: "compile_seconds", Value: s.profile.CompileSeconds},
		run.Fact{Name: "cache", Value: s.profile.Cache},
		run.Fact{Name: "time_to_first_" + s.Round + "_seconds", Value: s.firstEnd.Seconds()},
		run.Fact{Name: "wall_seconds", Value: time.Since(s.start).Seconds()},
		run.Fact{Name: "peak_memory_bytes", Value: s.peak}, run.Fact{Name: "devices", Value: s.profile.Devices},
		run.Fact{Name: "folder", Value: folder})
	o = append(o, s.pace.facts(s.Round)...)
	return append(o, s.profile.Facts...)
}

// endedBy says why the run is over: its goal is reached, it no longer gets better, it came to its last step; or it was
// stopped.
func (s *session) endedBy() string {
	switch {
	case s.last.Done:
		return "goal"
	case s.last.Stalled:
		return "patience"
	case s.last.Step >= s.Last():
		return "last"
	}
	return "stopped"
}

// summary is what the display ends with.
func (s *session) summary(stopped bool) []string {
	words := ""
	if s.ending != "" {
		words = ": " + s.ending
	}
	var text string
	switch {
	case s.rounds == 0:
		text = fmt.Sprintf("nothing was left to do: the run had ended with %s %d", s.Unit, s.last.Step)
	case s.last.Done:
		text = fmt.Sprintf("solved in %s %d after %.1f s%s", s.Unit, s.last.Step, s.lastEnd.Seconds(), words)
	case s.last.Stalled:
		text = fmt.Sprintf("out of patience in %s %d after %.1f s%s", s.Unit, s.last.Step, s.lastEnd.Seconds(), words)
	case stopped:
		text = fmt.Sprintf("stopped after %s %d%s", s.Unit, s.last.Step, words)
	default:
		text = fmt.Sprintf("stopped at the last of %d %ss%s", s.last.Step, s.Unit, words)
	}
	lines := append([]string{text}, s.table...)
	if b := s.best; b != nil {
		lines = append(lines,
			fmt.Sprintf("the best member (%s) has a mean return of %.4g ± %.2g over %d fresh episodes",
				strings.ReplaceAll(b.Name, "_", " "), b.Judgement.Mean, b.Judgement.Error, len(b.Judgement.Return)))
	}
	if text := s.fameWords(); text != "" {
		lines = append(lines, text)
	}
	if s.folder != nil {
		lines = append(lines, "the run is in "+s.folder.Dir())
	}
	return lines
}

// writeProfile writes profile.json.
func (s *session) writeProfile() error {
	text, err := json.Marshal(s.profile)
	if err != nil {
		return err
	}
	var p map[string]any
	if err := json.Unmarshal(text, &p); err != nil {
		return err
	}
	p["steady_steps_per_second"], p["time_to_first_"+s.Round+"_seconds"] = console.Number(s.stepsPerSecond()),
		s.firstEnd.Seconds()
	p["wall_seconds"], p["process_peak_memory_bytes"], p["backend"] = time.Since(s.start).Seconds(), s.peak,
		s.backend.Backend()
	for _, f := range s.pace.facts(s.Round) {
		p[f.Name] = f.Value
	}
	if c, ok := s.backend.(*xlabridge.Client); ok {
		p["plugin"] = fmt.Sprintf("%s (%s)", filepath.Base(c.PluginPath()), c.Fingerprint())
		p["device_names"], _ = c.DeviceDescriptions()
	}
	return s.folder.WriteJSON("profile.json", p)
}
