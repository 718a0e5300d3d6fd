package study

import (
	"encoding/json"
	"fmt"
	"strings"
)

// IgnoredAttr of a trial that was enqueued are sentences about values that it could not have.
const IgnoredAttr = "xlarun:ignored"

// Ignored are sentences about values that were enqueued for the trial and that its parameters do not take: they were sampled, or left out.
func (t *Trial) Ignored() []string { return t.ignored }

func (t *Trial) ignore(sentence string) error {
	t.ignored = append(t.ignored, sentence)
	return t.frozen.SetSystem(IgnoredAttr, t.ignored)
}

// shown is a value as JSON has it, cut where it is long.
func shown(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	const most = 60
	if runes := []rune(string(text)); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return string(text)
}

// wants says what values a distribution has.
func (d Distribution) wants() string {
	switch {
	case d.Kind == Categorical:
		var all []string
		for _, c := range d.Choices {
			all = append(all, shown(c))
		}
		if len(all) == 1 {
			return all[0]
		}
		return "one of " + strings.Join(all, ", ")
	case d.Kind == Int && d.Step > 1:
		return fmt.Sprintf("a whole number from %d to %d in steps of %d", int64(d.Low), int64(d.High), int64(d.Step))
	case d.Kind == Int:
		return fmt.Sprintf("a whole number from %d to %d", int64(d.Low), int64(d.High))
	case d.Step > 0:
		return fmt.Sprintf("a number from %v to %v in steps of %v", d.Low, d.High, d.Step)
	}
	return fmt.Sprintf("a number from %v to %v", d.Low, d.High)
}
