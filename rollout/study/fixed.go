package study

import (
	"encoding/json"
	"math"
	"regexp"
)

// fixedAttr of a waiting trial are the parameters that it is to have; the name is Optuna's.
const fixedAttr = "fixed_params"

// notNumbers are what Python writes for numbers that JSON has not, and texts, in which they stand for themselves.
var notNumbers = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|-?Infinity|NaN`)

// fixedOf are the parameters that a trial was enqueued with, by name; ok: they can be read, or there are none.
func fixedOf(f *FrozenTrial) (fixed map[string]any, ok bool) {
	text, has := f.SystemAttrs[fixedAttr]
	if !has {
		return nil, true
	}
	type none struct {
		Number string `json:"xlarun:number"`
	}
	legible := notNumbers.ReplaceAllFunc(text, func(part []byte) []byte {
		if part[0] == '"' {
			return part
		}
		part, _ = json.Marshal(none{string(part)})
		return part
	})
	all := map[string]json.RawMessage{}
	if json.Unmarshal(legible, &all) != nil {
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
