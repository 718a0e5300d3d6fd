package evolve

import "xlarun/rollout/policy"

// Measures are the names of a run's metrics; those of a member that has failed are there only then.
func (c *Config) Measures() []string {
	names := []string{"best_fitness", "mean_fitness", "std_fitness", "worst_fitness", "best_ever", "mean_length", "failed", "env_steps"}
	if r, err := c.Rollout(); err == nil {
		if reporter, ok := policy.ReporterOf(r.Policy); ok {
			names = append(names, reporter.Reports()...)
		}
	}
	if c.Restarts != RestartsNone && c.Restarts != "" {
		names = append(names, "population", "restarts")
	}
	return names
}

// Measures are the names of a run's metrics.
func (c *Islands) Measures() []string {
	names := []string{"best_fitness", "best_mean", "mean_fitness", "std_fitness", "worst_fitness", "best_ever", "mean_length", "failed", "env_steps",
		"diversity", "diversity_within", "foreign", "immigrants"}
	for i := range c.curves() {
		names = append(names, curveOf(i))
	}
	return names
}
