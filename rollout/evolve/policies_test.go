package evolve

import (
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/envs"
	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/internal/long"
	"xlarun/rollout/plan"
	"xlarun/rollout/policy"
	"xlarun/xlabridge"
	"xlarun/xlabridge/xlatest"
)

// point shows a cell of a small image, and rewards the action that is the column of the cell before.
type point struct{}

type pointState struct{ Now, Before *graph.Array } // i32[]: cells, row-major

func (point) Spec() envs.Spec {
	return envs.Spec{ID: "Point-v0", Observation: envs.Box{Low: []float64{0}, High: []float64{1}, Dims: []int{3, 3, 2},
		DType: graph.Bool},
		Action: envs.Discrete{N: 3}, MaxSteps: 100}
}
func (point) DefaultParams() graph.None { return graph.None{} }
func (p point) Reset(key random.Key, none graph.None) (pointState, *graph.Array) {
	s := pointState{random.Randint(key, graph.ShapeOf(graph.Int32), 0, 9), graph.Of(int32(0))}
	return s, p.Observe(s, none)
}
func (point) Observe(s pointState, _ graph.None) *graph.Array {
	cell := graph.Iota(9).Eq(s.Now).Reshape(3, 3, 1)
	return graph.Concatenate(2, cell, cell.Not())
}
func (p point) Step(key random.Key, s pointState, action *graph.Array,
	none graph.None) (next pointState, obs, reward, terminated, truncated *graph.Array) {
	next = pointState{random.Randint(key, graph.ShapeOf(graph.Int32), 0, 9), s.Now}
	right := action.Eq(s.Before.Rem(3))
	return next, p.Observe(next, none), right.Convert(graph.Float32), envs.False(), envs.False()
}

// acting starts a run of a policy in point.
func acting(t *testing.T, b xlabridge.Backend, spec string, devices int, batchLast bool) *Evolution {
	t.Helper()
	c := DefaultConfig()
	c.Strategy, c.Population, c.Steps, c.Tile, c.Devices, c.BatchLast, c.HallOfFame = "openes", 20, 12, 4, devices,
		batchLast, "0"
	x, err := c.setup(plan.MachineOf(b, devices))
	require.NoError(t, err)
	env := envs.Erase(point{})
	x.Rollout.Env = env
	x.Rollout.Policy, x.Rollout.Head, err = policy.Make(spec, nil, env.Spec().Observation, env.Spec().Action)
	require.NoError(t, err)
	x.Params, err = policy.Size(x.Rollout.Policy)
	require.NoError(t, err)
	x.Count()
	x.Lay(x.Layout)
	e, err := c.build(b, x, plan.Choice{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, e.Close()) })
	return e
}

// Every policy evolves, equal to the byte on one device and two, and after a resume. The short form interprets one that
// sees images on one device, and shows the resume alone.
func TestEveryPolicyEvolvesAndGoesOn(t *testing.T) {
	var one, two xlabridge.Backend = &xlabridge.Reference{}, &xlabridge.Reference{}
	if long.On() {
		one, two = xlatest.Open(t, 1), xlatest.Open(t, 2)
	}
	rows := []struct {
		spec      string
		batchLast bool
	}{{"cnn:3", false}, {"elman:5", true}, {"gru:5", false}, {"blockmlp:64,32", false}, {"ctrnn:5", false},
		{"lstm:5", false}, {"mingru:5", false}, {"normedmlp:5,4", false}, {"spiking:7,5", false}}
	if !long.On() {
		rows = rows[:1] // TestDeterminismMatrix has gru; the rest is the policy's own test
	}
	for _, x := range rows {
		t.Run(x.spec, func(t *testing.T) {
			whole := acting(t, one, x.spec, 1, x.batchLast)
			other := acting(t, two, x.spec, two.NumDevices(), x.batchLast)
			want := steps(t, whole, 4)
			require.Equal(t, want[:2], steps(t, other, 2))
			s, err := other.Snapshot(t.Context())
			require.NoError(t, err)
			resumed := acting(t, one, x.spec, 1, x.batchLast)
			require.NoError(t, resumed.Restore(t.Context(), s))
			require.Equal(t, want[2:], steps(t, resumed, 2))
			sameBytes(t, bytesOf(t, whole), bytesOf(t, resumed), x.spec)
			require.Greater(t, of(t, want[0], "best_fitness"), of(t, want[0], "worst_fitness"))
		})
	}
}
