// Package linalg has the linear algebra of jax.numpy.linalg and jax.scipy.linalg: factorisations, linear systems,
// determinants, norms and functions of matrices.
//
// Functions take a matrix, or many with leading axes, float32 or float64; integers become float32. Products,
// transposes, triangles and traces of matrices are functions of package graph.
package linalg
