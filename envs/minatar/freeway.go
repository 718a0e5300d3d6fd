package minatar

import (
	"image"

	"xlarun/envs"
	"xlarun/envs/draw"
	"xlarun/graph"
	"xlarun/graph/random"
)

func init() { envs.MustRegister(Freeway{}) }

// Freeway is MinAtar's game of a chicken that crosses eight lanes of cars from the bottom to the top: each crossing
// pays 1 and gives the cars new speeds and directions. A chicken hit by a car starts again at the bottom. It can move
// only every PlayerSpeed steps. Never terminated; truncated after 2,500 steps (MinAtar terminates there). The
// difficulty is constant. Equal to gymnax 1.0.1 and MinAtar.
//
// Channels: chicken, cars, and trails of the cars with each speed, 1 to 5 steps for a cell. Actions: stay, up, down.
type Freeway struct{}

// FreewayParams are scalars, Sticky of float32 and the others of int32.
type FreewayParams struct {
	Sticky      *graph.Array `min:"0" max:"1"` // probability that the last action is played again
	PlayerSpeed *graph.Array `min:"1"`         // steps from one move of the chicken to the next
	MaxSteps    *graph.Array `min:"1"`
}

// FreewayState is int32 scalars and vectors with one element for each of the lanes in rows 1 to 8.
type FreewayState struct {
	Pos        *graph.Array // row of the chicken
	MoveTimer  *graph.Array // steps until it may move
	CarX       *graph.Array // i32[8]
	CarTimer   *graph.Array // i32[8]: steps until a car moves
	CarSpeed   *graph.Array // i32[8]: steps for a cell, negative to the left
	LastAction *graph.Array
	Time       *graph.Array
}

const lanes = 8

// chickenX is the column of the chicken.
const chickenX = 4

// Spec of Freeway-MinAtar-v1.
func (Freeway) Spec() envs.Spec { return spec("Freeway-MinAtar-v1", 7, 3, 2500) }

// DefaultParams of Freeway-MinAtar-v1.
func (Freeway) DefaultParams() FreewayParams {
	return FreewayParams{Sticky: graph.Scalar(0), PlayerSpeed: envs.Steps(3), MaxSteps: envs.Steps(2500)}
}

// Reset puts the chicken at the bottom and the cars on the left.
func (e Freeway) Reset(key random.Key, p FreewayParams) (FreewayState, *graph.Array) {
	speed := traffic(key)
	s := FreewayState{Pos: envs.Steps(side - 1), MoveTimer: p.PlayerSpeed, CarX: graph.ZerosLike(speed),
		CarTimer: speed.Abs(), CarSpeed: speed,
		LastAction: envs.Steps(0), Time: envs.Steps(0)}
	return s, e.Observe(s, p)
}

// traffic draws speeds and directions.
func traffic(key random.Key) *graph.Array {
	speeds, directions := random.Split2(key)
	each := graph.ShapeOf(graph.Int32, lanes)
	right := random.Randint(directions, each, 0, 2)
	return random.Randint(speeds, each, 1, 6).Mul(right.Mul(2).Sub(1))
}

// Step moves the chicken, then the cars.
func (e Freeway) Step(key random.Key, s FreewayState, action *graph.Array,
	p FreewayParams) (next FreewayState, obs, reward, terminated, truncated *graph.Array) {
	envs.CheckAction(e.Spec(), action)
	a := stickyAction(key, action, s.LastAction, p.Sticky)
	moves := s.MoveTimer.Eq(0).And(a.Gt(0))
	pos := graph.Select(moves, moved(s.Pos, a, 1, 2, 0, side-1), s.Pos)
	timer := graph.Select(moves, p.PlayerSpeed, s.MoveTimer)
	wins := pos.Eq(0)
	pos = graph.Select(wins, side-1, pos)

	fresh := traffic(key)
	speed := graph.Select(wins, fresh, s.CarSpeed)
	wait := graph.Select(wins, fresh.Abs(), s.CarTimer)
	due := wait.Eq(0)
	x := s.CarX.Add(graph.Select(due, graph.Select(speed.Gt(0), 1, -1), 0))
	x = wrapColumn(x)
	// A hit chicken goes to the last row, which has no cars. So the order of the cars does not matter.
	over := s.CarX.Eq(chickenX).Or(x.Eq(chickenX))
	hit := over.And(graph.Iota(lanes).Add(1).Eq(pos)).Any()

	next = FreewayState{Pos: graph.Select(hit, side-1, pos), MoveTimer: timer.Sub(1).Max(0), CarX: x,
		CarTimer: graph.Select(due, speed.Abs(), wait.Sub(1)), CarSpeed: speed, LastAction: a}
	next.Time, truncated = envs.Tick(s.Time, p.MaxSteps)
	return next, e.Observe(next, p), wins.Convert(graph.Float32), envs.False(), truncated
}

// wrapColumn wraps a column that is one step outside to the other side.
func wrapColumn(x *graph.Array) *graph.Array {
	return graph.Select(x.Lt(0), side-1, graph.Select(x.Ge(side), 0, x))
}

// Observe gives the seven channels.
func (Freeway) Observe(s FreewayState, _ FreewayParams) *graph.Array {
	behind := wrapColumn(s.CarX.Sub(graph.Select(s.CarSpeed.Gt(0), 1, -1)))
	grids := []*graph.Array{cell(s.Pos, envs.Steps(chickenX)), street(s.CarX, graph.OnesLike(s.CarSpeed), 1)}
	for speed := 1; speed <= 5; speed++ {
		grids = append(grids, street(behind, s.CarSpeed.Abs(), speed))
	}
	return channels(grids...)
}

// street is the grid of the cells x of the lanes where what equals the given value.
func street(x, what *graph.Array, which int) *graph.Array {
	x = graph.Select(what.Eq(which), x, -1)
	return graph.Pad(x.Reshape(lanes, 1).Eq(columns()), false, []int{1, 0}, []int{1, 0})
}

// Draw paints the grid.
func (e Freeway) Draw(state any, size image.Point) (image.Image, error) {
	return paint(e.Spec().ID, state, size, func(s FreewayState) *graph.Array { return s.Time },
		func(s FreewayState) *graph.Array { return e.Observe(s, FreewayParams{}) },
		layer{2, faint, .9}, layer{3, faint, .75}, layer{4, faint, .6}, layer{5, faint, .45}, layer{6, faint, .3},
		layer{1, draw.Signal, .9}, layer{0, draw.Accent, .8})
}
