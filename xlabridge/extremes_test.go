package xlabridge

import (
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
)

// loose are the ops whose results for extreme inputs are the backend's, and why. A NaN among the inputs must show all the same.
var loose = map[string]string{
	"conv":             "padding is multiplied too, or not, and the order of sums is open",
	"cholesky":         "a factorisation is defined for finite matrices",
	"eigh":             "a factorisation is defined for finite matrices",
	"lu":               "a factorisation is defined for finite matrices",
	"qr":               "a factorisation is defined for finite matrices",
	"solve":            "a factorisation is defined for finite matrices",
	"svd":              "a factorisation is defined for finite matrices",
	"triangular_solve": "substitution may skip the zeros beside the triangle, or multiply them",
	"digamma":          "at a pole it is NaN or infinite",
}

// ordered are the ops whose partial results may overflow or not, by the order in which the backend takes them.
var ordered = []string{"cumulative", "dot_general", "reduce", "reduce_window", "scatter"}

// Every sample of every op gives on XLA what it gives on the reference interpreter for NaN, infinities, negative zero,
// denormals and the ends of the dtypes too. XLA may take denormals for zeros.
func TestExtremesAgainstXLA(t *testing.T) {
	client := always(open(t, Options{}))
	names := make([]string, 0, len(graph.Table))
	for name := range graph.Table {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			cases := graph.Table[name].Cases()
			all := func(in [][]*graph.Array) []*graph.Array {
				var out []*graph.Array
				for i, c := range cases {
					out = append(out, c.Fn(in[i]))
				}
				return out
			}
			compiled, interpreted := Jit1(client, all), Jit1(&Reference{}, all)
			for kind, label := range graph.Extremes {
				if name == "while" && kind > 0 {
					continue // what the loop waits for may never come
				}
				r := rand.New(rand.NewPCG(1, uint64(kind)))
				in, flushed := make([][]*graph.Array, len(cases)), make([][]*graph.Array, len(cases))
				for i, c := range cases {
					for _, s := range c.Inputs {
						x := graph.ExtremeCaseInput(r, s, c, kind)
						in[i], flushed[i] = append(in[i], x), append(flushed[i], withoutDenormals(t, x))
					}
				}
				got, err := compiled(in)
				require.NoError(t, err)
				want, err := interpreted(in)
				require.NoError(t, err)
				flush, err := interpreted(flushed)
				require.NoError(t, err)
				if label == graph.Extremes[2] && slices.Contains(ordered, name) {
					continue
				}
				for i, c := range cases {
					w, f, g := floats(t, want[i]), floats(t, flush[i]), floats(t, got[i])
					if loose[name] != "" {
						if label == "NaN" && slices.ContainsFunc(w, math.IsNaN) {
							require.True(t, slices.ContainsFunc(g, math.IsNaN), "%s, case %d %s: a NaN is lost", label, i, c.Name)
						}
						continue
					}
					for k := range w {
						require.True(t, alike(w[k], g[k]) || alike(f[k], g[k]), "%s, case %d %s: element %d is %v, want %v", label, i, c.Name, k, g[k], w[k])
					}
				}
			}
		})
	}
}

// alike compares within 1e-4, relative and absolute.
func alike(want, got float64) bool {
	return want == got || math.IsNaN(want) && math.IsNaN(got) || math.Abs(want-got) <= 1e-4*(1+math.Abs(want))
}

// withoutDenormals is x with zeros for denormals.
func withoutDenormals(t *testing.T, x *graph.Array) *graph.Array {
	least := map[graph.DType]float64{graph.Float32: 0x1p-126, graph.Float64: 0x1p-1022, graph.Float16: 0x1p-14, graph.BFloat16: 0x1p-126}[x.DType()]
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
