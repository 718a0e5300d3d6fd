package xlabridge

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
)

// loose are the ops whose results for extreme inputs are the backend's, and why. A NaN among the inputs must show all
// the same.
var loose = map[string]string{
	"conv":                "padding is multiplied too, or not, and the order of sums is open",
	"conv_images":         "padding is multiplied too, or not, and the order of sums is open",
	"cholesky":            "a factorisation is defined for finite matrices",
	"conv_images_weights": "padding is multiplied too, or not, and the order of sums is open",
	"eig":                 "a factorisation is defined for finite matrices",
	"eigh":                "a factorisation is defined for finite matrices",
	"fft":                 "the order of sums is open, and with it which infinities meet",
	"lu":                  "a factorisation is defined for finite matrices",
	"qr":                  "a factorisation is defined for finite matrices",
	"solve":               "a factorisation is defined for finite matrices",
	"sparse_dot":          "zeros may be skipped, or multiplied",
	"sparse_outer":        "zeros may be skipped, or multiplied",
	"svd":                 "a factorisation is defined for finite matrices",
	"triangular_solve":    "substitution may skip the zeros beside the triangle, or multiply them",
}

// lost are the ops for which XLA gives NaN where the inputs are denormals.
var lost = map[string]string{"atan2": "of two denormals it takes the quotient of two zeros"}

// ordered are the ops whose partial results may overflow or not, by the order in which the backend takes them, or by
// whether it rounds a product before it adds.
var ordered = []string{"conv_images_input", "cumulative", "dot_general", "integrate_fire", "low_rank", "recurrence",
	"reduce", "reduce_window", "scatter"}

// checkExtremes compares the samples of ops, which are one program, on XLA and on the reference interpreter for NaN,
// infinities, negative zero, denormals and the ends of the dtypes. XLA may take denormals for zeros. An op that has had
// all numbers, or is not asked, runs on the inputs that it had last.
func checkExtremes(t *testing.T, ops []tableOp, compiled func(in [][][]*array) ([][]*array, error)) {
	t.Helper()
	var in [][][]*array
	interpreted := make([]func(in [][]*array) ([]*array, error), len(ops))
	for k, op := range ops {
		in, interpreted[k] = append(in, op.in), Jit(&Reference{}, op.all)
	}
	for kind, label := range graph.Extremes {
		denormals := label == graph.Extremes[2]
		inputs := make([]*graph.ExtremeInputs, len(ops))
		for k, op := range ops {
			if op.name == "while" && kind > 0 || denormals && slices.Contains(ordered, op.name) {
				in[k] = op.in
				continue // what the loop waits for may never come
			}
			inputs[k] = &graph.ExtremeInputs{Name: op.name, Kind: kind}
		}
		for round := 0; ; round++ {
			asked := make([]bool, len(ops))
			for k, op := range ops {
				e := inputs[k]
				if asked[k] = e != nil && (round < 2 || !e.Complete()); !asked[k] {
					continue
				}
				in[k] = make([][]*array, len(op.cases))
				for i, c := range op.cases {
					for n, s := range c.Inputs {
						in[k][i] = append(in[k][i], e.Input(c, n, s))
					}
				}
			}
			if !slices.Contains(asked, true) {
				break
			}
			got, err := compiled(in)
			require.NoError(t, err)
			for k, op := range ops {
				if !asked[k] {
					continue
				}
				want, err := interpreted[k](in[k])
				require.NoError(t, err)
				flush := want
				if denormals {
					flushed := make([][]*array, len(op.cases))
					for i := range flushed {
						for _, x := range in[k][i] {
							flushed[i] = append(flushed[i], withoutDenormals(t, x))
						}
					}
					flush, err = interpreted[k](flushed)
					require.NoError(t, err)
				}
				for i, c := range op.cases {
					where := fmt.Sprintf("%s, %s, round %d, case %d %s", op.name, label, round, i, c.Name)
					compareExtremes(t, op.name, label, where, floats(t, want[i]), floats(t, flush[i]),
						floats(t, got[k][i]))
				}
			}
		}
	}
}

// compareExtremes compares with what the interpreter gives with denormals or without, or, for ops that are loose, only
// whether a NaN is lost.
func compareExtremes(t *testing.T, op, label, where string, want, flushed, got []float64) {
	t.Helper()
	if loose[op] != "" {
		if strings.HasPrefix(label, "NaN") && slices.ContainsFunc(want, math.IsNaN) {
			require.True(t, slices.ContainsFunc(got, math.IsNaN), "%s: a NaN is lost", where)
		}
		return
	}
	for k := range want {
		if lost[op] != "" && label == graph.Extremes[2] && math.IsNaN(got[k]) {
			continue
		}
		require.True(t, alike(want[k], got[k], 1e-4) || alike(flushed[k], got[k], 1e-4),
			"%s: element %d is %v, want %v", where, k, got[k], want[k])
	}
}

// alike compares within tol, relative and absolute; NaN equals NaN, and an infinity only itself.
func alike(want, got, tol float64) bool {
	return want == got || math.IsNaN(want) && math.IsNaN(got) || !math.IsInf(want, 0) && math.Abs(want-got) <= tol*
		(1+math.Abs(want))
}

// The comparison that the derived tests are made of sees what is wrong.
func TestComparisonOfExtremes(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	for i, c := range []struct {
		description string
		want, got   float64
		alike       bool
	}{
		{"1: equal", 2, 2, true}, {"2: near", 1000, 1000.05, true}, {"3: not near", 1000, 1001, false},
		{"4: NaN", nan, nan, true}, {"5: a number for NaN", nan, 1, false}, {"6: NaN for a number", 1, nan, false},
		{"7: an infinity", inf, inf, true}, {"8: the other infinity", inf, -inf, false}, {"9: a number for an infinity",
			-inf, 3, false},
		{"10: an infinity for a number", 3, inf, false}, {"11: NaN for an infinity", inf, nan, false},
	} {
		require.Equal(t, c.alike, alike(c.want, c.got, 1e-4), "case %d %s", i+1, c.description)
	}
}

// withoutDenormals is x with zeros for denormals.
func withoutDenormals(t *testing.T, x *graph.Array) *graph.Array {
	least := map[graph.DType]float64{graph.Float32: 0x1p-126, graph.Float64: 0x1p-1022, graph.Float16: 0x1p-14,
		graph.BFloat16: 0x1p-126}[x.DType()]
	if least == 0 {
		return x
	}
	v, err := graph.ToTensor(x)
	require.NoError(t, err)
	for i := range v.V {
		if math.Abs(v.F(i)) < least {
			v.SetF(i, math.Copysign(0, v.F(i)))
		}
	}
	return v.Array()
}
