package command

import (
	"log/slog"

	"xlarun/studies"
	"xlarun/studies/study"
)

// levelOf is the level of the record of a trial that ended.
func levelOf(s study.State) slog.Level {
	if s == study.Fail {
		return slog.LevelWarn
	}
	return slog.LevelInfo
}

// trialFacts are the attributes of that record.
func trialFacts(t *study.FrozenTrial) []slog.Attr {
	facts := []slog.Attr{slog.Int64("trial", t.Number), slog.String("state", string(t.State))}
	if len(t.Values) > 0 {
		facts = append(facts, slog.Any("values", studies.Values(t.Values)))
	}
	if p := t.External(); len(p) > 0 {
		facts = append(facts, slog.Any("params", p))
	}
	if reason := studies.Reason(t); reason != "" {
		facts = append(facts, slog.String("reason", reason))
	}
	return facts
}
