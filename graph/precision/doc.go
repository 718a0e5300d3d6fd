// Package precision trains in 16-bit floats: a Policy says in which dtypes parameters are kept, layers compute and
// results leave; a LossScale keeps small gradients from vanishing in float16 (Micikevicius et al., "Mixed precision
// training", 2018). The conventions are those of jmp.
//
//	policy, err := precision.ParsePolicy("params=float32,compute=float16,output=float32")
//	scale := precision.Dynamic()
//	…
//	value, grads, finite := precision.ValueAndGrad(policy, scale, loss)(params, batch)
//	params, state = optim.StepIf(finite, opt, params, grads, state)
//	scale = scale.Adjust(finite)
//
// Parameters stay in float32 (the master weights) and are cast where they are used, inside of what is differentiated,
// so that their gradients are float32 too. Whether a step is taken is decided where the program runs.
package precision
