package small

import (
	"image"

	"xlarun/envs"
	"xlarun/envs/draw"
	"xlarun/graph"
	"xlarun/graph/random"
)

func init() { envs.MustRegister(FrozenLake{}) }

// FrozenLake is a walk over ice of 4 x 4 fields from the first to the last one, past four holes: action 0 goes left,
// 1 down, 2 right, 3 up. With probability SuccessRate the action counts, else one of its two neighbors. The goal
// pays 1. The goal and the holes terminate; truncated after 100 steps. Gymnasium calls it solved at a mean return of
// 0.7.
//
// The observation is the field, row by row, a number below 16. Equal to gymnax 1.0.1 with the map "4x4".
type FrozenLake struct{}

// FrozenLakeParams are scalars, SuccessRate of float32 and MaxSteps of int32.
type FrozenLakeParams struct {
	SuccessRate *graph.Array `min:"0" max:"1"`
	MaxSteps    *graph.Array `min:"1"`
}

// FrozenLakeState is int32 scalars.
type FrozenLakeState struct{ Position, Time *graph.Array }

const lakeSide = 4

var lakeHoles = []int32{5, 7, 11, 12}

const lakeGoal = lakeSide*lakeSide - 1

// Spec of FrozenLake-misc-v1.
func (FrozenLake) Spec() envs.Spec {
	return envs.Spec{ID: "FrozenLake-misc-v1", Observation: envs.Discrete{N: lakeSide * lakeSide},
		Action: envs.Discrete{N: 4}, MaxSteps: 100, MaxReward: new(1.)}
}

// DefaultParams of FrozenLake-misc-v1.
func (FrozenLake) DefaultParams() FrozenLakeParams {
	return FrozenLakeParams{SuccessRate: graph.Scalar(1. / 3), MaxSteps: envs.Steps(100)}
}

// Reset stands on the first field. The key is not used.
func (e FrozenLake) Reset(_ random.Key, p FrozenLakeParams) (FrozenLakeState, *graph.Array) {
	s := FrozenLakeState{envs.Steps(0), envs.Steps(0)}
	return s, e.Observe(s, p)
}

// Step draws the direction and goes there.
func (e FrozenLake) Step(key random.Key, s FrozenLakeState, action *graph.Array,
	p FrozenLakeParams) (next FrozenLakeState, obs, reward, terminated, truncated *graph.Array) {
	envs.CheckAction(e.Spec(), action)
	forSide, forSuccess := random.Split2(key)
	side := random.Choice(forSide, 2).Mul(2).Sub(1)
	kept := random.Uniform(forSuccess, graph.ShapeOf(graph.Float32), 0, 1).Lt(p.SuccessRate)
	action = action.Convert(graph.Int32)
	action = graph.Select(kept, action, action.Add(side).Mod(4))
	along := func(at *graph.Array, up, down int) *graph.Array {
		return graph.Clamp(0, at.Add(number(action.Eq(up))).Sub(number(action.Eq(down))), lakeSide-1)
	}
	row, column := along(graph.Quo(s.Position, lakeSide), 1, 3), along(s.Position.Mod(lakeSide), 2, 0)
	next = FrozenLakeState{Position: row.Mul(lakeSide).Add(column)}
	next.Time, truncated = envs.Tick(s.Time, p.MaxSteps)
	goal := next.Position.Eq(lakeGoal)
	terminated = graph.IsIn(next.Position, graph.Int32s(lakeHoles)).Or(goal)
	return next, e.Observe(next, p), float(goal), terminated, truncated
}

// Observe is the field.
func (FrozenLake) Observe(s FrozenLakeState, _ FrozenLakeParams) *graph.Array { return s.Position }

// Draw paints the ice, the holes, the goal and the walker.
func (e FrozenLake) Draw(state any, size image.Point) (image.Image, error) {
	b := newBoard(size, lakeSide, lakeSide)
	v := draw.Scalars(b.Canvas, e.Spec().ID, state, func(s FrozenLakeState) []*graph.Array {
		return []*graph.Array{s.Position}
	})
	at := func(field int) (y, x float64) { return float64(field / lakeSide), float64(field % lakeSide) }
	for _, hole := range lakeHoles {
		y, x := at(int(hole))
		b.fill(draw.Ink, y, x, .8)
	}
	y, x := at(lakeGoal)
	b.fill(draw.Wood, y, x, .8)
	y, x = at(int(v[0]))
	b.dot(draw.Accent, y, x, .3)
	return b.Image()
}
