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

// luck says of a metric that is the best of many returns that it promises too much; "" for other metrics.
func luck(metric string, value float64) string {
	if metric != "best_ever" && metric != "best_fitness" && metric != "max_return" {
		return ""
	}
	return fmt.Sprintf("expect less than %.6g on new episodes: %s is the largest of many returns, each with its luck; "+
		"xlarun study best FILE --member MEMBER.safetensors evaluates the member", value, metric)
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
