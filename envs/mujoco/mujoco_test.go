package mujoco

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/envs/bodies"
	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/third_party/oracles"
	"xlarun/xlabridge"
	"xlarun/xlabridge/xlatest"
)

var tasks = []Task{HalfCheetah, Hopper, Walker2d, Ant, Humanoid, HumanoidStandup, Swimmer, Reacher, Pusher,
	InvertedPendulum, InvertedDoublePendulum}

// recorded is what third_party/oracles/mujoco_bodies.py recorded of a task.
type recorded struct {
	Name                       string
	Model                      *bodies.Model
	Qpos, Qvel, Control        oracles.Array
	Start, Before              oracles.Array
	Reward, Terminated         oracles.Array
	Observed, Observation      oracles.Array
}

// A step from each recorded state has Gymnasium's observation, reward and end.
func TestStepsAreGymnasiums(t *testing.T) {
	var file struct{ Tasks []recorded }
	require.NoError(t, oracles.Read("../bodies/testdata/mujoco4.json.gz", &file))
	client := xlatest.OpenCPU(t, 1)
	for n, task := range tasks {
		r := file.Tasks[n]
		require.Equal(t, task.ID, r.Name+"-v5")
		m := task.Model()
		nq, nv, nu := m.Sizes()
		nb := len(m.Bodies)
		type args struct{ Q, V, U, At *graph.Array }
		type results struct{ Obs, Reward, Ended *graph.Array }
		run := xlabridge.Jit(client, func(a args) results {
			return graph.VMap(func(a args) results {
				s := State{Data: bodies.Data{Q: a.Q, V: a.V, Warm: zeros(nv)}, Time: graph.Scalar(0, graph.Int32)}
				place := graph.BroadcastTo(graph.Concatenate(0, a.At, zeros(1)), nb, 3)
				s.Frames.Pos, s.Frames.Com = place, place
				_, obs, reward, terminated, _ := task.Step(random.New(0), s, a.U, task.DefaultParams())
				return results{obs, reward, terminated}
			})(a)
		})
		starts := r.Start.Floats()
		pick := func(a oracles.Array, width int) *graph.Array {
			all := a.Floats()
			var out []float32
			for _, s := range starts {
				for i := range width {
					out = append(out, float32(all[int(s)*width+i]))
				}
			}
			return graph.Float32s(out, len(starts), width)
		}
		before := r.Before.Floats()
		at := make([]float32, len(before))
		for i := range at {
			at[i] = float32(before[i])
		}
		got, err := run(args{pick(r.Qpos, nq), pick(r.Qvel, nv), pick(r.Control, nu), graph.Float32s(at, len(starts), 2)})
		require.NoError(t, err, task.ID)
		floats := func(a *graph.Array) []float64 {
			v, err := graph.Floats(a)
			require.NoError(t, err)
			return v
		}
		reward, ended := floats(got.Reward), floats(got.Ended)
		worst := 0.0
		for i, want := range r.Reward.Floats() {
			worst = max(worst, math.Abs(reward[i]-want)/(1+math.Abs(want)))
			require.Equal(t, r.Terminated.Floats()[i], ended[i], "%s: step %d", task.ID, i)
		}
		obs, want := floats(got.Obs), r.Observation.Floats()
		width := r.Observation.Shape[1]
		require.Equal(t, width, got.Obs.Dim(1))
		away := 0.0
		for k, i := range r.Observed.Floats() {
			for e := range width {
				x, y := obs[int(i)*width+e], want[k*width+e]
				away = max(away, math.Abs(x-y)/(1+math.Abs(y)))
			}
		}
		t.Logf("%s: rewards differ by %.1e, observations by %.1e", task.ID, worst, away)
	}
}
