// Package value holds the heads that read the value of a state from the outputs of a network, one file a head. The head
// of a program is chosen when it is traced: no head puts a branch into it.
package value

import (
	"xlarun/graph"
	"xlarun/rollout/settings"
)

// Head turns the outputs of a network's last layer into an estimate of returns, and has the loss of that estimate. Its
// state is a tree that it hands from one update to the next. All methods except Outputs are traced. They take one
// sample; Prepare takes a batch. Outputs of half precision are converted to float32. Targets, old values and the state
// carry no gradients.
//
// An update is
//
//	after := head.Prepare(before, targets)                 // once, before the epochs
//	w, b = head.Rescale(before, after, w, b)               // so that the values stay the same
//	loss := head.Loss(after, out, old, target, clip)       // in each minibatch
//
// A head is a pointer to a struct of its own settings (see package settings): --value.beta 0.1.
type Head interface {
	// Outputs returns the number of outputs of the network's last layer: 1, or the number of bins.
	Outputs() int
	// Start returns the state before the first update; graph.None{} if there is none.
	Start() any
	// Read returns the value, f32[], in the units of scaled rewards, given the outputs out, [Outputs].
	Read(state any, out *graph.Array) *graph.Array
	// Prepare returns the state after a batch of targets, f32[n]. It has the structure and shapes of state.
	Prepare(state any, targets *graph.Array) any
	// Loss returns the loss, f32[], of the outputs out, [Outputs], for a target, f32[]. old, f32[], is the value that
	// Read returned when the sample was collected. A value that is already farther than clip, f32[], from old in the
	// direction of target has no gradient, as in PPO. clip is in the units in which the last layer is trained. A clip
	// that is nil, NaN, 0 or less limits nothing; with nil, old is not read.
	Loss(state any, out, old, target, clip *graph.Array) *graph.Array
	// Rescale returns the last layer, w f32[in, Outputs] and b f32[Outputs], changed such that Read with the state
	// after returns what it returned with the state before, up to rounding. It returns w and b if Read does not depend
	// on the state.
	Rescale(before, after any, w, b *graph.Array) (*graph.Array, *graph.Array)
}

var registry = settings.NewRegistry[Head]("value", "value", "value head")

// MustRegister makes a head known to Make, and so to the command line. create returns it with its default settings. It
// panics if the name is taken.
//
// Checkpoints know a head by its name, and its state by the names and shapes of the leaves. If the meaning of a leaf
// changes, rename the leaf or register the head under another name.
func MustRegister(name string, create func() Head) { registry.MustRegister(name, create) }

// Names lists the registered heads, sorted.
func Names() []string { return registry.Names() }

// Part is the part "value" of a kind of run's settings.
func Part() settings.Part { return registry.Part() }

// Make returns a head by its name, with settings of its own. Its errors are *settings.Error. The error for an unknown
// name lists the names that exist and suggests the nearest.
func Make(name string, values settings.Values) (Head, error) {
	return registry.Choose(name, values)
}

// one returns the output of a last layer with a single output.
func one(op string, out *graph.Array) *graph.Array {
	return outputs(op, out, 1).Index(0)
}

// outputs returns the n outputs of a last layer as float32.
func outputs(op string, out *graph.Array, n int) *graph.Array {
	if out == nil || out.Rank() != 1 || out.Dim(0) != n || !out.DType().IsFloat() {
		got := "nothing"
		if out != nil {
			got = out.Shape().String()
		}
		graph.Throw(op, "got %s from the network's last layer, want %d floats of one sample: map over a batch with "+
			"graph.VMap", got, n)
	}
	return out.Convert(graph.Float32)
}

// constants returns arrays as float32 without gradients; nil stays nil.
func constants(x ...*graph.Array) []*graph.Array {
	for i := range x {
		if x[i] != nil {
			x[i] = graph.StopGradient(x[i].Convert(graph.Float32))
		}
	}
	return x
}

// clipValue returns value, clamped to clip around old, and whether clip limits anything. Both are nil if clip is nil.
func clipValue(value, old, clip *graph.Array) (clipped, clips *graph.Array) {
	if clip == nil {
		return nil, nil
	}
	clips = clip.Gt(0)
	limit := graph.Select(clips, clip, 1.) // so that no clip makes a gradient NaN
	return old.Add(graph.Clamp(limit.Neg(), value.Sub(old), limit)), clips
}

// squaredError returns half the squared error of value, or of the clipped value if that is larger.
func squaredError(value, old, target, clip *graph.Array) *graph.Array {
	squared := value.Sub(target).Square()
	if clipped, clips := clipValue(value, old, clip); clips != nil {
		squared = graph.Select(clips, squared.Max(clipped.Sub(target).Square()), squared)
	}
	return squared.Mul(.5)
}
