// Package fft has the functions of jax.numpy.fft. The op is graph.FFT, which is jax.lax.fft.
package fft
