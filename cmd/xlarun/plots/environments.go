package plots

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"xlarun/cmd/xlarun/console"
	"xlarun/envs"
	"xlarun/internal/quantity"
	"xlarun/rollout/aggregate"
	"xlarun/rollout/settings"
)

// reference has the scores of an environment that are normalized to 0 and to 1.
type reference struct{ random, target float64 }

func (r reference) of(score float64) float64 { return (score - r.random) / (r.target - r.random) }

// referencesOf returns the references of the environments, or none.
func (o compareOptions) referencesOf(environments []string) (map[string]reference, error) {
	all := map[string]reference{}
	for _, text := range o.references {
		wrong := func(wants string, args ...any) error {
			return console.BadInput("--reference got %q, wants %s", text, fmt.Sprintf(wants, args...))
		}
		name, scores, _ := strings.Cut(text, "=")
		random, target, two := strings.Cut(scores, "..")
		var r reference
		var err error
		if r.random, err = strconv.ParseFloat(random, 64); err == nil && two {
			r.target, err = strconv.ParseFloat(target, 64)
		}
		if err != nil {
			return nil, wrong("an environment and two scores, such as CartPole-v1=22..475")
		}
		if !slices.Contains(environments, name) {
			return nil, wrong("an environment of the runs: %s", strings.Join(environments, ", "))
		}
		if _, twice := all[name]; twice {
			return nil, wrong("one --reference of each environment: %s has another one", name)
		}
		if env, err := envs.Make(name); err == nil && !two {
			r.target = env.Spec().RewardThreshold
		}
		if !two && (r.target == 0 || math.IsNaN(r.target)) {
			return nil, wrong("%s=%s..TARGET: the environment names no target", name, random)
		}
		if d := r.target - r.random; !(d > 0) || math.IsInf(d, 0) { // below, it would reverse the order
			return nil, wrong("a target above the score of random actions, both finite")
		}
		all[name] = r
	}
	for _, name := range environments {
		if _, ok := all[name]; !ok && len(all) > 0 {
			return nil, console.BadInput("--reference is missing for %s: give one of each environment, "+
				"%s=RANDOM..TARGET", name, name)
		}
	}
	return all, nil
}

// isEnvironment reports whether a setting is of the environment, and usually another in each.
func isEnvironment(name string) bool {
	return slices.Contains([]string{"env", "game", "vertices", "k", "variant", "data", "steps"}, name) ||
		strings.HasPrefix(name, settings.EnvParam) || strings.HasPrefix(name, "validation-")
}

// nameAlike names the algorithms by the settings in which any two of them differ, in one environment or in two: two
// algorithms never have one name. Lengths and settings of the environment count only if they separate algorithms in one
// environment.
func nameAlike(each []*comparison) error {
	var runs []*savedRun
	for _, c := range each {
		for _, a := range c.algorithms {
			runs = append(runs, a.first)
		}
	}
	names := map[string]bool{}
	for _, r := range runs {
		for name := range r.settings {
			isLength := func(r *savedRun) bool { return r.isLength(name) }
			names[name] = !slices.Contains(incidental, name) && !isEnvironment(name) &&
				!slices.ContainsFunc(runs, isLength)
		}
	}
	by := func() []string {
		return slices.DeleteFunc(slices.Sorted(maps.Keys(names)), func(name string) bool { return !names[name] })
	}
	alike := func(a, b *savedRun, by []string) bool { return a.kind == b.kind && words(a, by) == words(b, by) }
	ordinary := by()
	for _, c := range each {
		for i, a := range c.algorithms {
			for _, b := range c.algorithms[:i] {
				if alike(a.first, b.first, ordinary) {
					for _, name := range a.first.otherSettings(b.first) {
						names[name] = names[name] || !slices.Contains(incidental, name)
					}
				}
			}
		}
	}
	all := by()
	found, _, err := groups(runs, all)
	if err != nil {
		return err
	}
	for _, c := range each {
		for i := range c.algorithms {
			a := &c.algorithms[i]
			g := slices.IndexFunc(found, func(g group) bool { return alike(g.runs[0], a.first, all) })
			a.name = cmp.Or(found[g].label, a.first.kind)
			a.over = a.name
		}
	}
	return nil
}

// overEnvironments compares the algorithms that have runs in all environments: each[i] is the comparison in one. It
// returns nil of one environment without a reference.
func (o compareOptions) overEnvironments(each []*comparison) (*comparison, error) {
	var names []string
	found := map[string][]algorithm{} // in each environment
	for _, c := range each {
		names = append(names, c.environment)
		for _, a := range c.algorithms {
			found[a.over] = append(found[a.over], a)
		}
	}
	references, err := o.referencesOf(names)
	if err != nil || len(each) == 1 && len(references) == 0 {
		return nil, err
	}
	c := &comparison{environment: quantity.Count(len(each), "environment", "environments"),
		score:     "normalized scores, 0 of random actions and 1 of the target",
		onlyRanks: len(references) == 0}
	if c.onlyRanks {
		c.score = "no --reference normalizes the scores"
	}
	for _, name := range slices.Sorted(maps.Keys(found)) {
		of := found[name]
		if len(of) < len(each) {
			c.leftOut = append(c.leftOut, fmt.Sprintf("%s has runs in %d of %d environments and is not compared over "+
				"all; --by names the settings that make an algorithm", name, len(of), len(each)))
			continue
		}
		runs := math.MaxInt
		for _, a := range of {
			runs = min(runs, len(a.scores))
		}
		for task, a := range of {
			if len(a.scores) > runs {
				c.leftOut = append(c.leftOut, fmt.Sprintf("%s has %d runs in %s: over all environments the first %d "+
					"count, as many as in each", name, len(a.scores), names[task], runs))
			}
		}
		all := algorithm{name: name, scores: make(aggregate.Scores, runs), ranks: make(aggregate.Scores, runs)}
		for run := range runs {
			for task, a := range of {
				rank := a.ranks[run][0]
				score := rank // orders the algorithms
				if !c.onlyRanks {
					score = references[names[task]].of(a.scores[run][0])
				}
				if a.failed[run] > 0 {
					all.failing++
				}
				all.runs, all.failed = append(all.runs, a.runs[run]), append(all.failed, a.failed[run])
				all.scores[run], all.ranks[run] = append(all.scores[run], score), append(all.ranks[run], rank)
			}
		}
		c.algorithms = append(c.algorithms, all)
	}
	if len(c.algorithms) == 0 {
		return c, nil
	}
	return c, c.estimate()
}
