package stablehlo_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/graph/stablehlo"
	"xlarun/internal/long"
	"xlarun/third_party/oracles"
	"xlarun/xlabridge"
	"xlarun/xlabridge/xlatest"
)

// exported is a function that JAX exported, with what JAX computes.
type exported struct {
	Name, Text                 string
	Bytecode                   []byte
	Inputs, Outputs, Gradients []oracles.Array
}

func cases(t testing.TB) []exported {
	t.Helper()
	var file struct{ Cases []exported }
	require.NoError(t, oracles.Read("testdata/jax_export.json.gz", &file))
	require.Len(t, file.Cases, 28)
	return file.Cases
}

// array is an oracle's array as one of graph.
func array(a oracles.Array) *graph.Array {
	for _, d := range graph.DTypes {
		if name(d) == a.DType {
			return graph.FromBytes(graph.ShapeOf(d, a.Shape...), a.Data)
		}
	}
	panic("unknown dtype " + a.DType)
}

// name is NumPy's name of a dtype.
func name(d graph.DType) string {
	return map[graph.DType]string{graph.Bool: "bool", graph.Int8: "int8", graph.Uint8: "uint8", graph.Int16: "int16",
		graph.Uint16: "uint16", graph.Int32: "int32", graph.Complex64: "complex64",
		graph.Uint32: "uint32", graph.Float32: "float32", graph.Float64: "float64", graph.Float16: "float16",
		graph.BFloat16: "bfloat16"}[d]
}

func arrays(all []oracles.Array) []*graph.Array {
	out := make([]*graph.Array, len(all))
	for i, a := range all {
		out[i] = array(a)
	}
	return out
}

// equal compares arrays with tolerances for float32.
func equal(t *testing.T, want []oracles.Array, got []*graph.Array, tolerance float64) {
	t.Helper()
	require.Len(t, got, len(want))
	for i, w := range want {
		require.Equal(t, name(got[i].DType()), w.DType, "array %d", i)
		require.Equal(t, w.Shape, append([]int{}, got[i].Dims()...), "array %d", i)
		parts := []func(any) *graph.Array{graph.Real, graph.Imag}
		if got[i].DType() != graph.Complex64 {
			parts = []func(any) *graph.Array{func(x any) *graph.Array { return x.(*graph.Array) }}
		}
		for _, part := range parts {
			tensor, err := graph.ToTensor(part(got[i]))
			require.NoError(t, err)
			wanted, err := graph.ToTensor(part(array(w)))
			require.NoError(t, err)
			for j, x := range wanted.Floats() {
				y := tensor.Floats()[j]
				if x == y || math.IsNaN(x) && math.IsNaN(y) {
					continue
				}
				require.InDelta(t, x, y, tolerance*max(1, math.Abs(x)), "array %d, element %d", i, j)
			}
		}
	}
}

// floats are the places of the float inputs.
func (e exported) floats() (places []int) {
	for i, a := range e.Inputs {
		if a.DType == "float32" {
			places = append(places, i)
		}
	}
	return places
}

// Functions that JAX exported have JAX's values and gradients, here and in XLA. Seven cases are one program. The
// short form compiles every second one.
func TestJAX(t *testing.T) {
	client, compiled := xlatest.Open(t, 1), false
	for some := range slices.Chunk(cases(t), 7) {
		var in [][]*graph.Array
		var functions []*stablehlo.Function
		for _, c := range some {
			f, err := stablehlo.Parse(c.Name, c.Text)
			require.NoError(t, err, c.Name)
			in, functions = append(in, arrays(c.Inputs)), append(functions, f)
		}
		compiled = !compiled || long.On()
		for _, b := range []xlabridge.Backend{&xlabridge.Reference{}, client} {
			if b == client && !compiled {
				continue
			}
			type results struct{ Values, Gradients []*graph.Array }
			out, err := xlabridge.Jit(b, func(in [][]*graph.Array) (out []results) {
				for i, c := range some {
					r := results{Values: functions[i].Call(in[i]...)}
					if c.Gradients != nil {
						r.Gradients = c.gradients(functions[i], in[i])
					}
					out = append(out, r)
				}
				return out
			})(in)
			require.NoError(t, err)
			for i, c := range some {
				t.Run(c.Name, func(t *testing.T) {
					equal(t, c.Outputs, out[i].Values, 2e-6)
					equal(t, c.Gradients, out[i].Gradients, 1e-5)
				})
			}
		}
	}
}

// gradients are those of the sum of all float results by the float inputs.
func (e exported) gradients(f *stablehlo.Function, in []*graph.Array) []*graph.Array {
	all, free := slices.Clone(in), make([]*graph.Array, 0, len(in))
	for _, i := range e.floats() {
		free = append(free, in[i])
	}
	return graph.Grad(func(free []*graph.Array) *graph.Array {
		for k, i := range e.floats() {
			all[i] = free[k]
		}
		total := graph.Scalar(0)
		for _, y := range f.Call(all...) {
			if y.DType() == graph.Float32 {
				total = total.Add(y.Sum())
			}
		}
		return total
	})(free)
}

// Net is the tree of the case mlp: fields and elements are in JAX's order.
type Net struct {
	Layers [2]struct{ W, B *graph.Array }
	X      *graph.Array
}

// A function on trees under VMap: five members at a time are five calls.
func TestTreesUnderVMap(t *testing.T) {
	c := cases(t)[0]
	require.Equal(t, "mlp", c.Name)
	f, err := stablehlo.Parse("net.mlir", c.Text)
	require.NoError(t, err)
	net := stablehlo.As[Net](f, graph.Scalar(0))
	in := arrays(c.Inputs)
	one := Net{X: in[4]}
	one.Layers[0].W, one.Layers[0].B, one.Layers[1].W, one.Layers[1].B = in[0], in[1], in[2], in[3]
	b := &xlabridge.Reference{}
	population, err := xlabridge.Jit(b, func(n Net) *graph.Array {
		scales := graph.Linspace(1, 2, 5)
		return graph.VMap(func(scale *graph.Array) *graph.Array {
			member := n
			member.X = n.X.Mul(scale)
			return net(member)
		})(scales)
	})(one)
	require.NoError(t, err)
	require.Equal(t, []int{5, 3}, population.Dims())
	for i := range 5 {
		member := one
		member.X = one.X.Mul(1 + float64(i)/4)
		alone, err := xlabridge.Jit(b, net)(member)
		require.NoError(t, err)
		x, err := graph.ToTensor(population.Index(i))
		require.NoError(t, err)
		y, err := graph.ToTensor(alone)
		require.NoError(t, err)
		require.InDeltaSlice(t, y.Floats(), x.Floats(), 1e-6)
	}
}

const head = "module @m {\n  func.func public @main(%arg0: tensor<3xf32>) -> (tensor<3xf32>) {\n"

const tail = "return %0 : tensor<3xf32>\n}\n}"

const scatterText = head + `%i = stablehlo.constant dense<0> : tensor<1x1xi32>
%0 = "stablehlo.scatter"(%arg0, %i, %arg0) <{scatter_dimension_numbers = ` +
	`#stablehlo.scatter<update_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
REGION
}) : (tensor<3xf32>, tensor<1x1xi32>, tensor<3xf32>) -> tensor<3xf32>
` + tail

const sortText = head + `%0 = "stablehlo.sort"(%arg0) <{dimension = 0 : i64}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
REGION
}) : (tensor<3xf32>) -> tensor<3xf32>
` + tail

// What cannot be read is one sentence with the file, the line and the op.
func TestRefusals(t *testing.T) {
	const unknownOrder = "f.mlir:3: stablehlo.sort: its comparison is no order of numbers that is known here"
	constant := func(name string, n int) string {
		return fmt.Sprintf("%s = stablehlo.constant dense<%d> : tensor<i32>\n", name, n)
	}
	less := func(name, x, y string) string {
		return name + " = stablehlo.compare LT, " + x + ", " + y + " : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
	}
	sortBy := func(keys string) string { // keys makes %c of %a and %d of %b
		return strings.ReplaceAll(strings.Replace(sortText, "REGION", keys+less("%l", "%c", "%d")+
			"stablehlo.return %l : tensor<i1>", 1), "f32>", "i32>")
	}
	const unknownQ = "stablehlo.custom_call: Q is known only of jnp.linalg.qr with mode=\"reduced\""
	orthogonal := func(x, householder, q string) string { // householder makes %1 of %0
		return "func.func @main(%x: tensor<" + x + "xf32>) -> tensor<" + q + "xf32> {\n%0:2 = stablehlo.custom_call " +
			"@lapack_sgeqrf_ffi(%x) : (tensor<" + x + "xf32>) -> (tensor<" + x + "xf32>, tensor<2xf32>)\n" +
			householder + "\n%2 = stablehlo.custom_call @lapack_sorgqr_ffi(%1, %0#1) : (tensor<" + q +
			"xf32>, tensor<2xf32>) -> tensor<" + q + "xf32>\nreturn %2 : tensor<" + q + "xf32>\n}"
	}
	for _, c := range []struct{ name, text, want string }{
		{"nothing", "", "f.mlir has no function @main"},
		{"no module", "hello", "f.mlir:1: got \"hello\", want a func.func of StableHLO text"},
		{"unknown op", head + "%0 = stablehlo.rng %arg0, distribution = UNIFORM : tensor<3xf32>\n" + tail,
			"f.mlir:3: stablehlo.rng: this op is not known here"},
		{"wrong operand", head + "%0 = stablehlo.cholesky %arg0, lower = true : tensor<3xf32>\n" + tail,
			"f.mlir:3: stablehlo.cholesky: it has f32[3], want matrices"},
		{"custom call", head + "%0 = stablehlo.custom_call @Qr(%arg0) : (tensor<3xf32>) -> tensor<3xf32>\n" +
			"return %0 : tensor<3xf32>\n}\n}", "f.mlir:3: stablehlo.custom_call"},
		{"Q of a wide matrix", orthogonal("2x3", "%1 = stablehlo.slice %0#0 [0:2, 0:2] : (tensor<2x3xf32>) -> "+
			"tensor<2x2xf32>", "2x2"), "f.mlir:4: " + unknownQ},
		{"the complete Q", orthogonal("3x2", "%z = stablehlo.constant dense<0.0> : tensor<f32>\n%1 = stablehlo.pad "+
			"%0#0, %z, low = [0, 0], high = [0, 1], interior = [0, 0] : (tensor<3x2xf32>, tensor<f32>) -> "+
			"tensor<3x3xf32>", "3x3"), "f.mlir:5: " + unknownQ},
		{"scatter by two ops", strings.Replace(scatterText, "REGION", "%c = stablehlo.add %a, %b : tensor<f32>\n"+
			"%d = stablehlo.add %c, %b : tensor<f32>\nstablehlo.return %d : tensor<f32>", 1),
			"f.mlir:4: stablehlo.scatter: its region is known only if it is one op of add"},
		{"sort by sums", strings.Replace(sortText, "REGION", "%c = stablehlo.add %a, %b : tensor<f32>\n"+
			"%d = stablehlo.compare LT, %a, %c : (tensor<f32>, tensor<f32>) -> tensor<i1>\nstablehlo.return %d : "+
			"tensor<i1>", 1), unknownOrder},
		{"sort by the lowest bits", sortBy(constant("%k", 3) +
			"%c = stablehlo.and %a, %k : tensor<i32>\n%d = stablehlo.and %b, %k : tensor<i32>\n"), unknownOrder},
		{"sort by zero instead of more than 5", sortBy(constant("%k", 5) + constant("%z", 0) + less("%p", "%k", "%a") +
			less("%q", "%k", "%b") + "%c = stablehlo.select %p, %z, %a : tensor<i1>, tensor<i32>\n" +
			"%d = stablehlo.select %q, %z, %b : tensor<i1>, tensor<i32>\n"), unknownOrder},
		{"sort that turns around below zero", sortBy(constant("%z", 0) + less("%p", "%a", "%z") +
			less("%q", "%b", "%z") + "%r = stablehlo.and %p, %q : tensor<i1>\n" +
			"%c = stablehlo.select %r, %b, %a : tensor<i1>, tensor<i32>\n" +
			"%d = stablehlo.select %r, %a, %b : tensor<i1>, tensor<i32>\n"), unknownOrder},
		{"two blocks", strings.Replace(sortText, "REGION", "^bb1(%c: tensor<f32>):\nstablehlo.return %c : tensor<f32>",
			1), "f.mlir:5: got \"^bb1(%c: tensor<f32>):\", want regions of one block"},
		{"cut off", head + "%0 = stablehlo.add %arg0, %arg0 : tensor<3xf32>", "the file ends inside of a function"},
		{"no return", head + "}\n}", "a function has no return"},
		{"other shape", head + "%0 = stablehlo.add %arg0, %arg0 : tensor<4xf32>\n" + tail,
			"f.mlir:3: stablehlo.add: its result is f32[3], the file says f32[4]"},
		{"no value", head + "%0 = stablehlo.add %arg0, %7 : tensor<3xf32>\n" + tail,
			"f.mlir:3: stablehlo.add: %7 has no value"},
		{"dynamic shape", "func.func @main(%arg0: tensor<?xf32>) -> tensor<?xf32> {\n}",
			"tensor<?xf32> has no fixed shape"},
		{"dtype", "func.func @main(%arg0: tensor<complex<f64>>) -> tensor<f32> {\n}", "dtype that is not known here"},
		{"transform", head + "%0 = stablehlo.fft %arg0, type = DCT, length = [3] : tensor<3xf32>\n" + tail,
			"f.mlir:3: stablehlo.fft: its type is \"DCT\", want FFT"},
		{"short constant", head + "%0 = stablehlo.constant dense<\"0x0000\"> : tensor<3xf32>\n" + tail,
			"the constant has 2 bytes"},
		{"constant", head + "%0 = stablehlo.constant dense<x> : tensor<3xf32>\n" + tail,
			"the element \"x\" is no number"},
		{"huge constant", head + "%0 = stablehlo.constant dense<1.0> : tensor<99999999999xf32>\nreturn %0 : " +
			"tensor<3xf32>\n}\n}", "not those of its head"},
		{"no function", head + "%0 = call @g(%arg0) : (tensor<3xf32>) -> tensor<3xf32>\n" + tail,
			"there is no function @g of 1 arguments"},
		{"recursion", head + "%0 = call @main(%arg0) : (tensor<3xf32>) -> tensor<3xf32>\n" + tail,
			"more than 200 deep"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := stablehlo.Parse("f.mlir", c.text)
			require.ErrorContains(t, err, c.want)
		})
	}
	f, err := stablehlo.Parse("f.mlir", head+"return %arg0 : tensor<3xf32>\n}\n}")
	require.NoError(t, err)
	require.ErrorContains(t, graph.Try(func() { f.Call(graph.Scalar(1)) }), "input 0 (%arg0): got f32[], want f32[3]")
	require.ErrorContains(t, graph.Try(func() { f.Call() }), "got 0 arrays, want 1")
	_, err = stablehlo.Read("testdata/none.mlir")
	require.Error(t, err)
}

// Reversed axes of a kernel, in each form that files have.
func TestReversedKernel(t *testing.T) {
	x := graph.Arange(0, 9, 1).Convert(graph.Float32).Reshape(1, 3, 3, 1)
	for _, c := range []struct{ reverse, want string }{
		{"reverse = [false, true]", "f32[4] {25 35 55 65}"},
		{"reverse = [true, false]", "f32[4] {15 25 45 55}"},
		{"reverse = [1, 0]", "f32[4] {15 25 45 55}"},
		{"window_reversal = array<i1: true, false>", "f32[4] {15 25 45 55}"},
		{"window_reversal = dense<[true, false]> : tensor<2xi1>", "f32[4] {15 25 45 55}"},
		{"window_reversal = dense<true> : tensor<2xi1>", "f32[4] {13 23 43 53}"},
		{"window_reversal = dense<false> : tensor<2xi1>", "f32[4] {27 37 57 67}"},
		{"reverse = [true, false, true]", ""},
		{`window_reversal = dense<"0x0100"> : tensor<2xi1>`, ""},
	} {
		f, err := stablehlo.Parse("f.mlir", "func.func @main(%x: tensor<1x3x3x1xf32>, %k: tensor<2x2x1x1xf32>) -> "+
			"tensor<1x2x2x1xf32> {\n%0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->"+
			"[b, 0, 1, f], window = {"+c.reverse+"} {batch_group_count = 1 : i64, feature_group_count = "+
			"1 : i64} : (tensor<1x3x3x1xf32>, tensor<2x2x1x1xf32>) -> tensor<1x2x2x1xf32>\nreturn %0 : "+
			"tensor<1x2x2x1xf32>\n}")
		if c.want == "" {
			require.ErrorContains(t, err, "want true or false for each of 2 spatial axes", c.reverse)
			continue
		}
		require.NoError(t, err, c.reverse)
		y := f.Call(x, graph.Of([]float32{1, 2, 3, 4}).Reshape(2, 2, 1, 1))[0]
		require.Equal(t, c.want, fmt.Sprint(y.Reshape(4)), c.reverse)
	}
}

// Lists of an attribute in each form that files have. Text in quotes and in a dictionary after them is no part of them.
func TestLists(t *testing.T) {
	const refused = "f.mlir:2: stablehlo.transpose: dims: got \"dense<[1, 0]> : tensor<2xi32>\", want whole numbers"
	for text, want := range map[string]string{
		`stablehlo.transpose %x, dims = [1, 0]`:                                                    "",
		`stablehlo.transpose %x, dims = [1, 0] {mhlo.number = 2 : i64}`:                            "",
		`"stablehlo.transpose"(%x) <{permutation = array<i64: 1, 0>}>`:                             "",
		`"stablehlo.transpose"(%x) <{permutation = dense<[1, 0]> : tensor<2xi64>}>`:                "",
		`"stablehlo.transpose"(%x) {mhlo.note = "dims = [0], %7", permutation = array<i64: 1, 0>}`: "",
		`"stablehlo.transpose"(%x) {mhlo.dims = array<i64: 0, 1>, permutation = array<i64: 1, 0>}`: "",
		`"stablehlo.transpose"(%x) <{permutation = dense<[1, 0]> : tensor<2xi32>}>`:                refused,
	} {
		f, err := stablehlo.Parse("f.mlir", "func.func @main(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {\n%0 = "+text+
			" : (tensor<2x2xf32>) -> tensor<2x2xf32>\nreturn %0 : tensor<2x2xf32>\n}")
		if want != "" {
			require.ErrorContains(t, err, want)
			continue
		}
		require.NoError(t, err, text)
		y := f.Call(graph.Of([]float32{1, 2, 3, 4}).Reshape(2, 2))[0]
		require.Equal(t, "f32[4] {1 3 2 4}", fmt.Sprint(y.Reshape(4)), text)
	}
}

// FuzzParse looks for texts that Parse panics on or never ends with.
func FuzzParse(f *testing.F) {
	for _, c := range cases(f) {
		if len(c.Text) < 8000 {
			f.Add(c.Text)
		}
	}
	f.Add(head + "return %arg0 : tensor<3xf32>\n}\n}")
	f.Fuzz(func(t *testing.T, text string) {
		if g, err := stablehlo.Parse("f.mlir", text); err == nil {
			abstract := make([]*graph.Array, len(g.Inputs()))
			for i, s := range g.Inputs() {
				abstract[i] = graph.Abstract(s)
			}
			_, err := graph.TraceArgs("again", []any{abstract}, graph.TraceOptions{}, func(in []any) any {
				return g.Call(in[0].([]*graph.Array)...)
			})
			require.NoError(t, err)
		}
	})
}

// A counter that is no whole number, and JAX's argmax with other operands or other initial values: the result is the
// text's, or the text is refused.
func TestLookAlikes(t *testing.T) {
	loop := func(limit string) string {
		return head + `%c = stablehlo.constant dense<0.0> : tensor<f32>
    %0:2 = stablehlo.while(%i = %c, %x = %arg0) : tensor<f32>, tensor<3xf32>
     cond {
      %l = stablehlo.constant dense<` + limit + `> : tensor<f32>
      %1 = stablehlo.compare  LT, %i, %l,  FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    } do {
      %one = stablehlo.constant dense<1.0> : tensor<f32>
      %1 = stablehlo.add %i, %one : tensor<f32>
      %2 = stablehlo.add %x, %x : tensor<3xf32>
      stablehlo.return %1, %2 : tensor<f32>, tensor<3xf32>
    }
    return %0#1 : tensor<3xf32>
}
}`
	}
	argmax := func(edit ...string) string {
		return strings.NewReplacer(edit...).Replace(
			`module @m {
  func.func public @main(%arg0: tensor<3xf32>) -> (tensor<i32>) {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %m = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %0 = stablehlo.iota dim = 0 : tensor<3xi32>
    %1:2 = stablehlo.reduce(%arg0 init: %m), (%0 init: %c) across dimensions = [0] : (tensor<3xf32>, tensor<3xi32>, ` +
				`tensor<f32>, tensor<i32>) -> (tensor<f32>, tensor<i32>)
     reducer(%x: tensor<f32>, %y: tensor<f32>) (%i: tensor<i32>, %j: tensor<i32>)  {
      %2 = stablehlo.compare GT, %x, %y, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %3 = stablehlo.compare NE, %x, %x, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %4 = stablehlo.or %2, %3 : tensor<i1>
      %5 = stablehlo.compare EQ, %x, %y, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %6 = stablehlo.compare LT, %i, %j, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %7 = stablehlo.and %5, %6 : tensor<i1>
      %8 = stablehlo.or %4, %7 : tensor<i1>
      %9 = stablehlo.select %4, %x, %y : tensor<i1>, tensor<f32>
      %10 = stablehlo.select %8, %i, %j : tensor<i1>, tensor<i32>
      stablehlo.return %9, %10 : tensor<f32>, tensor<i32>
    }
    return %1#1 : tensor<i32>
  }
}`)
	}
	x := graph.Of([]float32{1, 5, 3})
	for _, c := range []struct{ name, text, want, refusal string }{
		{"three turns up to 2.5", loop("2.5"), "f32[3] {8 40 24}", ""},
		{"two turns up to 2", loop("2.0"), "f32[3] {4 20 12}", ""},
		{"argmax", argmax(), "i32[] 1", ""},
		{"argmin", argmax("GT", "LT", "0xFF800000", "0x7F800000"), "i32[] 0", ""},
		{"indices the other way round", argmax("%8, %i, %j", "%8, %j, %i"), "i32[] 0", ""},
		{"values the other way round", argmax("GT, %x, %y", "GT, %y, %x"), "i32[] 0", ""},
		{"a maximum of at least 4", argmax("0xFF800000", "4.0"), "i32[] 1", ""},
		{"a maximum of at least 9", argmax("0xFF800000", "9.0"), "i32[] 0", ""},
		{"an index of at least 9", argmax("dense<0> :", "dense<9> :"), "i32[] 1", ""},
	} {
		f, err := stablehlo.Parse("f.mlir", c.text)
		if err == nil {
			err = graph.Try(func() { require.Equal(t, c.want, fmt.Sprint(f.Call(x)[0]), c.name) })
		}
		if c.refusal != "" {
			require.ErrorContains(t, err, c.refusal, c.name)
		} else {
			require.NoError(t, err, c.name)
		}
	}
}
