// Package ppo trains an actor and a critic by proximal policy optimization (Schulman et al., 2017), and the values of
// actions by parallelized Q-learning (pqn). Rollout, advantages, epochs of minibatches and the optimizer are one
// compiled program. Environments, networks and optimizer stay on the device.
//
// Read update.go first: it is an update of one agent, from the step of an environment to the whole. The other files:
//
//   - collect.go: keys, resets, and rollouts tile by tile (tiles.go).
//   - network.go, critic.go: actor and critic, made by any policy.Maker. The leaves that are larger in a policy with
//     more outputs are the last layer: from it the saved actor is cut, orthogonal layers get their scales, and PopArt
//     rescales it.
//   - minibatches.go: the rows that an epoch shuffles: transitions, blocks or whole sequences. Package train takes the
//     steps of the optimizer.
//   - algorithm.go: the differences between ppo and pqn. Another algorithm is a pair of files like pqn.go, its loss and
//     its actions, and pqn_config.go, its settings and registration.
//   - shards.go: one agent's work is cut over the devices by its config alone, so results are the same to the byte on
//     any number of devices. Several agents are a vmap around the update (agents.go).
//   - state.go, normalize.go: the state between updates. The names of its leaves are a file format.
//
// The distribution over actions is a policy.Stochastic. Transitions store what it draws instead of the action, so that
// no digits are lost in the inverse of tanh.
package ppo
