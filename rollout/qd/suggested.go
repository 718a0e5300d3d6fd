package qd

import (
	"maps"
	"slices"

	"xlarun/envs"
	"xlarun/rollout/settings"
)

// taskSettings are settings of the tasks of one step, whose genomes are the solutions. No episode is random, so one
// judges an elite.
var taskSettings = map[string]settings.Values{
	"Arm-v0": {"policy": "vector", "emitter.bounds": []float64{0, 1}, "qd-offset": 1.,
		"eval-episodes": 1},
	"Rastrigin-v0": {"policy": "vector:-5.12,5.12", "emitter.bounds": []float64{-5.12, 5.12}, "qd-offset": 2000.,
		"eval-episodes": 1},
	"MultiRastrigin-v0": {"policy": "vector:-2,4", "emitter.bounds": []float64{-2, 4}, "eval-episodes": 1,
		"reference-point": []float64{-2000, -2000}},
	"ZDT1-v0": {"policy": "vector", "emitter.bounds": []float64{0, 1}, "eval-episodes": 1,
		"reference-point": []float64{-1.1, -1.1}},
	"Gather-v1": {"reference-point": []float64{0, 0}},
}

// Suggested returns settings for the environment that differ from the defaults. A reference point is among them if all
// objectives of the run are the environment's. The emitter is the one that suits the archive, where genomes have
// bounds.
func (c *Config) Suggested() settings.Values {
	values := c.EpisodeSettings.Suggested()
	c.SuggestEval(values, c.Batch*c.Episodes)
	maps.Copy(values, taskSettings[c.Env])
	if values["eval-episodes"] == 1 {
		values["eval-envs"] = 1
	}
	if point, ok := values["reference-point"].([]float64); ok {
		delete(values, "reference-point")
		if point = c.referenceOf(point); point != nil {
			values["reference-point"] = point
		}
	}
	if maker, err := archives.Choose(c.Archive, nil); err == nil && values["emitter.bounds"] != nil {
		if emitter := maker.Needs().Emitter; emitter != "" {
			values["emitter"] = emitter
		}
	}
	return values
}

// referenceOf returns the numbers of a reference point of all objectives of the environment that belong to the run's.
// It returns nil if the run has no objectives, or one that is not the environment's.
func (c *Config) referenceOf(all []float64) (point []float64) {
	if !c.hasObjectives() {
		return nil
	}
	names := c.names()
	if len(names) == 0 {
		return all
	}
	env, err := envs.Make(c.Env)
	if err != nil {
		return nil
	}
	for _, name := range names {
		i := slices.Index(env.Spec().Objectives, name)
		if i < 0 || i >= len(all) {
			return nil
		}
		point = append(point, all[i])
	}
	return point
}

// hasObjectives reports whether the archive keeps members by several objectives.
func (c *Config) hasObjectives() bool {
	maker, err := archives.Choose(c.Archive, nil)
	if err != nil {
		return c.Front > 0
	}
	return maker.Needs().Objectives || c.Front > 0
}
