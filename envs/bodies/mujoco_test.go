package bodies

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/third_party/oracles"
)

// task is what third_party/oracles/mujoco_bodies.py recorded of one.
type task struct {
	Name                                         string
	Model                                        *Model
	Skip                                         int
	Weights, Dofs, Qpos, Qvel, Control           oracles.Array
	Start, Before, Reward, Observed, Observation oracles.Array
	Contacts, Rows                               oracles.Array
	Solver                                       struct{ Median, Worst float64 }
}

var engines = []int{4, 3}

func tasks(t *testing.T, engine int) []task {
	var file struct{ Tasks []task }
	require.NoError(t, oracles.Read(fmt.Sprintf("testdata/mujoco%d.json.gz", engine), &file))
	for _, x := range file.Tasks {
		require.NoError(t, x.Model.Check(), x.Name)
	}
	return file.Tasks
}

// row is row i of an array of two dimensions.
func row(a oracles.Array, i int) []float64 {
	n := a.Shape[1]
	return a.Floats()[i*n : (i+1)*n]
}

func knowns(x []float64) []num {
	out := make([]num, len(x))
	for i := range x {
		out[i] = k(x[i])
	}
	return out
}

func numbers(x []num) []float64 {
	out := make([]float64, len(x))
	for i := range x {
		out[i], _ = x[i].Value()
	}
	return out
}

// apart is the greatest difference of numbers, relative to 1 + their magnitude; NaN if one is.
func apart(got, want []float64) (worst float64) {
	for i := range want {
		worst = max(worst, math.Abs(got[i]-want[i])/(1+math.Abs(want[i])))
	}
	return worst
}

// Positions and velocities after a step from each recorded state are MuJoCo's. Warm starts are zero.
func TestStepsAreMuJoCos(t *testing.T) {
	for _, engine := range engines {
		for _, x := range tasks(t, engine) {
			s := x.Model.dynamics(x.Model.values(), engine)
			nv := len(s.dofs)
			worst, at := 0., 0
			for _, i := range x.Start.Floats() {
				start := state{knowns(row(x.Qpos, int(i))), knowns(row(x.Qvel, int(i))), make([]num, nv)}
				end, _ := s.substeps(start, knowns(row(x.Control, int(i))), x.Skip)
				d := max(apart(numbers(end.q), row(x.Qpos, int(i)+1)), apart(numbers(end.v), row(x.Qvel, int(i)+1)))
				if d > worst || math.IsNaN(d) {
					worst, at = d, int(i)
				}
			}
			t.Log(engine, x.Name, worst, at)
		}
	}
}
