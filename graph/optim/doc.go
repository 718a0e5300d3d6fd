// Package optim turns gradients into steps: gradient transformations in the manner of optax, chained into optimizers,
// over any tree of parameters.
//
//	opt := optim.Chain(optim.ClipByGlobalNorm(0.5), optim.Adam(optim.Linear(2.5e-4, 0, 10_000)))
//	state := opt.Init(params)
//	…
//	grads := graph.Grad2(loss)(params, batch)
//	params, state = optim.Step(opt, params, grads, state)
//
// A Transform is a value without type parameters. Its State is a tree: a carry of Scan, an argument and a result of
// compiled functions; VMap maps it and checkpoints store it. Everything is computed in the graph, so a step is one
// fused update. Defaults and the order of operations equal optax's.
//
// Hyper-parameters (learning rates, decay rates, …) are Go numbers, which become constants of the program, or scalar
// arrays, which are its inputs. A sweep over an array needs no new compilation, and VMap over it makes a population of
// optimizers. Learning rates can also be a Schedule. InjectHyperparams keeps arrays in the state.
//
// Leaves that are not floats (counters, keys) pass through untouched.
package optim
