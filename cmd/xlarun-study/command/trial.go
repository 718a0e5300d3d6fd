package command

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"xlarun/cmd/xlarun/console"
	"xlarun/internal/quantity"
	"xlarun/studies"
	"xlarun/studies/study"
)

// trialCount is "1 trial" or "12 trials".
func trialCount(n int) string { return quantity.Count(n, "trial", "trials") }

// outcomeOf says how a trial ended.
func outcomeOf(t *study.FrozenTrial) string {
	switch {
	case t.State == study.Fail:
		return strings.TrimSuffix("failed: "+console.ShortText(studies.Reason(t)), ": ")
	case len(t.Values) == 0:
		return strings.ToLower(string(t.State))
	}
	var values []string
	for _, x := range t.Values {
		values = append(values, fmt.Sprintf("%.6g", x))
	}
	return strings.ToLower(string(t.State)) + "  " + strings.Join(values, ", ")
}

// paramsText is "pop=64 strategy.sigma=0.1".
func paramsText(t *study.FrozenTrial) string {
	external := t.External()
	var all []string
	for _, name := range slices.Sorted(maps.Keys(external)) {
		if x, ok := external[name].(float64); ok {
			all = append(all, fmt.Sprintf("%s=%.4g", name, x))
			continue
		}
		all = append(all, fmt.Sprintf("%s=%v", name, external[name]))
	}
	return strings.Join(all, " ")
}
