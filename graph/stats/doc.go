// Package stats has the statistics of jax.numpy: histograms and counts, covariances, quantiles, and reductions that
// leave NaN out. Sum, Mean, Variance, Std and Reduction are in package graph.
package stats
