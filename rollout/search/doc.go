// Package search is Monte Carlo tree search inside a compiled program: a search is written for one game, graph.VMap gives
// it as many as are played side by side, and all simulations are one loop.
//
// A search goes over a model, a Recurrent: what an action leads to from an embedding, with the policy's logits and the value
// there. Of is the one of a two-player envs.Game with a network; a learned model (MuZero) is one of its own. PUCT and Gumbel
// say how actions are chosen:
//
//   - PUCT, with Dirichlet noise at the root: Silver et al., "A general reinforcement learning algorithm that masters chess,
//     shogi, and Go through self-play" (2018), and Schrittwieser et al., "Mastering Atari, Go, chess and shogi by planning with a
//     learned model" (2020);
//   - Gumbel, with sequential halving at the root: Danihelka et al., "Policy improvement by planning with Gumbel" (2022).
//
// Numbers are those of mctx 0.0.71 (DeepMind): equal visits, and values to 1e-5. Different is that ties of PUCT are broken by one
// draw for the whole search instead of one for each choice, and what a choice is made of changes only when its node is
// visited, so it is made then: nodes keep where their best line of play leads, and no simulation walks down the tree.
//
// docs/search.md shows a whole program.
package search
