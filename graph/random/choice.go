package random

import (
	"math"
	"math/bits"
	"slices"

	"xlarun/graph"
)

// Option changes Choice, ChoiceOf and Categorical.
type Option func(*options)

type options struct {
	dims     []int
	distinct bool
	p        *graph.Array
}

// Draws sets the dims of the draws; the default is one draw.
func Draws(dims ...int) Option { return func(o *options) { o.dims = slices.Clone(dims) } }

// WithoutReplacement makes the draws distinct.
func WithoutReplacement() Option { return func(o *options) { o.distinct = true } }

// Weights gives each candidate a probability in proportion to p, an array of one axis. They need not add up to 1, and
// their sum may be more than the dtype holds. 16-bit floats are drawn as float32. A candidate of weight 0 is never
// drawn, unless all are, or more are drawn WithoutReplacement than have weight. A negative weight or NaN counts as 0.
// If weights are +Inf, these candidates have equal probabilities and the others none.
func Weights(p *graph.Array) Option { return func(o *options) { o.p = p } }

func readOptions(op string, opts []Option) options {
	var o options
	for _, f := range opts {
		f(&o)
	}
	checkDims(op, o.dims)
	return o
}

// Choice draws from 0, 1, …, n-1, int32, of the dims that Draws asks for (default: a scalar). Without Weights all are
// equally likely.
func Choice(key Key, n int, opts ...Option) *graph.Array {
	return choose("random.Choice", key, n, opts)
}

// ChoiceOf draws slices of x along an axis. In the result the axis is replaced by the dims that Draws asks for.
func ChoiceOf(key Key, x *graph.Array, axis int, opts ...Option) *graph.Array {
	const op = "random.ChoiceOf"
	axis = checkAxis(op, x, axis)
	return graph.Take(x, choose(op, key, x.Dim(axis), opts), axis)
}

func choose(op string, key Key, n int, opts []Option) *graph.Array {
	o := readOptions(op, opts)
	checkKey(op, key)
	k := graph.Shape{Dims: o.dims}.Size()
	switch {
	case n <= 0:
		graph.Throw(op, "got %d candidates, want at least 1", n)
	case o.distinct && k > n:
		tooMany(op, k, n)
	}
	if o.p != nil {
		return chooseWeighted(op, wordsOf(op, key), n, o)
	}
	if o.distinct {
		order := shuffle(wordsOf(op, key), graph.Iota(n), 0)
		return graph.SliceAxis(order, 0, 0, k).Reshape(o.dims...)
	}
	return Randint(key, graph.ShapeOf(graph.Int32, o.dims...), 0, n)
}

func chooseWeighted(op string, w words, n int, o options) *graph.Array {
	p := o.p
	if !slices.Equal(p.Dims(), []int{n}) {
		graph.Throw(op, "the weights are %s, want one for each of the %d candidates", p.Shape(), n)
	}
	if p.DType().IsInt() || graph.ItemSize(p.DType()) < 4 {
		p = p.Convert(graph.Float32)
	}
	floatShape(op, p.Shape())
	infinite := p.Eq(math.Inf(1))
	p = liftSmall(graph.Select(infinite.Any(), infinite.Convert(p.DType()), p))
	if o.distinct {
		// The k largest of log p + Gumbel noise are k draws without replacement (Kool et al., "Stochastic beams and
		// where to find them", ICML 2019, section 2.3).
		return topDraws(op, w.gumbel(p.Shape()).Add(p.Log()), 0, o.dims)
	}
	// The running sum of a compiled program is a tree of sums: each is rounded in its own way, so that it may fall, or
	// rise where a weight is 0. Its running maximum over the candidates with weight does neither.
	has := p.Gt(0)
	enough := graph.ReduceMax(p).Gt(graph.Finfo(p.DType()).Max / float64(n)) // their sum may overflow
	p = p.Mul(graph.Select(enough, graph.FullLike(p.Index(0), math.Ldexp(1, -bits.Len(uint(n)))), 1))
	total := graph.Once(graph.CumMax(graph.Select(has, graph.CumSum(p, 0), 0), 0))
	u := w.unit(graph.ShapeOf(p.DType(), o.dims...))
	tiny := graph.Finfo(p.DType()).Tiny // a product of 0 is less than all sums
	x := total.Index(n - 1).Mul(graph.Sub(1, u)).Max(tiny)
	last := graph.ReduceMax(graph.Select(has, graph.Iota(n), 0))
	return firstAtLeast(total, x).Min(last)
}

// liftSmall replaces weights that do not count by 0 and, where all others are small, multiplies these by a power of
// two, so that the least draw is less than all sums. Many devices take subnormal numbers for 0, so that these are read
// from their bits.
func liftSmall(p *graph.Array) *graph.Array {
	f := formats[p.DType()]
	signed := graph.Int32
	if p.DType() == graph.Float64 {
		signed = graph.Int64
	}
	positive := graph.Select(p.Gt(0), p, 0)
	small := graph.ReduceMax(positive).Lt(math.Ldexp(f.Tiny, f.NMant))
	subnormal := graph.Bitcast(p, signed).Max(0).Convert(p.DType()).Mul(f.Eps)
	lifted := graph.Select(p.Abs().Lt(f.Tiny), subnormal, positive.Mul(1/f.Tiny))
	return graph.Select(small, lifted, positive)
}

// linearSearch is the number of thresholds up to which firstAtLeast compares with each of them.
const linearSearch = 64

// firstAtLeast returns for each x the int32 index of the first element of ascending that is >= x, or the last index if
// there is none.
func firstAtLeast(ascending, x *graph.Array) *graph.Array {
	n := ascending.Dim(0)
	if n <= linearSearch {
		below := ascending.Lt(x.ExpandDims(-1))
		return below.Convert(graph.Int32).Sum(-1).Min(n - 1)
	}
	// Bisection, all x at once: before is a number of leading elements known to be less than x.
	before := graph.Zeros(graph.ShapeOf(graph.Int32, x.Dims()...))
	for step := 1 << (bits.Len(uint(n)) - 1); step > 0; step /= 2 {
		next := before.Add(step)
		inside := next.Le(n)
		less := graph.Take(ascending, next.Sub(1).Min(n-1), 0).Lt(x)
		before = graph.Select(inside.And(less), next, before)
	}
	return before.Min(n - 1)
}
