package qd

import "xlarun/rollout/settings"

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

// Suggested returns settings for the environment that differ from the defaults.
func (c *Config) Suggested() settings.Values {
	values := c.Playing.Suggested()
	for name, value := range taskSettings[c.Env] {
		values[name] = value
	}
	return values
}
