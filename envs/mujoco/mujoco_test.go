package mujoco

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/envs"
	"xlarun/envs/bodies"
	"xlarun/graph"
	"xlarun/graph/graphtest"
	"xlarun/graph/random"
	"xlarun/internal/long"
	"xlarun/third_party/oracles"
	"xlarun/xlabridge"
	"xlarun/xlabridge/xlatest"
)

// tasks are in the order of the records, with how far the rewards and observations of programs may be from Gymnasium's,
// relative to 1 and their magnitude: they compute in float32, where a contact that begins within rounding of a stage
// differs most. Where Pusher's arm touches the cylinder MuJoCo's normal is an approximation, and in few states it has
// two points for one.
var tasks = []struct {
	Task
	reward, observed float64
}{{HalfCheetah, 2e-5, 2e-4}, {Hopper, 2e-6, 5e-6}, {Walker2d, 1e-4, 1e-4}, {Ant, 2e-5, 1e-4}, {Humanoid, 5e-5, 5e-4},
	{HumanoidStandup, 2e-6, 5e-4}, {Swimmer, 2e-6, 1e-5}, {Reacher, 1e-6, 1e-5}, {Pusher, 1e-3, 1e-2},
	{InvertedPendulum, 1e-6, 5e-6}, {InvertedDoublePendulum, 2e-5, 2e-5}}

// recorded is what third_party/oracles/mujoco_bodies.py recorded of a task.
type recorded struct {
	Name                  string
	Qpos, Qvel, Control   oracles.Array
	Start, Before         oracles.Array
	Reward, Terminated    oracles.Array
	Observed, Observation oracles.Array
}

func records(t *testing.T, engine int) []recorded {
	var file struct{ Tasks []recorded }
	require.NoError(t, oracles.Read(fmt.Sprintf("../bodies/testdata/mujoco%d.json.gz", engine), &file))
	return file.Tasks
}

// row is a row of an array of two dimensions.
func row(a oracles.Array, i int) *graph.Array {
	w := a.Shape[1]
	return graph.Float64s(a.Floats()[i*w:(i+1)*w], w).Convert(graph.Float32)
}

// start is the state that a step leads from.
func start(task Task, r recorded, step int) (s State, action *graph.Array) {
	i := int(r.Start.Floats()[step])
	_, nv, _ := task.Model().Sizes()
	s = State{Data: bodies.Data{Q: row(r.Qpos, i), V: row(r.Qvel, i), Warm: zeros(nv)}, Time: envs.Steps(0)}
	place := graph.BroadcastTo(graph.Concatenate(0, row(r.Before, step), zeros(1)), len(task.Model().Bodies), 3)
	s.Frames.Pos, s.Frames.Com = place, place
	return s, row(r.Control, i)
}

// A step from each state whose observation is recorded has Gymnasium's observation, reward and end, by the rules of
// both engines. The dynamics are those of float64; the long form compares the rewards of all states.
func TestStepsAreGymnasiums(t *testing.T) {
	for _, engine := range []int{4, 3} {
		all := records(t, engine)
		for n, task := range tasks {
			task.Engine = engine
			r := all[n]
			require.Equal(t, task.ID, r.Name+"-v5")
			reward, observed := 0.0, 0.0
			recorded := r.Observed.Floats()
			for step := range r.Start.Len() {
				k := slices.Index(recorded, float64(step))
				if k < 0 && !long.On() {
					continue
				}
				s, action := start(task.Task, r, step)
				var next State
				o := task.options()
				o.Plain = true
				next.Data, next.Frames = task.Model().Step(s.Data, action, bodies.Params{}, o)
				obs, got, ended := task.outcome(s, next, action, task.DefaultParams())
				require.Equal(t, task.Width(task.Task), obs.Dim(0))
				require.Equal(t, r.Terminated.Floats()[step], graphtest.Floats(t, ended)[0], "%s %d", task.ID, step)
				reward = max(reward, oracles.Apart(graphtest.Floats(t, got), r.Reward.Floats()[step:step+1]))
				if k >= 0 {
					observed = max(observed, oracles.Apart(graphtest.Floats(t, obs),
						graphtest.Floats(t, row(r.Observation, k))))
				}
			}
			t.Logf("engine %d %s: rewards differ by %.1e, observations by %.1e", engine, task.ID, reward, observed)
			if task.ID == Pusher.ID {
				require.LessOrEqual(t, max(reward, observed), 1e-2, "engine %d %s", engine, task.ID)
				continue
			}
			require.LessOrEqual(t, max(reward, observed), 3e-5, "engine %d %s", engine, task.ID)
		}
	}
}

// Steps of a compiled program do as well: one of small tasks, and in the long form of all, of both engines.
func TestProgramsAreGymnasiums(t *testing.T) {
	client := xlatest.OpenCPU(t, 1)
	small := map[string]bool{Swimmer.ID: true, Reacher.ID: true, InvertedDoublePendulum.ID: true}
	for _, engine := range []int{4, 3} {
		all := records(t, engine)
		type args struct{ Q, V, U, At *graph.Array }
		type results struct{ Obs, Reward, Ended *graph.Array }
		var list []Task
		var in []args
		for n, task := range tasks {
			if !long.On() && (engine == 3 || !small[task.ID]) {
				continue
			}
			task.Engine = engine
			r := all[n]
			pick := func(a oracles.Array) *graph.Array {
				var out []*graph.Array
				for _, s := range r.Start.Floats() {
					out = append(out, row(a, int(s)))
				}
				return graph.Stack(out, 0)
			}
			at := graph.Float64s(r.Before.Floats(), r.Before.Shape...).Convert(graph.Float32)
			list, in = append(list, task.Task), append(in, args{pick(r.Qpos), pick(r.Qvel), pick(r.Control), at})
		}
		if list == nil {
			continue
		}
		out, err := xlabridge.Jit(client, func(in []args) (out []results) {
			for n, task := range list {
				_, nv, _ := task.Model().Sizes()
				out = append(out, graph.VMap(func(a args) results {
					s := State{Data: bodies.Data{Q: a.Q, V: a.V, Warm: zeros(nv)}, Time: graph.Scalar(0, graph.Int32)}
					place := graph.BroadcastTo(graph.Concatenate(0, a.At, zeros(1)), len(task.Model().Bodies), 3)
					s.Frames.Pos, s.Frames.Com = place, place
					_, obs, reward, ended, _ := task.Step(random.New(0), s, a.U, task.DefaultParams())
					return results{obs, reward, ended}
				})(in[n]))
			}
			return out
		})(in)
		require.NoError(t, err)
		for n, task := range tasks {
			for i := range list {
				if list[i].ID != task.ID {
					continue
				}
				r, got := all[n], out[i]
				require.Equal(t, r.Terminated.Floats(), graphtest.Floats(t, got.Ended), task.ID)
				reward := oracles.Apart(graphtest.Floats(t, got.Reward), r.Reward.Floats())
				var obs []float64
				w := task.Width(task.Task)
				all := graphtest.Floats(t, got.Obs)
				for _, step := range r.Observed.Floats() {
					obs = append(obs, all[int(step)*w:(int(step)+1)*w]...)
				}
				observed := oracles.Apart(obs, r.Observation.Floats())
				t.Logf("engine %d %s: rewards differ by %.1e, observations by %.1e", engine, task.ID, reward, observed)
				require.LessOrEqual(t, reward, task.reward, "engine %d %s", engine, task.ID)
				require.LessOrEqual(t, observed, task.observed, "engine %d %s", engine, task.ID)
			}
		}
	}
}
