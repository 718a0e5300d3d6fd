package strategy

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/population"
	"xlarun/rollout/settings"
)

// Draws of matrices are two factors, members are the mean ± their product, whole numbers do not change, and Tell equals
// a loop over the pairs.
func TestEggroll(t *testing.T) {
	type genome struct{ W, Small, Bias, N *graph.Array }
	const members = 6
	for _, rank := range []int{1, 2} {
		e := Erase(&Eggroll{LearningRate: settings.Num(.1), Sigma: settings.Num(.5), SigmaDecay: settings.Num(1),
			Rank: rank, Shaped: Shaped{Shaping: shapeRaw}})
		start := genome{graph.Full(graph.ShapeOf(graph.Float32, 7, 5), 2),
			graph.Ones(graph.ShapeOf(graph.Float32, 2, 1)),
			graph.Float32s([]float32{1, 2, 3}), graph.Int32s([]int32{1 << 30, 16777217})}
		state := e.Init(start, members)
		draws := drawn(e, state, members, 3).([]factors)
		require.Equal(t, []int{3, rank, 7}, draws[0].A.Dims())
		require.Equal(t, []int{3, rank, 5}, draws[0].B.Dims())
		require.Nil(t, draws[1].B)
		require.Equal(t, []int{3, 3}, draws[2].A.Dims())
		require.Len(t, draws, 3)

		fitness := []float32{1, 5, -2, 0, 2, 2}
		told := tell(e, state, graph.Float32s(fitness), population.Whole(draws)).(EggrollState)
		require.Equal(t, floatsOf(t, start.N), floatsOf(t, told.Mean.(genome).N))
		sum := make([]float64, 35)
		for g := range members / 2 {
			a, b := floatsOf(t, draws[0].A.Index(g)), floatsOf(t, draws[0].B.Index(g))
			plus := e.Member(state, []factors{{draws[0].A.Index(g), draws[0].B.Index(g)},
				{A: draws[1].A.Index(g)},
				{A: draws[2].A.Index(g)}}, graph.Of(int32(0))).(genome)
			member := floatsOf(t, plus.W)
			for i := range 7 {
				for j := range 5 {
					x := 0.
					for k := range rank {
						x += a[k*7+i] * b[k*5+j] / math.Sqrt(float64(rank))
					}
					require.InDelta(t, 2+.5*x, member[i*5+j], 1e-5)
					sum[i*5+j] += float64(fitness[g]-fitness[g+members/2]) * x
				}
			}
			require.Equal(t, []float64{1 << 30, 16777217}, floatsOf(t, plus.N))
		}
		// Adam's first mean is a tenth of the gradient.
		mu := floatsOf(t, told.Mu[0])
		for i, x := range sum {
			require.InDelta(t, .1*x/(.5*members), mu[i], 1e-5)
		}
	}
}

// With sgd the mean moves by the rate times the gradient, and there are no running means.
func TestEggrollFollowsTheGradientItself(t *testing.T) {
	e := Erase(&Eggroll{LearningRate: settings.Num(.1), Sigma: settings.Num(.5), SigmaDecay: settings.Num(1), Rank: 2,
		Optimizer: eggrollSGD, Shaped: Shaped{Shaping: shapeRaw}})
	start := []*graph.Array{graph.Zeros(graph.ShapeOf(graph.Float32, 7, 5)),
		graph.Zeros(graph.ShapeOf(graph.Float32, 4))}
	state := e.Init(start, 6)
	require.Empty(t, state.(EggrollState).Mu)
	draws := drawn(e, state, 6, 3).([]factors)
	told := tell(e, state, graph.Float32s([]float32{1, 5, -2, 0, 2, 2}), population.Whole(draws)).(EggrollState)
	require.Empty(t, told.Nu)
	noise := graph.VMap(func(leaves []factors) []*graph.Array {
		return []*graph.Array{leaves[0].noise(), leaves[1].noise()}
	})(draws)
	for i, moved := range told.Mean.([]*graph.Array) { // .1 / (6 * .5) * sum of (plus - minus) * noise
		want := graph.Tensordot(graph.Float32s([]float32{1, 3, -4}), noise[i], 1).Mul(.1 / 3)
		require.InDeltaSlice(t, floatsOf(t, want), floatsOf(t, moved), 1e-6)
	}
}

// Noise of any rank is the product of its factors.
func TestEggrollNoiseIsTheProductOfItsFactors(t *testing.T) {
	for _, rank := range []int{1, 3, fewRanksOfNoise, fewRanksOfNoise + 1} {
		f := factors{random.Normal(random.New(1), graph.ShapeOf(graph.Float32, rank, 6)),
			random.Normal(random.New(2), graph.ShapeOf(graph.Float32, rank, 9))}
		want := f.A.Transpose(1, 0).Dot(f.B).Div(float32(math.Sqrt(float64(rank))))
		require.InDeltaSlice(t, floatsOf(t, want), floatsOf(t, f.noise()), 1e-5, "rank %d", rank)
	}
}

// Without matrices among the parameters, eggroll equals OpenES.
func TestEggrollOfVectorsIsOpenES(t *testing.T) {
	e, o := lookup("eggroll"), lookup("openes")
	start := graph.Float32s([]float32{1, -2, 3})
	es, os := e.Init(start, 8), o.Init(start, 8)
	for generation := range 3 {
		noise := random.Normal(random.New(int64(generation)), graph.ShapeOf(graph.Float32, 4, 3))
		fitness := graph.Float32s([]float32{3, 1, 4, 1, 5, 9, 2, 6})
		es = tell(e, es, fitness, population.Whole([]factors{{A: noise}}))
		os = tell(o, os, fitness, population.Whole(noise))
	}
	require.Equal(t, floatsOf(t, o.Mean(os).(*graph.Array)), floatsOf(t, e.Mean(es).(*graph.Array)))
}
