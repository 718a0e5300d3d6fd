package envs

import (
	"fmt"
	"math"
	"strings"

	"xlarun/graph"
	"xlarun/graph/random"
)

// Space is a set of observations or actions: Discrete, MultiDiscrete (of actions) or Box.
type Space interface {
	// Shape of one element.
	Shape() graph.Shape
	// Contains reports whether x, an array of Shape, is in the space: a bool scalar.
	Contains(x *graph.Array) *graph.Array
	// Sample draws an element uniformly.
	Sample(key random.Key) *graph.Array
	// FlatDim returns the number of a policy's outputs for actions of the space: one for each choice, or for each
	// element of a Box. It is gymnasium.spaces.flatdim.
	FlatDim() int
	// String is the notation of Gymnasium: "Discrete(2)", "Box(-1, 1, [1], f32)".
	String() string
}

// Discrete is the int32 scalars 0 … N-1.
type Discrete struct{ N int }

// Shape is i32[].
func (d Discrete) Shape() graph.Shape { return graph.ShapeOf(graph.Int32) }

// Contains reports whether 0 <= x < N.
func (d Discrete) Contains(x *graph.Array) *graph.Array {
	return x.Ge(0).And(x.Lt(d.N))
}

// Sample draws one of the N numbers, the same as gymnax draws from key.
func (d Discrete) Sample(key random.Key) *graph.Array {
	return random.Randint(key, d.Shape(), 0, d.N)
}

// FlatDim is N.
func (d Discrete) FlatDim() int { return d.N }

// String is "Discrete(N)".
func (d Discrete) String() string { return fmt.Sprintf("Discrete(%d)", d.N) }

// Box is the arrays of DType and Dims between Low and High, bounds included. Low and High have one number for every
// element, row-major, or a single one for all.
type Box struct {
	Low, High []float64
	Dims      []int
	DType     graph.DType
	// ChannelsFirst is true if the three axes of a picture are channels, height and width; by default they are height,
	// width and channels.
	ChannelsFirst bool
	// MostlyZeros is true if few elements are not 0, such as in pictures with a channel for each kind of object.
	// Policies may skip the zeros; this does not change their outputs.
	MostlyZeros bool
	// Layout says where the elements of an observation lie; nil: nowhere in particular.
	Layout *Layout
}

// Unbounded is the bound of elements that have none, as in gymnax: the largest float32.
const Unbounded = math.MaxFloat32

// Shape is DType and Dims.
func (b Box) Shape() graph.Shape { return graph.ShapeOf(b.DType, b.Dims...) }

// FlatDim is the number of elements.
func (b Box) FlatDim() int { return b.Shape().Size() }

// Contains reports whether every element is within its bounds.
func (b Box) Contains(x *graph.Array) *graph.Array {
	if b.DType == graph.Bool {
		x = x.Convert(graph.Int32)
	}
	low, high := b.bounds()
	return x.Ge(low).And(x.Le(high)).All()
}

// Sample draws every element uniformly between its bounds; floats are equal to gymnax's for the same key. Errors: an
// unbounded element, an integer element with a bound outside int32.
func (b Box) Sample(key random.Key) *graph.Array {
	low, high := b.bounds()
	for i := range b.Low {
		if b.Low[i] <= -Unbounded || b.High[i] >= Unbounded {
			refuse("Sample", "%s is unbounded: draw it from a distribution of your own", b)
		}
	}
	if b.DType.IsFloat() {
		return random.Uniform(key, b.Shape(), low, high)
	}
	for i := range b.Low {
		if b.Low[i] < math.MinInt32 || b.High[i] >= math.MaxInt32 {
			refuse("Sample", "%s has bounds outside int32: draw it from a distribution of your own", b)
		}
	}
	low, high = low.Convert(graph.Int32), high.Convert(graph.Int32)
	return random.Randint(key, graph.ShapeOf(graph.Int32, b.Dims...), low, high.Add(1)).Convert(b.DType)
}

// bounds are Low and High as arrays that broadcast to Shape; of bools, as int32.
func (b Box) bounds() (low, high *graph.Array) {
	if err := b.Check(); err != nil {
		refuse("Box", "%s", err)
	}
	dtype := b.DType
	if dtype == graph.Bool {
		dtype = graph.Int32
	}
	array := func(v []float64) *graph.Array {
		a := graph.Of(v).Convert(dtype)
		if len(v) == 1 {
			return a.Index(0)
		}
		return a.Reshape(b.Dims...)
	}
	return array(b.Low), array(b.High)
}

// String is "Box(low, high, dims, dtype)"; bounds that differ between elements are listed.
func (b Box) String() string {
	bound := func(v []float64) string {
		if len(v) == 0 {
			return "none"
		}
		for _, x := range v {
			if x != v[0] {
				return fmt.Sprint(v)
			}
		}
		return fmt.Sprint(v[0])
	}
	name, _, _ := strings.Cut(graph.ShapeOf(b.DType).String(), "[")
	return fmt.Sprintf("Box(%s, %s, %v, %s)", bound(b.Low), bound(b.High), b.Dims, name)
}

// Symmetric is a float32 vector space with the bounds ±limits, one for each element.
func Symmetric(limits ...float64) Box {
	low := make([]float64, len(limits))
	for i, x := range limits {
		low[i] = -x
	}
	return Box{Low: low, High: limits, Dims: []int{len(limits)}, DType: graph.Float32}
}

// Positive is a float32 vector space with bounds from 0 to limits, one for each element.
func Positive(limits ...float64) Box {
	return Box{Low: make([]float64, len(limits)), High: limits, Dims: []int{len(limits)}, DType: graph.Float32}
}

// CheckAction begins a Step. It throws unless the action has the rank and kind of dtype of the action space. Without
// it, a policy that passes its logits would cause an error in some operation of the dynamics.
func CheckAction(s Spec, action *graph.Array) {
	if action == nil {
		Refuse(s.ID+": Step", "the action is nil, want %s", s.Action)
	}
	switch a := s.Action.(type) {
	case Discrete:
		if !action.DType().IsInt() || action.Rank() != 0 {
			Refuse(s.ID+": Step", "the action is %s, want an integer scalar of %s: use graph.ArgMax or "+
				"random.Categorical on logits", action.Shape(), a)
		}
	case MultiDiscrete:
		if !action.DType().IsInt() || action.Rank() != 1 || action.Dim(0) != len(a.N) {
			Refuse(s.ID+": Step", "the action is %s, want %d integers of %s", action.Shape(), len(a.N), a)
		}
	case Box:
		if !action.DType().IsFloat() || !a.Shape().Equal(graph.ShapeOf(a.DType, action.Dims()...)) {
			Refuse(s.ID+": Step", "the action is %s, want %s of %s", action.Shape(), a.Shape(), a)
		}
	}
}
