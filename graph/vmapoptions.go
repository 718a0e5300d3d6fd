package graph

// VMapOption changes how VMap lays out its axis.
type VMapOption func(*vmapConfig)

type vmapConfig struct {
	name string
	in   []int // one per argument; nil: all 0
	at   []leafAxis
	out  int
	size int // -1: not given
	last bool
}

// Unmapped, given as an axis to InAxes, passes an argument whole to every lane.
const Unmapped = -1 << 30

// InAxes says for each argument along which axis its leaves are mapped (default 0; Unmapped: not at all). InAxesAt says
// it for single leaves.
func InAxes(axes ...int) VMapOption { return func(c *vmapConfig) { c.in = axes } }

// OutAxis says at which axis the results carry the new axis (default 0).
func OutAxis(axis int) VMapOption { return func(c *vmapConfig) { c.out = axis } }

// AxisName names the mapped axis for collectives (PSum, AllGather, AxisIndex …) inside the function.
func AxisName(name string) VMapOption { return func(c *vmapConfig) { c.name = name } }

// AxisSize gives the number of lanes, at least 0, where no argument is mapped.
func AxisSize(n int) VMapOption {
	if n < 0 {
		throw("AxisSize", "got %d lanes, want at least 0", n)
	}
	return func(c *vmapConfig) { c.size = n }
}

// BatchLast keeps the lanes on the last axis of what is computed inside, and writes small matrix products as sums of
// products of lanes: faster for narrow networks on CPUs, where lanes then fill vector registers. Results are the same
// up to the order of additions.
func BatchLast() VMapOption { return func(c *vmapConfig) { c.last = true } }
