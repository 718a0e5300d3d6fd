package qd

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"xlarun/envs"
	"xlarun/graph"
	"xlarun/rollout/episode"
	"xlarun/rollout/settings"
)

// Objectives are the settings of archives that keep members by several objectives.
type Objectives struct {
	Front int    `set:"front" min:"1" max:"65536" zero:"one elite a cell" help:"most elites of a cell: its Pareto front by the environment's objectives (MOME)"`
	Names string `set:"objectives" zero:"all" wants:"names of objectives with commas between, or return" help:"objectives of --front and of --archive nsga2, with commas between; return is the mean return"`
	// Reference is a point that has to be worse than the members.
	Reference []float64 `set:"reference-point" zero:"none" wants:"a number for each objective, with commas between" help:"where hypervolumes begin: a value of each objective that all good members exceed"`
}

// names returns the names of the objectives.
func (o Objectives) names() []string {
	if o.Names == "" {
		return nil
	}
	return strings.Split(o.Names, ",")
}

// returnObjective is the objective that every environment has.
const returnObjective = "return"

// givenSetting reports whether a setting is given that only several objectives use, and which.
func (o Objectives) givenSetting() (key, value string, ok bool) {
	if o.Names != "" {
		return "objectives", o.Names, true
	}
	if len(o.Reference) > 0 {
		return "reference-point", commas(o.Reference), true
	}
	return "", "", false
}

// selectObjectives returns the objectives with the names of those that count, all of the environment if none are given.
func (o Objectives) selectObjectives(spec envs.Spec) (Objectives, error) {
	known := append(slices.Clone(spec.Objectives), returnObjective)
	if o.Names == "" {
		o.Names = strings.Join(spec.Objectives, ",")
	}
	names := o.names()
	for i, name := range names {
		if !slices.Contains(known, name) || slices.Contains(names[:i], name) {
			return o, settings.Wrong("objectives", name, "different objectives of %s, of these: %s", spec.ID,
				strings.Join(known, ", "))
		}
	}
	if o.Names == "" || o.Names == returnObjective && len(spec.Objectives) == 0 {
		return o, settings.Wrong("env", spec.ID, "an environment with several objectives, such as %s: this one has "+
			"only its return", strings.Join(scoring(), ", "))
	}
	if len(names) < 2 {
		return o, settings.Wrong("objectives", o.Names, "two or more of those of %s: %s", spec.ID,
			strings.Join(known, ", "))
	}
	if len(names) > mostObjectives {
		return o, settings.Wrong("objectives", o.Names, "at most %d: with more, hypervolumes take too long. Name some "+
			"of these: %s", mostObjectives, strings.Join(known, ", "))
	}
	for _, x := range o.Reference {
		if most := mostReference(len(names)); !(math.Abs(x) <= most) {
			return o, settings.Wrong("reference-point", x, "numbers from %g to %g: with %d objectives hypervolumes "+
				"from farther away would be infinite", -most, most, len(names))
		}
	}
	if len(o.Reference) != len(names) {
		return o, settings.Wrong("reference-point", commas(o.Reference), "%d numbers with commas between, a value of "+
			"each of %s that all good members exceed: hypervolumes begin there", len(names), strings.Join(names, ", "))
	}
	return o, nil
}

// remark says why a hypervolume is 0 although there are elites; else it is empty.
func (o Objectives) remark(hypervolume, elites float64) string {
	if hypervolume > 0 || elites == 0 {
		return ""
	}
	return fmt.Sprintf(" (no member exceeds the reference point in all objectives: --reference-point %s)",
		commas(o.Reference))
}

// mostReference returns how far from 0 a reference point of k objectives may be: hypervolumes of 2²⁴ cells together are
// finite numbers of float32.
func mostReference(k int) float64 { return math.Pow(10, float64(30/k)) }

// scoring lists the environments with several objectives.
func scoring() (ids []string) {
	for _, id := range envs.IDs() {
		_ = envs.Try(func() {
			if env, err := envs.Make(id); err == nil && len(env.Spec().Objectives) > 1 {
				ids = append(ids, id)
			}
		})
	}
	return ids
}

// values returns the objectives of a member, f32[k]; nil if there is one.
func (o Objectives) values(env envs.Environment, s episode.Summary) *graph.Array {
	var all []*graph.Array
	for _, name := range o.names() {
		if i := slices.Index(env.Spec().Objectives, name); i >= 0 {
			all = append(all, s.Objectives.Index(i))
		} else {
			all = append(all, s.Return)
		}
	}
	if all == nil {
		return nil
	}
	return graph.Stack(all, 0)
}

// reference returns the reference point, f32[k].
func (o Objectives) reference() *graph.Array {
	point := make([]float32, len(o.Reference))
	for i, x := range o.Reference {
		point[i] = float32(x)
	}
	return graph.Float32s(point)
}
