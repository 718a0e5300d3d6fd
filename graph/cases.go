package graph

import (
	"hash/fnv"
	"math"
	"math/rand/v2"
)

// Case is a sample call of an op: a function over inputs of the given shapes.
type Case struct {
	Name   string
	Inputs []Shape
	Fn     func(in []*Array) *Array
	// Domain bounds the random inputs, default [-2, 2]; integers are rounded.
	Lo, Hi float64
	// Rough marks functions that are not smooth on the domain: no finite differences.
	Rough bool
	// Tol is the forward tolerance of float32, default 1e-6 relative and absolute.
	Tol float64
}

// Input draws a concrete input of the given shape within the case's domain; integers are rounded, unsigned ones made
// positive.
func (c Case) Input(r *rand.Rand, s Shape) *Array { return c.tensor(r, s).Array() }

func (c Case) tensor(r *rand.Rand, s Shape) *Tensor {
	t := newTensor(s)
	if c.Lo == 0 && c.Hi == 0 {
		c.Lo, c.Hi = -2, 2
	}
	for i := range t.V {
		x := c.Lo + (c.Hi-c.Lo)*r.Float64()
		switch {
		case s.DType == Bool:
			t.SetB(i, r.IntN(2) == 1)
		case isFloat(s.DType):
			t.SetF(i, x)
		case isComplex(s.DType):
			t.SetC(i, complex(x, c.Lo+(c.Hi-c.Lo)*r.Float64()))
		case isUnsigned(s.DType):
			t.SetI(i, int64(math.Abs(math.Round(x))))
		default:
			t.SetI(i, int64(math.Round(x)))
		}
	}
	return t
}

// Extremes are what ExtremeInputs may put among a case's ordinary inputs, by their Kind.
var Extremes = []string{"NaN", "infinities and -0", "denormals and the largest"}

// ExtremeInputs makes inputs like those of Case.Input with a third of the elements replaced: floats by the values of
// one of Extremes, integers by the ends of their dtype. Each argument gets the values in turn, so that none is left
// out.
type ExtremeInputs struct {
	Name string // other places and numbers for each
	Kind int
	r    *rand.Rand
	next map[extremeArgument]int // the values placed so far
}

type extremeArgument struct {
	argument int
	dtype    DType
}

// Input makes the numbered argument of a case.
func (e *ExtremeInputs) Input(c Case, argument int, s Shape) *Array {
	if e.r == nil {
		h := fnv.New64a()
		_, _ = h.Write([]byte(e.Name))
		e.r, e.next = rand.New(rand.NewPCG(h.Sum64(), uint64(e.Kind))), map[extremeArgument]int{}
	}
	t := c.tensor(e.r, s)
	if len(t.V) == 0 || s.DType == Bool {
		return t.Array()
	}
	a := extremeArgument{argument, s.DType}
	values := extremeValues(s.DType, e.Kind)
	n := e.next[a]
	for i := range t.V {
		if e.r.IntN(3) == 0 {
			t.V[i] = values[n%len(values)]
			n++
		}
	}
	e.next[a] = n
	return t.Array()
}

// Complete reports whether each argument had every value, in a case of each of its dtypes.
func (e *ExtremeInputs) Complete() bool {
	for a, n := range e.next {
		if n < len(extremeValues(a.dtype, e.Kind)) {
			return false
		}
	}
	return true
}

func extremeValues(d DType, kind int) []uint64 {
	switch {
	case isComplex(d): // each value as a part, beside an ordinary one
		t := newTensor(ShapeOf(d, 1))
		var out []uint64
		for _, v := range extremeValues(Float32, kind) {
			x := math.Float64frombits(v)
			for _, z := range []complex128{complex(x, .5), complex(.5, x)} {
				t.SetC(0, z)
				out = append(out, t.V[0])
			}
		}
		return out
	case !isFloat(d):
		return []uint64{extreme(-1)(d).V[0], extreme(1)(d).V[0]}
	case kind == 0:
		return []uint64{math.Float64bits(math.NaN())}
	case kind == 1:
		return []uint64{math.Float64bits(math.Inf(1)), math.Float64bits(math.Inf(-1)),
			math.Float64bits(math.Copysign(0, -1))}
	}
	denormal := map[DType]float64{Float32: 0x1p-140, Float64: 0x1p-1060, Float16: 0x1p-20, BFloat16: 0x1p-130}[d]
	return []uint64{math.Float64bits(denormal), math.Float64bits(-denormal), math.Float64bits(Finfo(d).Max),
		math.Float64bits(-Finfo(d).Max)}
}
