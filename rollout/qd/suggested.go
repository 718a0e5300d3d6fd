package qd

import (
	"maps"

	"xlarun/rollout/settings"
)

// taskSettings are settings of the tasks of one step, whose genomes are the solutions. No episode is random, so one
// judges an elite.
var taskSettings = map[string]settings.Values{
	"Arm-v0": {"policy": "vector", "emitter.bounds": []float64{0, 1}, "qd-offset": 1.,
		"judge": 1},
	"Rastrigin-v0": {"policy": "vector:-5.12,5.12", "emitter.bounds": []float64{-5.12, 5.12}, "qd-offset": 2000.,
		"judge": 1},
	"MultiRastrigin-v0": {"policy": "vector:-2,4", "emitter.bounds": []float64{-2, 4}, "judge": 1,
		"reference-point": []float64{-2000, -2000}},
	"ZDT1-v0": {"policy": "vector", "emitter.bounds": []float64{0, 1}, "judge": 1,
		"reference-point": []float64{-1.1, -1.1}},
	"Gather-v1": {"reference-point": []float64{0, 0}},
}

// Suggested returns settings for the environment that differ from the defaults. A reference point is among them only if
// the run has all objectives of the environment. The emitter is the one that suits the archive, where genomes have
// bounds.
func (c *Config) Suggested() settings.Values {
	values := c.Playing.Suggested()
	maps.Copy(values, taskSettings[c.Env])
	if !c.hasObjectives() || c.Names != "" {
		delete(values, "reference-point")
	}
	if maker, err := archives.Choose(c.Archive, nil); err == nil && values["emitter.bounds"] != nil {
		if m, ok := maker.(EmitterSuggester); ok {
			values["emitter"] = m.Emitter()
		}
	}
	return values
}

// hasObjectives reports whether the archive keeps members by several objectives.
func (c *Config) hasObjectives() bool {
	maker, err := archives.Choose(c.Archive, nil)
	if err != nil {
		return c.Front > 0
	}
	return maker.Needs().Objectives || c.Front > 0
}
