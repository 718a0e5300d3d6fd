package distribution_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/graph/distribution"
	"xlarun/graph/random"
)

// Draws of a mixture have its mean and its variance, a transformed draw has the density that its inverse gives, and
// the estimated divergence of two normal distributions is near the closed one.
func TestDrawsOfMixturesAndTransforms(t *testing.T) {
	const n = 20000
	v := func(x ...float64) *graph.Array { return graph.Of(x) }
	mixture := distribution.NewMixture(v(math.Log(.25), math.Log(.75)), distribution.NewNormal(v(-2, 2), v(.5, 1)))
	x := mixture.Sample(random.New(1), n)
	require.InDelta(t, 1, floats(t, x.Mean())[0], .05, "the mean")
	require.InDelta(t, .25*(.25+9)+.75*(1+1), floats(t, x.Variance())[0], .1, "the variance")
	by := distribution.Steps{distribution.NewAffine(.1, .2), distribution.Sigmoid{}}
	d := distribution.NewTransformed(distribution.NewMultivariateNormalDiag(v(0, 1), v(1, 2)), by)
	y, logProb := d.SampleLogProb(random.New(2), 5)
	require.InDeltaSlice(t, floats(t, d.LogProb(y)), floats(t, logProb), 1e-6, "the density of a draw")
	outside := floats(t, distribution.NewTransformed(distribution.NewNormal(0, 1), distribution.Exp{}).LogProb(
		v(-1, math.NaN(), 1)))
	require.Equal(t, math.Inf(-1), outside[0], "a value that no draw has")
	require.True(t, math.IsNaN(outside[1]))
	p, q := distribution.NewNormal(0, 1), distribution.NewNormal(1, 2)
	got := floats(t, distribution.Divergence(random.New(3), p, q, n))[0]
	require.InDelta(t, floats(t, p.KL(q))[0], got, .02, "the divergence")
}
