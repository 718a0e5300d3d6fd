// Package ppo trains an actor and a critic by proximal policy optimization (Schulman et al., 2017), and the values of
// actions by parallelised Q-learning (pqn). Rollout, advantages, epochs of minibatches and the optimiser are one
// compiled program. Environments, networks and optimiser stay on the device.
//
// Read update.go first: it is an update of one agent, from the step of an environment to the whole, with the functions
// of PureJaxRL's ppo.py. Around it:
//
//   - collect.go: keys, resets, and how a rollout is played tile by tile (tiles.go).
//   - network.go, critic.go: actor and critic, made of any policy.Maker. A policy with more outputs shows which leaves
//     are the layer of outputs: so a shared network can be cut to the actor that is saved, orthogonal layers get their
//     scales, and PopArt finds its layer.
//   - minibatches.go: transitions, blocks or whole sequences as the rows that an epoch shuffles. Package train takes
//     the steps of the optimiser.
//   - algorithm.go: what differs between ppo and pqn. Another algorithm is another file like pqn.go, with its settings,
//     its methods and its registration.
//   - shards.go: the work of one agent is cut over the devices by its config alone, so results are the same to the byte
//     on any number of devices. Several agents are a vmap around the update (agents.go).
//   - state.go, normalize.go: what an update hands to the next. The names of its leaves are a file format.
//
// The distribution over actions is a policy.Stochastic. What it draws is kept, not the action, so that no digits are
// lost in the inverse of tanh.
package ppo
