// Package optim turns gradients into steps: gradient transformations in the manner of optax, chained into optimisers,
// over any tree of parameters.
//
//	opt := optim.Chain(optim.ClipByGlobalNorm(0.5), optim.Adam(optim.Linear(2.5e-4, 0, 10_000)))
//	state := opt.Init(params)
//	…
//	grads := graph.Grad2(loss)(params, batch)
//	params, state = optim.Step(opt, params, grads, state)
//
// A Transform is a plain value without type parameters; what it keeps is a State, a tree like any other: it is the
// carry of a Scan, an argument and a result of a compiled function, it is mapped by VMap and stored in checkpoints.
// Everything is computed in the graph, so a step is one fused update. Numbers, defaults and the order of operations are
// optax's.
//
// Hyper-parameters (learning rates, decay rates, …) are Go numbers, which become part of the program, or scalar arrays,
// which are inputs of it: a swept value does not compile anything again, and VMap over it makes a population of
// optimisers. Learning rates may be a Schedule too. InjectHyperparams keeps such arrays in the state.
//
// Leaves that are not floats (counters, keys) pass through untouched.
package optim
