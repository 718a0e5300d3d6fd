package nn_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/graph/nn"
	"xlarun/internal/long"
	"xlarun/third_party/oracles"
	"xlarun/xlabridge"
	"xlarun/xlabridge/xlatest"
)

// randomCase is a layer or a loss of random sizes and numbers: third_party/oracles/random_nn.py says what the fields
// hold.
type randomCase struct {
	jaxCase
	Slack map[string]float64
}

// TestRandomLayers compares layers and losses of random sizes and numbers with flax and optax in float64. The error is
// at most four times that of the peer in the same dtype, or a few units in the last place of the largest number, and
// at most a tenth of that number. XLA gets three kinds, in the long form all cases.
func TestRandomLayers(t *testing.T) {
	var doc struct{ Cases []randomCase }
	require.NoError(t, oracles.Read("testdata/random_nn.json.gz", &doc))
	require.NotEmpty(t, doc.Cases)
	const most = .1 // the largest bound: more would hold for any numbers
	for where, backend := range xlatest.Backends(t) {
		cases := doc.Cases
		if where == "xla" && !long.On() {
			compiled := []string{"attention", "group_norm", "pool"}
			cases = slices.DeleteFunc(long.Sample(cases, func(c randomCase) string {
				return c.Name
			}), func(c randomCase) bool { return !slices.Contains(compiled, c.Name) })
		}
		t.Run(where, func(t *testing.T) {
			chunk, skipped := 0, 0
			for cases := range slices.Chunk(cases, 16) {
				in := make([]arrays, len(cases))
				for i, c := range cases {
					in[i] = c.arrays()
				}
				got, err := xlabridge.Jit(backend, func(in []arrays) (out []arrays) {
					for i, c := range cases {
						out = append(out, c.outputs(in[i]))
					}
					return out
				})(in)
				require.NoError(t, err)
				for i, c := range cases {
					t.Run(fmt.Sprintf("%s %d", c.Name, chunk*16+i), func(t *testing.T) {
						for k, want := range c.Outputs {
							at := fmt.Sprintf("%s, %+v", k, c.Config)
							require.NotNil(t, got[i][k], at)
							require.Equal(t, want.Shape, slices.Clone(got[i][k].Dims()), at)
							have := floats(t, got[i][k])
							numbers := want.Floats()
							d, bound := apart(numbers, have), c.bound(k)
							if bound > most && where == "xla" {
								skipped++ // XLA reorders what only rounding decides
								continue
							}
							bound = min(bound, most)
							require.LessOrEqual(t, d, bound, "%s: got %.6g, want %.6g", at, have, numbers)
						}
					})
				}
				chunk++
			}
			require.Less(t, skipped, 20, "too many outputs are rounding errors")
		})
	}
}

// arrays are the inputs.
func (c randomCase) arrays() arrays {
	in := arrays{}
	for k, v := range c.Inputs {
		in[k] = graph.FromBytes(graph.ShapeOf(dtypes[v.DType], v.Shape...), v.Data)
	}
	return in
}

// bound is the largest difference that counts as equal.
func (c randomCase) bound(output string) float64 {
	least := 5e-6
	for _, v := range c.Inputs {
		least = max(least, map[string]float64{"float16": 5e-3, "bfloat16": 3e-2}[v.DType])
	}
	if loss, ok := c.Outputs["loss"]; ok && c.Name == "ctc" && loss.Floats()[0] > 9e4 {
		return 2e-2 // a label that does not fit: float32 numbers of this size are 0.008 apart
	}
	return max(least, 4*c.Slack[output])
}

// apart is the largest difference in parts of the largest finite number that is wanted, or of 0.1 if that is less.
func apart(want, have []float64) float64 {
	d, most := 0., .1
	for _, x := range want {
		if !math.IsNaN(x) && !math.IsInf(x, 0) {
			most = max(most, math.Abs(x))
		}
	}
	for i, x := range want {
		switch {
		case x == have[i] || math.IsNaN(x) && math.IsNaN(have[i]):
		case math.IsNaN(x-have[i]) || math.IsInf(x-have[i], 0):
			return math.Inf(1)
		default:
			d = max(d, math.Abs(x-have[i])/most)
		}
	}
	return d
}

// The derivative of Focal by targets that are 0 or 1 too, as its formula has it. optax has another there: JAX's
// LogSumExp has no derivative by a weight of 0.
func TestFocalByTarget(t *testing.T) {
	for _, gamma := range []float64{1, 2} {
		for _, alpha := range []float64{-1, .25} {
			for _, target := range []float64{0, .5, 1} {
				for _, logit := range []float64{-2, .25, 5} {
					loss := func(t float64) float64 {
						s, weight := 1/(1+math.Exp(-logit)), 1.
						if alpha >= 0 {
							weight = alpha*t + (1-alpha)*(1-t)
						}
						return weight * (math.Log1p(math.Exp(logit)) - logit*t) * math.Pow((1-t)*s+t*(1-s), gamma)
					}
					const h = 1e-5
					want := (loss(target+h) - loss(target-h)) / (2 * h)
					got := graph.Grad(func(t *graph.Array) *graph.Array {
						return nn.Focal(graph.Float64s([]float64{logit}), t, alpha, gamma)
					})(graph.Float64s([]float64{target}))
					have := floats(t, got)
					at := fmt.Sprintf("gamma %v, alpha %v, target %v, logit %v", gamma, alpha, target, logit)
					require.InDelta(t, want, have[0], 1e-8, at)
				}
			}
		}
	}
}

// A batch in which no two embeddings have one label gives no loss and no gradient.
func TestNTXentWithoutPairs(t *testing.T) {
	x := graph.Float32s([]float32{1, 2, -1, 0, 3, 1}, 3, 2)
	loss := func(x *graph.Array) *graph.Array { return nn.NTXent(x, graph.Int32s([]int32{0, 1, 2}), .5) }
	require.Equal(t, []float64{0}, floats(t, loss(x)))
	require.Equal(t, make([]float64, 6), floats(t, graph.Grad(loss)(x)))
}

// TestCTCByEnumeration adds up the probabilities of all sequences that spell a label, classes excluded by a logit of
// -Inf among them, where optax has NaN.
func TestCTCByEnumeration(t *testing.T) {
	const steps, classes, n = 4, 3, 3
	r := rand.New(rand.NewPCG(1, 2))
	inf := math.Inf(1)
	type example struct{ X, Label, Steps, Length *graph.Array }
	var want []float64
	var x []float64
	var labels, counts, lengths []int32
	add := func(logits []float64, label []int32, count, length int32) {
		x, labels = append(x, logits...), append(labels, label...)
		counts, lengths = append(counts, count), append(lengths, length)
	}
	for range 200 {
		logits, label := make([]float64, steps*classes), make([]int32, n)
		for i := range logits {
			logits[i] = 3 * r.NormFloat64()
			if i%classes != 0 && r.IntN(6) == 0 {
				logits[i] = -inf
			}
		}
		for i := range label {
			label[i] = 1 + r.Int32N(classes-1)
		}
		count, length := r.Int32N(steps+1), r.Int32N(n+1)
		for i := length; i < n; i++ {
			label[i] = []int32{0, -1, 99}[r.IntN(3)] // what does not count may be anything
		}
		add(logits, label, count, length)
		total := 0.
		for path := range int(math.Pow(classes, float64(count))) {
			p, last, spelled := 1., -1, []int32{}
			for s := range int(count) {
				row, sum := logits[s*classes:][:classes], 0.
				for _, v := range row {
					sum += math.Exp(v)
				}
				class := path % classes
				path /= classes
				p *= math.Exp(row[class]) / sum
				if class != last && class != 0 {
					spelled = append(spelled, int32(class))
				}
				last = class
			}
			if slices.Equal(spelled, label[:length]) {
				total += p
			}
		}
		want = append(want, -math.Log(total))
	}
	plain := make([]float64, steps*classes)
	for _, wrong := range []struct {
		label         []int32
		count, length int32
	}{{[]int32{1, -1, 1}, 4, 2}, {[]int32{1, 1, 3}, 4, 3}, {[]int32{1, 2, 1}, 5, 1}, {[]int32{1, 2, 1}, 4, 4},
		{[]int32{1, 2, 1}, -1, 0}, {[]int32{1, 2, 1}, 4, -1}} {
		add(plain, wrong.label, wrong.count, wrong.length)
		want = append(want, math.NaN())
	}
	loss := func(e example) *graph.Array { return nn.CTC(e.X, e.Label, e.Steps, e.Length) }
	all := example{graph.Float64s(x, len(want), steps, classes), graph.Int32s(labels, len(want), n),
		graph.Int32s(counts), graph.Int32s(lengths)}
	got := floats(t, graph.VMap(loss)(all))
	slopes := graph.Grad2(func(x *graph.Array, e example) *graph.Array {
		e.X = x
		return graph.VMap(loss)(e).Sum()
	})(all.X, all)
	for _, d := range floats(t, slopes) {
		require.False(t, math.IsNaN(d))
	}
	for i, w := range want {
		if math.IsInf(w, 1) { // it does not fit, or needs what is excluded
			require.Greater(t, got[i], 9e4, i)
			continue
		}
		require.InDelta(t, w, got[i], 1e-9, "case %d: label %v, %d steps, length %d", i, labels[i*n:][:n], counts[i],
			lengths[i])
	}
}
