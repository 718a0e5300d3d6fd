// Package search is Monte Carlo tree search inside a compiled program. A search is written for one game; graph.VMap
// maps it over many games; all simulations are one loop.
//
// A search needs a model, a Recurrent: it returns the next embedding for an action, with its prior logits and value.
// NewModel makes one from an environment and a network; a learned model (MuZero) is a function of your own. Policies
// select actions:
//
//   - PUCT, with Dirichlet noise at the root: Silver et al., "A general reinforcement learning algorithm that masters
//     chess, shogi, and Go through self-play" (2018); Schrittwieser et al., "Mastering Atari, Go, chess and shogi by
//     planning with a learned model" (2020);
//   - PUCT where chance decides after each action (RunStochastic): Antonoglou et al., "Planning in stochastic
//     environments with a learned model" (2022);
//   - Gumbel, with sequential halving at the root: Danihelka et al., "Policy improvement by planning with Gumbel"
//     (2022).
//
// Results equal those of mctx 0.0.71 (DeepMind): equal visits, and values to 1e-5. There are two differences. Ties of
// PUCT are broken by one draw for the whole search instead of one for each choice. And no simulation walks down the
// tree: the best action of a node changes only when the node is visited, so backward selects it then, and each node
// stores where its best line of play ends.
//
// docs/explanation/search.md shows a whole program.
package search
