// Package special has the functions of jax.scipy.special that package graph does not have itself, and what
// distributions need beside them: gamma, beta and normal probabilities, entropies, zeta functions.
//
// Arguments are arrays or Go numbers, which are promoted and broadcast as those of graph.Add. Each function states its
// largest error (see Accuracy in package graph). Erf, Lgamma, Digamma, Logistic and LogSumExp are functions of graph.
package special
