package graph

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

// Mistakes are reported at the user's line, also where the library finds them after the user's function has returned.
func TestErrorsNameTheUsersLine(t *testing.T) {
	x := Float32s([]float32{1, 2, 3})
	none := func(a *Array) *Array { return a }
	twice := func(a *Array) (*Array, *Array) { return a, a }
	at := func() string { // the caller's line
		_, _, line, _ := runtime.Caller(1)
		return fmt.Sprintf("where_test.go:%d: ", line)
	}
	near := func(lines int) string { // a line near the caller's
		_, _, line, _ := runtime.Caller(1)
		return fmt.Sprintf("where_test.go:%d: ", line+lines)
	}
	sumLoop, loopLine := func(a *Array) *Array {
		return Sum(While(func(c *Array) *Array { return Lt(Sum(c), 9) }, none, a))
	}, near(-1)
	second := func(_, ct *Array) *Array { return ct }
	forward, forwardLine := func(x *Array) *Array { return second(Jvp(CustomVjp(none, twice, second), x, x)) }, at()
	one := func() *Array { return Of(int32(1)) }
	oneOr, oneOrLine := func(x *Array) *Array { return Cond(Gt(x, 0), one, func() *Array { return x }) }, at()
	orOne, orOneLine := func(x *Array) *Array {
		return Switch(Convert(x, Int32), func() *Array { return x }, one)
	}, near(-1)
	two := func(a, b *Array) (*Array, *Array) { return a, b }
	escapedLine := near(6)
	escaped := func(use func(*Array) *Array) func() {
		return func() {
			kept := map[string]*Array{}
			_, err := Trace("escape", func(a *Array) *Array {
				Cond(Gt(Sum(a), 0), func() *Array {
					kept["a"] = Sin(a) // line 31
					return a
				}, func() *Array { return a })
				return use(kept["a"])
			}, x)
			panic(err)
		}
	}
	mapped, mappedLine := func(a *Array) (kept *Array) {
		VMap(func(b *Array) *Array { kept = b; return b })(a)
		return kept
	}, near(-2)
	for _, c := range []struct {
		number int
		where  string
		want   string
		f      func()
	}{
		{1, at(), `Grad: the function returns f32[3], want a float scalar`, func() { Grad(none)(x) }},
		{2, at(), `Grad2: the function returns`, func() { Grad2(func(a, b *Array) *Array { return a })(x, x) }},
		{3, at(), `ValueAndGradAux: the function returns`, func() { ValueAndGradAux(two)(x, x) }},
		{4, at(), `Jvp: leaf value is f32[3], its tangent f32[]`, func() { Jvp(none, x, Scalar(1)) }},
		{5, at(), `Linearize: leaf value`, func() { _, l := Linearize(none, x); l(Scalar(1)) }},
		{6, at(), `Vjp: leaf value`, func() { _, p := Vjp(none, x); p(Scalar(1)) }},
		{7, at(), `VMap: argument leaf [0] is a scalar`, func() { VMap(none)(Scalar(1)) }},
		{8, at(), `VMap: InAxes names 2 axes`, func() { VMap(none, InAxes(0, 1))(x) }},
		{9, near(1), `VMap: argument leaf [1] has 4 lanes`, func() {
			VMap2(func(a, b *Array) *Array { return a })(x, Iota(4))
		}},
		{10, at(), `VMap: OutAxis: axis 4`, func() { VMap(none, OutAxis(4))(x) }},
		{11, near(1), `CustomVjp: bwd returns f32[]`, func() {
			CustomVjp(none, twice, func(r, ct *Array) *Array { return Scalar(1) })(x)
		}},
		{12, near(1), `CustomJvp: value is f32[], want f32[3]`, func() {
			CustomJvp(none, func(a, t *Array) (*Array, *Array) { return a, Scalar(1) })(x)
		}},
		{13, near(1), `Spec: axis 0 of f32[3] does not divide`, func() {
			ShardMap(none, Mesh{{"d", 2}}, Spec{"d"}, Spec{"d"})(x)
		}},
		{14, at(), `Spec: [d d] names 2 axes`, func() { ShardMap(none, Mesh{{"d", 3}}, Spec{"d"}, Spec{"d", "d"})(x) }},
		{15, near(1), `MatMul: got f32[3] and i32[4]: the last axis of the first is 3, axis 0 of the second 4`, func() {
			MatMul(x, Iota(4))
		}},
		{16, at(), `Dot: got f32[3] and i32[4]`, func() { Dot(x, Iota(4)) }},
		{17, near(1), `MatMul: got f32[3] and f32[2,4,2]: the first has 3 elements, axis 1 of the second 4`, func() {
			MatMul(x, Ones(ShapeOf(Float32, 2, 4, 2)))
		}},
		{18, loopLine, `while: reverse mode does not go through While`, func() { Grad(sumLoop)(x) }},
		{19, near(1), `nextafter: it has no derivative`, func() {
			Grad(func(a *Array) *Array { return Sum(NextAfter(a, 1)) })(x)
		}},
		{20, near(1), `Scan: the body must return the carry`, func() {
			Scan(func(c, x *Array) (*Array, *Array) { return Stack([]*Array{c, c}, 0), c }, Scalar(0), x)
		}},
		{21, at(), `PSum: no axis is named`, func() { VMap(func(a *Array) *Array { return PSum(a, "k") })(x) }},
		{22, near(1), `add: shapes [[3] [7]] do not broadcast`, func() {
			Checkpoint(func(a *Array) *Array { return Add(a, Iota(7)) })(x)
		}},
		{25, forwardLine, `CustomVjp: forward mode does not go through`, func() {
			_, err := Trace("forward", forward, x)
			panic(err)
		}},
		{26, oneOrLine, `Cond: result value is f32[] in the branch for false and i32[] in the branch for true`,
			func() { VMap(oneOr)(x) }},
		{27, orOneLine, `Switch: result value is f32[] in branch 0 and i32[] in branch 1`, func() { VMap(orOne)(x) }},
		{28, near(1), `AssociativeScan: leaf value of the function's result is i32[], of its arguments f32[]`, func() {
			AssociativeScan(func(a, b *Array) *Array { return Convert(Add(a, b), Int32) }, x)
		}},
		{29, at(), `ArgMax: axis 1 of f32[2,0] is empty`, func() { ArgMax(Zeros(ShapeOf(Float32, 2, 0)), 1) }},
		{30, at(), `Reshape: got [-1 -1] for f32[3]; want -1 for one axis at most`, func() { Reshape(x, -1, -1) }},
		{31, at(), `add: 1099511627776 is no value of i32: use a wider dtype`, func() { Add(Iota(3), 1<<40) }},
		{32, at(), `Full: 8589934597 is no value of i32`, func() { Full(ShapeOf(Int32, 2), 1<<33+5) }},
		{23, escapedLine, `trace: the traced f32[3] that is made here is result 0 of the function around`,
			escaped(none)},
		{24, near(1), `sin: a traced f32[3] is used outside of the function that made it`,
			escaped(func(a *Array) *Array { return Sin(a) })},
		{33, mappedLine, `trace: the traced f32[] that is made here is result 0 of the function around`, func() {
			_, err := Trace("escape", mapped, x)
			panic(err)
		}},
		{34, near(1), `Trace: the function returns a chan int, which holds no arrays; want a *graph.Array`, func() {
			_, err := Trace("chan", func(*Array) chan int { return nil }, x)
			panic(err)
		}},
		{35, near(1), `Trace: the function returns a func(), which holds no arrays`, func() {
			_, err := Trace("func", func(*Array) func() { return func() {} }, x)
			panic(err)
		}},
		{36, near(1), `Trace: the function returns a []float32, which holds no arrays`, func() {
			_, err := Trace("numbers", func(*Array) []float32 { return []float32{1} }, x)
			panic(err)
		}},
	} {
		func() {
			defer func() {
				err, _ := recover().(*Error)
				require.NotNil(t, err, "%d", c.number)
				require.ErrorContains(t, err, c.where+c.want, "%d", c.number)
			}()
			c.f()
		}()
	}
}
