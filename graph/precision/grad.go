package precision

import "xlarun/graph"

// ValueAndGrad differentiates a loss under a policy and a loss scale: parameters and batch are cast to the compute
// dtype, the loss to the output dtype. It gives the loss, the gradients in the dtypes of the parameters, unscaled, and
// whether all of them are finite (a bool scalar).
func ValueAndGrad[P, B any](policy Policy, scale LossScale, loss func(P, B) *graph.Array) func(P,
	B) (value *graph.Array, grads P, finite *graph.Array) {
	return func(params P, batch B) (*graph.Array, P, *graph.Array) {
		batch = CastToCompute(policy, batch)
		_, value, grads := graph.ValueAndGradAux(func(p P, b B) (*graph.Array, *graph.Array) {
			l := CastToOutput(policy, loss(CastToCompute(policy, p), b))
			return scale.Scale(l), l
		})(params, batch)
		grads = Unscale(scale, grads)
		return value, grads, AllFinite(grads)
	}
}
