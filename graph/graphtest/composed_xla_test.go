package graphtest_test

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	. "xlarun/graph"
	"xlarun/graph/graphtest"
	"xlarun/internal/long"
	"xlarun/xlabridge"
	"xlarun/xlabridge/xlatest"
)

// What is composed of ops gives on XLA what it gives on the reference interpreter: its values and the gradient under
// VMap, and in the long form its values for one lane. The samples are TestComposed's, a few in one program. The short
// form has one of a kind: those that differ in a number, or in a word after a comma, are one. It leaves rough ones
// to the long form, and special functions, which have a number, to TestNumPyAgainstJAX.
func TestComposedAgainstXLA(t *testing.T) {
	client := xlatest.OpenCPU(t, 0)
	n := 0
	number := regexp.MustCompile(`[0-9,].*`)
	all := long.Sample(graphtest.Composed(), func(c Case) string { return number.ReplaceAllString(c.Name, "") })
	all = slices.DeleteFunc(slices.Clone(all), func(c Case) bool {
		return !long.On() && (c.Rough || c.Name != "" && number.MatchString(c.Name[:1]))
	})
	for cases := range slices.Chunk(all, 8) {
		t.Run(fmt.Sprint(n, " ", cases[0].Name), func(t *testing.T) {
			r := rand.New(rand.NewPCG(1, 2))
			in := make([][]*Array, len(cases))
			for i, c := range cases {
				for _, s := range c.Inputs {
					in[i] = append(in[i], c.Input(r, ShapeOf(s.DType, append([]int{3}, s.Dims...)...)))
				}
			}
			results := func(in [][]*Array) [][]*Array {
				out := make([][]*Array, len(in))
				for i, c := range cases {
					first := make([]*Array, len(in[i]))
					for k, x := range in[i] {
						first[k] = Index(x, 0)
					}
					out[i] = []*Array{VMap(c.Fn)(in[i])}
					if long.On() {
						out[i] = append(out[i], c.Fn(first))
					}
					if c.Rough || !out[i][0].DType().IsFloat() {
						continue
					}
					out[i] = append(out[i], VMap(Grad(func(x []*Array) *Array { return Sum(Sin(c.Fn(x))) }))(in[i])...)
				}
				return out
			}
			want, err := xlabridge.Jit(&xlabridge.Reference{}, results)(in)
			require.NoError(t, err)
			got, err := xlabridge.Jit(client, results)(in)
			require.NoError(t, err)
			for i, c := range cases {
				for k := range want[i] {
					graphtest.Same(t, want[i][k], got[i][k], graphtest.Both(max(c.Tol, 1e-5)), c.Name, " result ", k)
				}
			}
		})
		n += len(cases)
	}
}
