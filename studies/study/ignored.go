package study

import (
	"encoding/json"
	"fmt"
	"strings"
)

// IgnoredAttr is the attribute of an enqueued trial with sentences about values that it could not have.
const IgnoredAttr = "xlarun:ignored"

// Ignored returns sentences about enqueued values that the parameters do not allow: they were sampled, or left out.
func (t *Trial) Ignored() []string { return t.ignored }

func (t *Trial) ignore(sentence string) error {
	t.ignored = append(t.ignored, sentence)
	return t.frozen.SetSystem(IgnoredAttr, t.ignored)
}

// shorten returns a value as JSON, cut if it is long.
func shorten(value any) string {
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

// describe returns the allowed values in words.
func (d Distribution) describe() string {
	switch {
	case d.Kind == Categorical:
		var all []string
		for _, c := range d.Choices {
			all = append(all, shorten(c))
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
