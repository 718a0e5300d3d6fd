package study

import (
	"encoding/json"
	"math"
	"regexp"
)

// fixedAttr is the attribute of a waiting trial with its enqueued parameters. Optuna uses the same name.
const fixedAttr = "fixed_params"

// notNumbers matches what Python writes for NaN and infinities, and strings, in which these words may occur.
var notNumbers = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|-?Infinity|NaN`)

// fixedOf returns the enqueued parameters of a trial by name; ok is false if they cannot be read.
func fixedOf(f *FrozenTrial) (fixed map[string]any, ok bool) {
	text, found := f.SystemAttrs[fixedAttr]
	if !found {
		return nil, true
	}
	type none struct {
		Number string `json:"xlarun:number"`
	}
	readable := notNumbers.ReplaceAllFunc(text, func(part []byte) []byte {
		if part[0] == '"' {
			return part
		}
		part, _ = json.Marshal(none{string(part)})
		return part
	})
	all := map[string]json.RawMessage{}
	if json.Unmarshal(readable, &all) != nil {
		return nil, false
	}
	fixed = map[string]any{}
	for name, text := range all {
		var n none
		var value any
		if json.Unmarshal(text, &n) == nil && n.Number != "" {
			value = map[string]float64{"NaN": math.NaN(), "Infinity": math.Inf(1), "-Infinity": math.Inf(-1)}[n.Number]
		} else if json.Unmarshal(text, &value) != nil {
			return nil, false
		}
		fixed[name] = value
	}
	return fixed, true
}
