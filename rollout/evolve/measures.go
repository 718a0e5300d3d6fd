package evolve

import "xlarun/rollout/policy"

// Measures are the names of a run's metrics.
func (c *Config) Measures() []string {
	names := []string{"best_fitness", "mean_fitness", "std_fitness", "worst_fitness", "best_ever", "mean_length", "failed", "env_steps",
		"failed_generation", "failed_member", "failed_step"}
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
	return []string{"best_fitness", "best_mean", "mean_fitness", "std_fitness", "worst_fitness", "best_ever", "mean_length", "failed", "env_steps",
		"diversity", "diversity_within", "foreign", "immigrants", "failed_generation", "failed_member", "failed_step"}
}
