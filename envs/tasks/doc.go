// Package tasks holds tasks of one step, on which methods of optimization and of quality-diversity search are compared:
// the action is the solution, and the reward is its score. The policy "vector" acts in them. Actions have no bounds, so
// they cannot be drawn at random, and envs/all leaves the tasks out: package rollout/qd registers them.
package tasks
