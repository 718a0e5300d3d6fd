// Package precision trains in 16-bit floats, with the conventions of jmp. A Policy is the dtypes of parameters,
// computations and outputs. A LossScale keeps small gradients from vanishing in float16 (Micikevicius et al., "Mixed
// precision training", 2018).
//
//	policy, err := precision.ParsePolicy("params=float32,compute=float16,output=float32")
//	scale := precision.Dynamic()
//	…
//	value, grads, finite := precision.ValueAndGrad(policy, scale, loss)(params, batch)
//	params, state = optim.StepIf(finite, opt, params, grads, state)
//	scale = scale.Adjust(finite)
//
// On CPUs bfloat16 is faster than float32 where the processor has instructions for it (xlabridge.Client.BF16Method):
// products and convolutions have kernels then, which sum in float32 and take numbers below the least normal one for
// zero. Float16 is not faster on CPUs. Inference in int8 is nn.QuantizedDense.
//
// Parameters stay in float32 (the master weights). The differentiated function casts them, so that their gradients are
// float32 too. The program decides at run time whether it skips a step.
package precision
