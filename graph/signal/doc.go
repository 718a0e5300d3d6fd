// Package signal has what jax.numpy and jax.scipy.signal have for samples of a function: convolutions, interpolation,
// differences, integrals and polynomials.
package signal
