package policy

import (
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/envs"
	"xlarun/graph"
	"xlarun/graph/random"
)

// factored returns a member whose matrices change by rank-2 factors, and whose other leaves change by noise, drawn
// from a key.
func factored(params any, key random.Key, scale *graph.Array) (shared Shared, formed any) {
	i := 0
	normal := func(dims ...int) *graph.Array {
		i++
		return random.Normal(random.FoldIn(key, i), graph.ShapeOf(graph.Float32, dims...))
	}
	var ofShared, ofFormed []*graph.Array
	leaves, tree := graph.Flatten(params)
	for _, leaf := range leaves {
		if leaf.Rank() != 2 {
			own := leaf.Add(scale.Mul(normal(leaf.Dims()...)))
			ofShared, ofFormed = append(ofShared, own), append(ofFormed, own)
			shared.Factors = append(shared.Factors, Factors{})
			continue
		}
		f := Factors{A: normal(2, leaf.Dim(0)), B: normal(2, leaf.Dim(1)), Scale: scale}
		ofShared = append(ofShared, leaf)
		ofFormed = append(ofFormed, leaf.Add(scale.Mul(f.A.Transpose(1, 0).Dot(f.B))))
		shared.Factors = append(shared.Factors, f)
	}
	shared.Params = tree.Unflatten(ofShared)
	return shared, tree.Unflatten(ofFormed)
}

// A member with shared matrices acts like one whose matrices are formed: for each policy, over several steps, and
// under VMap with matrices that are not mapped.
func TestSharedMembersActAsFormedOnes(t *testing.T) {
	const members, steps = 3, 4
	policies := made(t)
	wide, _, err := Make("mlp:5,7", nil, observation, envs.Discrete{N: 20}) // more outputs than are turned
	require.NoError(t, err)
	policies["mlp:5,7 to 20"] = wide
	for _, spec := range []string{"normedmlp:5,4", "transformer:8,2"} { // their members are always formed
		delete(policies, spec)
	}
	for spec, p := range policies {
		t.Run(spec, func(t *testing.T) {
			params := p.Init(random.New(5))
			x := seen(spec, random.New(6), steps)
			member := func(shares bool) func(key random.Key) *graph.Array {
				return func(key random.Key) *graph.Array {
					shared, formed := factored(params, key, graph.Scalar(.3))
					if shares {
						return outputs(p, p.Traits().Prepared.Shared(shared), x)
					}
					return outputs(p, prepared(p, formed), x)
				}
			}
			keys := random.Split(random.New(7), members)
			want := floats(t, graph.VMap(member(false))(keys))
			var loop []float64
			for _, key := range random.SplitN(random.New(7), members) {
				loop = append(loop, floats(t, member(true)(key))...)
			}
			require.InDeltaSlice(t, want, loop, 1e-5)
			require.InDeltaSlice(t, want, floats(t, graph.VMap(member(true))(keys)), 1e-5)
			require.InDeltaSlice(t, want, floats(t, graph.VMap(member(true), graph.BatchLast())(keys)), 1e-5)
		})
	}
}

// Factors for other leaves than those of the parameters are refused.
func TestSharedWantsFactorsOfEachLeaf(t *testing.T) {
	p := made(t)["mlp:5"]
	err := graph.Try(func() {
		p.Traits().Prepared.Shared(Shared{Params: p.Init(random.New(1)), Factors: make([]Factors, 3)})
	})
	require.ErrorContains(t, err, "got factors of 3 leaves for parameters of 4")
}
