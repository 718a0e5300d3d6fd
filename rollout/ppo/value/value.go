// Package value holds the heads that estimate the value of a state from a network's last layer: one file a head. Which one a
// program has is decided when it is traced; no head puts a branch into it.
package value

import (
	"xlarun/graph"
	"xlarun/rollout/settings"
)

// Head turns the outputs of a network's last layer into an estimate of returns, and says how far it is off. What it remembers from
// one update to the next is its state, a tree. All methods but Outputs are traced and of one sample, but for Prepare, which sees a
// batch. Half precision is computed in float32; targets, old values and the state carry no gradients.
//
// An update is
//
//	after := head.Prepare(before, targets)                 // once, before the epochs
//	w, b = head.Rescale(before, after, w, b)               // so that the network estimates what it did
//	loss := head.Loss(after, out, old, target, clip)       // in each minibatch
//
// A head is a pointer to a struct of settings (see package settings), which are its own: --value.beta 0.1.
type Head interface {
	// Outputs are the numbers that the network's last layer gives: 1, or the bins.
	Outputs() int
	// Start is the state before the first update; graph.None{} where nothing is remembered.
	Start() any
	// Read is the value f32[], in the units of rewards, that out, [Outputs], stands for.
	Read(state any, out *graph.Array) *graph.Array
	// Prepare is the state after a batch of returns to estimate, f32[n]. It has the structure and shapes of state.
	Prepare(state any, targets *graph.Array) any
	// Loss is how far out, [Outputs], is from target, f32[]. old, f32[], is the value that Read gave when the sample was
	// collected; a value that went farther than clip, f32[], from it towards target, in the head's own units (what its last
	// layer is trained in), has no gradient, as in PPO. A clip that is nil, NaN, 0 or less limits nothing; a nil one needs no old.
	Loss(state any, out, old, target, clip *graph.Array) *graph.Array
	// Rescale is the last layer with the weights w, f32[in, Outputs], and b, f32[Outputs], made such that Read gives with the state
	// after what it gave before, up to rounding; w and b themselves where the state does not matter to Read.
	Rescale(before, after any, w, b *graph.Array) (*graph.Array, *graph.Array)
}

// Checked is a Head with more to check than the ranges of its settings: how they go together.
type Checked interface {
	Head
	// Check finds the first mistake, a *settings.Error whose key begins with "value.".
	Check() error
}

var registry = settings.NewRegistry[Head]("value", "value", "value head")

// Register makes a head known to Make, and so to the command line. make gives it with its default settings. A name that is taken is
// refused.
//
// Checkpoints know a head by its name and its state by the names and shapes of the leaves: who changes what a leaf means renames it,
// or registers the head under another name.
func Register(name string, make func() Head) error { return registry.Register(name, make) }

// MustRegister is Register for init functions.
func MustRegister(name string, make func() Head) { registry.MustRegister(name, make) }

// Names lists the registered heads, sorted.
func Names() []string { return registry.Names() }

// Part is the part "value" of a kind of run's settings.
func Part() settings.Part { return registry.Part() }

// Make gives the head of a name with settings of its own. Its errors are *settings.Error; that for an unknown name lists those that
// exist and suggests the nearest.
func Make(name string, own settings.Values) (Head, error) {
	h, err := registry.Choose(name, own)
	if err != nil {
		return nil, err
	}
	if c, ok := h.(Checked); ok {
		return h, c.Check()
	}
	return h, nil
}

// one is the number of a last layer that gives a single one.
func one(op string, out *graph.Array) *graph.Array {
	return graph.Index(outputs(op, out, 1), 0)
}

// outputs are the n numbers of a last layer as float32.
func outputs(op string, out *graph.Array, n int) *graph.Array {
	if out == nil || out.Rank() != 1 || out.Dim(0) != n || !out.DType().IsFloat() {
		got := "nothing"
		if out != nil {
			got = out.Shape().String()
		}
		graph.Throw(op, "got %s from the network's last layer, want %d floats of one sample: map over a batch with graph.VMap", got, n)
	}
	return graph.Convert(out, graph.Float32)
}

// constants are numbers that carry no gradient, as float32; nil stays.
func constants(x ...*graph.Array) []*graph.Array {
	for i := range x {
		if x[i] != nil {
			x[i] = graph.StopGradient(graph.Convert(x[i], graph.Float32))
		}
	}
	return x
}

// limited is value, held within clip of old, and whether there is a clip at all; both nil without one.
func limited(value, old, clip *graph.Array) (held, clips *graph.Array) {
	if clip == nil {
		return nil, nil
	}
	clips = graph.Gt(clip, 0)
	room := graph.Select(clips, clip, 1.) // whatever clip is, no gradient is NaN by it
	return graph.Add(old, graph.Clamp(graph.Neg(room), graph.Sub(value, old), room)), clips
}

// squares is half the squared error, of value or of value held near old, whichever is more.
func squares(value, old, target, clip *graph.Array) *graph.Array {
	far := graph.Square(graph.Sub(value, target))
	if held, clips := limited(value, old, clip); clips != nil {
		far = graph.Select(clips, graph.Max(far, graph.Square(graph.Sub(held, target))), far)
	}
	return graph.Mul(far, .5)
}
