package graph

import (
	"math"
	"math/cmplx"
	"slices"
	"strings"
)

// Complex numbers. An op takes them if it stands in one of the lists of this file; another op refuses them before its
// shape rule sees them. Derivatives and VMap have the same rules as for real numbers: what is differentiable by a
// complex number has the same formulas. A transpose of a map that is linear over the complex numbers needs no
// conjugate, as in JAX, so that gradients come out as df/dx - i df/dy.

// complexUnary are the elementwise ops of one operand, with the reference for complex numbers.
var complexUnary = map[string]func(complex128) complex128{
	"neg": func(x complex128) complex128 { return -x },
	"exp": cmplx.Exp, "log": cmplx.Log, "sqrt": cmplx.Sqrt,
	"sin": cmplx.Sin, "cos": cmplx.Cos, "tan": cmplx.Tan, "sinh": cmplx.Sinh, "cosh": cmplx.Cosh, "tanh": cmplx.Tanh,
	"expm1": func(x complex128) complex128 {
		a, b := real(x), imag(x)
		half := math.Sin(b / 2)
		return complex(math.Expm1(a)*math.Cos(b)-2*half*half, math.Exp(a)*math.Sin(b))
	},
	"log1p": func(x complex128) complex128 {
		a, b := real(x), imag(x)
		return complex(math.Log1p(a*(2+a)+b*b)/2, math.Atan2(b, 1+a))
	},
	"rsqrt":    func(x complex128) complex128 { return 1 / cmplx.Sqrt(x) },
	"logistic": func(x complex128) complex128 { return 1 / (1 + cmplx.Exp(-x)) },
}

// complexBinary are the ops of two operands, with their values.
var complexBinary = map[string]func(x, y complex128) complex128{
	"add": func(x, y complex128) complex128 { return x + y },
	"sub": func(x, y complex128) complex128 { return x - y },
	"mul": func(x, y complex128) complex128 { return x * y },
	"div": func(x, y complex128) complex128 { return x / y },
	"pow": cmplx.Pow,
}

// complexMoves only move elements, or run bodies.
var complexMoves = []string{
	"constant", "iota", "broadcast_in_dim", "reshape", "transpose", "concatenate", "pad", "slice", "reverse",
	"dynamic_slice", "dynamic_update_slice", "gather", "select", "stop_gradient", "no_derivative", "unset",
	"optimization_barrier", "all_gather", "all_to_all", "ppermute", "scan", "while", "switch", "function",
	"checkpoint", "custom_jvp", "custom_lin", "custom_vjp", "with_kernel", "host_call", "custom_call",
}

var (
	// complexKinds are the kinds of the ops that combine or set elements. Complex numbers have no largest and no least.
	complexKinds = map[string][]string{"reduce": {"sum", "prod"}, "cumulative": {"sum", "prod"},
		"scatter": {"sum", "prod", "set"}, "preduce": {"sum"}}
	// complexDirections are the directions of compare. Complex numbers have no order.
	complexDirections = []string{"EQ", "NE"}
)

// takesComplex reports whether an op takes complex numbers, or gives them.
func takesComplex(o *Op) bool {
	return o.Complex || slices.Contains(complexMoves, o.Name) || complexKinds[o.Name] != nil || complexEval(o) != nil
}

// complexEval is an op's reference for complex numbers where it differs from Op.Eval, or nil.
func complexEval(o *Op) func(n *Node, x, out *Tensor, y ...*Tensor) {
	if f := complexUnary[o.Name]; f != nil {
		return func(_ *Node, x, out *Tensor, _ ...*Tensor) {
			for i := range out.V {
				out.SetC(i, f(x.C(i)))
			}
		}
	}
	if f := complexBinary[o.Name]; f != nil {
		return func(_ *Node, x, out *Tensor, y ...*Tensor) {
			for i := range out.V {
				out.SetC(i, f(x.C(i), y[0].C(i)))
			}
		}
	}
	switch o.Name {
	case "compare":
		return func(n *Node, x, out *Tensor, y ...*Tensor) {
			for i := range out.V {
				out.SetB(i, (x.C(i) == y[0].C(i)) == (n.Attrs.(compareAttrs).dir == "EQ"))
			}
		}
	case "dot_general":
		return func(n *Node, x, out *Tensor, y ...*Tensor) {
			n.Attrs.(dotAttrs).each(x, y[0], out, func(i int, pairs func(f func(j, k int))) {
				var sum complex128
				pairs(func(j, k int) { sum += x.C(j) * y[0].C(k) })
				out.SetC(i, sum)
			})
		}
	}
	return nil
}

// Reductions, running totals and scatters of complex numbers add and multiply.
func init() {
	for kind, name := range map[string]string{"sum": "add", "prod": "mul"} {
		plain, f := reduceKinds[kind].combine, complexBinary[name]
		reduceKinds[kind].combine = func(t *Tensor, i int, u *Tensor, j int) {
			if isComplex(t.Shape.DType) {
				t.SetC(i, f(t.C(i), u.C(j)))
			} else {
				plain(t, i, u, j)
			}
		}
	}
}

// refuseComplex throws if one of an op's inputs or results is complex and the op has no form for it.
func refuseComplex(o *Op, attrs any, shapes []Shape) {
	i := slices.IndexFunc(shapes, func(s Shape) bool { return isComplex(s.DType) })
	if i < 0 {
		return
	}
	kind := ""
	switch a := attrs.(type) {
	case reduceAttrs:
		kind = a.kind
	case cumulativeAttrs:
		kind = a.kind
	case gatherAttrs:
		kind = a.kind
	case preduceAttrs:
		kind = a.kind
	case compareAttrs:
		if !slices.Contains(complexDirections, a.dir) {
			throw(o.Name, "got %s, and complex numbers have no order: compare Real, Imag or Abs", shapes[i])
		}
	}
	if kinds := complexKinds[o.Name]; !takesComplex(o) || kinds != nil && !slices.Contains(kinds, kind) {
		throw(strings.TrimSpace(o.Name+" "+kind), "got %s, and there is no form for complex numbers: take Real, "+
			"Imag or Abs first", shapes[i])
	}
}
