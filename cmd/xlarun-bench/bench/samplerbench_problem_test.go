package bench_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/cmd/xlarun-bench/bench/bbob"
	"xlarun/cmd/xlarun-bench/bench/samplerbench"
	"xlarun/graph"
	"xlarun/studies/study"
)

// Functions are 0 at their optimum and more elsewhere, and instances follow from the seed; rotations keep lengths and
// angles.
func TestProblems(t *testing.T) {
	for _, p := range samplerbench.Problems() {
		if p.Name == samplerbench.TableName {
			continue
		}
		for seed := range 4 {
			in := p.Instance(seed)
			require.Equal(t, in, p.Instance(seed))
			require.NotEqual(t, in, p.Instance(seed+1))
			require.Len(t, in.Optimum, p.Dims)
			require.InDelta(t, 0, p.Value(in.Optimum, in), 1e-12, p.Name)
			for k := range 20 {
				x := make([]float64, p.Dims)
				for i := range x {
					x[i] = float64((7*k+3*i)%10) - 4.5
				}
				require.Greater(t, p.Value(x, in), 0., "%s at %v", p.Name, x)
			}
			for i, row := range in.R {
				for j, other := range in.R {
					want := 0.
					if i == j {
						want = 1
					}
					product := 0.
					for k := range row {
						product += row[k] * other[k]
					}
					require.InDelta(t, want, product, 1e-12)
				}
			}
		}
	}
	require.True(t, math.IsNaN(samplerbench.Problem{Name: "none"}.Value(nil, samplerbench.Instance{})))
	_, err := samplerbench.Problem{Name: "none"}.Objective(samplerbench.Instance{})
	require.ErrorContains(t, err, `no problem "none"`)
}

// Where the package bbob, which is held against evosax, has the same function of the same instance, values agree.
func TestFunctionsAreThoseOfBBOB(t *testing.T) {
	others := map[string]bbob.Function{}
	for _, f := range bbob.Functions() {
		others[f.Name] = f
	}
	matrix := func(m [][]float64) *graph.Array {
		var flat []float32
		for _, row := range m {
			for _, x := range row {
				flat = append(flat, float32(x))
			}
		}
		return graph.Float32s(flat, len(m), len(m))
	}
	vector := func(x []float64) *graph.Array {
		v := make([]float32, len(x))
		for i := range x {
			v[i] = float32(x[i])
		}
		return graph.Float32s(v)
	}
	compared := 0
	for _, p := range samplerbench.Problems() {
		other, ok := others[map[string]string{"sphere": "sphere", "ellipsoid": "ellipsoidal", "rastrigin": "rastrigin",
			"attractive_sector": "attractive_sector", "rosenbrock": "rosenbrock",
			"different_powers": "different_powers", "ellipsoid_rotated": "ellipsoidal_rotated"}[p.Name]]
		if !ok {
			continue
		}
		in := p.Instance(3)
		theirs := bbob.Instance{Optimum: vector(in.Optimum), R: matrix(in.R), Q: matrix(in.Q)}
		for k := range 5 {
			x := make([]float64, p.Dims)
			for i := range x {
				x[i] = float64((7*k+3*i)%10)/2 - 2.25
			}
			y, err := graph.Eval(other.Value(vector(x), theirs))
			require.NoError(t, err)
			got, err := graph.Floats(y)
			require.NoError(t, err)
			require.InEpsilon(t, got[0], p.Value(x, in), 1e-3, p.Name)
			compared++
		}
	}
	require.Equal(t, 7*5, compared)
}

// The table's least value is 0, and a study finds what stands there.
func TestTable(t *testing.T) {
	table, err := samplerbench.CartPole()
	require.NoError(t, err)
	require.Equal(t, []string{"openes", "pgpe", "ars"}, table.Strategies)
	require.Equal(t, 149.525, table.Most)
	s, err := study.New("table", study.Options{Sampler: study.Random{}})
	require.NoError(t, err)
	objective, err := samplerbench.Problem{Name: samplerbench.TableName}.Objective(samplerbench.Instance{})
	require.NoError(t, err)
	require.NoError(t, s.Optimize(t.Context(), 50, 1, objective))
	trials, err := s.Trials()
	require.NoError(t, err)
	for _, x := range trials {
		require.Equal(t, study.Complete, x.State)
		p := x.External()
		require.Equal(t, table.Most-table.Values[p["strategy"].(string)][p["sigma"].(int64)][p["rate"].(int64)],
			x.Values[0])
	}
}
