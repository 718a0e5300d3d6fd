package value

import "xlarun/graph"

func init() { MustRegister("plain", func() Head { return &Plain{} }) }

// Plain reads the value from one output. Its loss is half the squared error, clipped as in the first implementation of
// Schulman et al., "Proximal policy optimization algorithms" (2017), and in PureJaxRL: the larger of the errors of the
// value and of the value clamped to clip around the old one.
type Plain struct{}

// Outputs returns 1.
func (*Plain) Outputs() int { return 1 }

// Start returns no state.
func (*Plain) Start() any { return graph.None{} }

// Read returns the output.
func (*Plain) Read(_ any, out *graph.Array) *graph.Array { return one("value.Plain.Read", out) }

// Prepare returns the state.
func (*Plain) Prepare(state any, _ *graph.Array) any { return state }

// Loss returns half the squared error; clip is in the units of rewards.
func (*Plain) Loss(_ any, out, old, target, clip *graph.Array) *graph.Array {
	fixed := constants(old, target, clip)
	return squaredError(one("value.Plain.Loss", out), fixed[0], fixed[1], fixed[2])
}

// Rescale returns w and b.
func (*Plain) Rescale(_, _ any, w, b *graph.Array) (*graph.Array, *graph.Array) { return w, b }
