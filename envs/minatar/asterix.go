package minatar

import (
	"image"

	"xlarun/envs"
	"xlarun/envs/draw"
	"xlarun/graph"
	"xlarun/graph/random"
)

func init() { envs.MustRegister(Asterix{}) }

// Asterix is MinAtar's game of a player who collects gold, at 1 each, and avoids enemies; both come from the sides, at
// most one in each of the rows 1 to 8. Terminated where the player meets an enemy; truncated after 1,000 steps. With
// Ramping they come more often and move faster after every RampInterval steps.
//
// Equal to gymnax 1.0.1, which differs from MinAtar in one thing: of the rows, in random order, it never looks at the first
// when it wants to fill a free one, and where it finds none it empties the last one.
//
// Channels: player, enemies, the places behind enemies and gold, gold. Actions: stay, left, up, right, down.
type Asterix struct{}

// AsterixParams are scalars: Sticky of float32, Ramping of bool, the others of int32.
type AsterixParams struct {
	Sticky       *graph.Array `min:"0" max:"1"` // probability that the last action is played again
	Ramping      *graph.Array // whether the game gets harder
	RampInterval *graph.Array `min:"1"` // steps until it does
	SpawnSpeed   *graph.Array `min:"1"` // steps from one newcomer to the next at the start
	MoveInterval *graph.Array `min:"1"` // steps from one move of enemies and gold to the next at the start
	MaxSteps     *graph.Array `min:"1"`
}

// AsterixState is int32 scalars, and vectors with one element for each of the rows 1 to 8.
type AsterixState struct {
	PlayerX, PlayerY *graph.Array
	There            *graph.Array // bool[8]: whether something is in a row; if not, the other vectors are zero there
	X                *graph.Array // i32[8]
	Right            *graph.Array // bool[8]: whether it moves to the right
	Gold             *graph.Array // bool[8]: whether it is gold
	SpawnSpeed       *graph.Array
	SpawnTimer       *graph.Array
	MoveSpeed        *graph.Array
	MoveTimer        *graph.Array
	RampTimer        *graph.Array
	RampIndex        *graph.Array // how often the game has become harder
	LastAction       *graph.Array
	Time             *graph.Array
}

// Spec of Asterix-MinAtar-v1.
func (Asterix) Spec() envs.Spec { return spec("Asterix-MinAtar-v1", 4, 5, 1000) }

// DefaultParams of Asterix-MinAtar-v1.
func (Asterix) DefaultParams() AsterixParams {
	return AsterixParams{Sticky: graph.Scalar(0), Ramping: graph.Not(envs.False()), RampInterval: envs.Steps(100), SpawnSpeed: envs.Steps(10),
		MoveInterval: envs.Steps(5), MaxSteps: envs.Steps(1000)}
}

// Reset puts the player in the middle, alone.
func (e Asterix) Reset(_ random.Key, p AsterixParams) (AsterixState, *graph.Array) {
	none, zero := graph.Zeros(graph.ShapeOf(graph.Bool, lanes)), envs.Steps(0)
	s := AsterixState{PlayerX: envs.Steps(5), PlayerY: envs.Steps(5), There: none, X: graph.Zeros(graph.ShapeOf(graph.Int32, lanes)), Right: none, Gold: none,
		SpawnSpeed: p.SpawnSpeed, SpawnTimer: p.SpawnSpeed, MoveSpeed: p.MoveInterval, MoveTimer: p.MoveInterval, RampTimer: p.RampInterval,
		RampIndex: zero, LastAction: zero, Time: zero}
	return s, e.Observe(s, p)
}

// Step lets somebody come in, moves the player, then the others.
func (e Asterix) Step(key random.Key, s AsterixState, action *graph.Array, p AsterixParams) (next AsterixState, obs, reward, terminated, truncated *graph.Array) {
	envs.CheckAction(e.Spec(), action)
	a := played(key, action, s.LastAction, p.Sticky)
	next = s
	next.LastAction = a
	spawns := graph.Eq(s.SpawnTimer, 0)
	next.spawn(key, spawns)
	spawnTimer := graph.Select(spawns, s.SpawnSpeed, s.SpawnTimer)
	next.PlayerX = moved(s.PlayerX, a, 1, 3, 0, side-1)
	next.PlayerY = moved(s.PlayerY, a, 2, 4, 1, side-2)

	row := graph.Eq(graph.Add(graph.Iota(lanes), 1), next.PlayerY)
	// meet is what the player meets: gold, which is then gone, and whether there is an enemy. The player's row has one at most.
	meet := func() (gold, enemy *graph.Array) {
		met := graph.And(graph.And(next.There, row), graph.Eq(next.X, next.PlayerX))
		taken := graph.And(met, next.Gold)
		enemy = graph.Any(graph.And(met, graph.Not(next.Gold)))
		next.keep(graph.Not(taken))
		return graph.Any(taken), enemy
	}
	gold, enemy := meet()
	due := graph.Eq(s.MoveTimer, 0)
	moveTimer := graph.Select(due, s.MoveSpeed, s.MoveTimer)
	step := graph.Select(next.Right, 1, -1)
	next.X = graph.Add(next.X, graph.Select(graph.And(due, next.There), step, 0))
	next.keep(graph.And(graph.Ge(next.X, 0), graph.Lt(next.X, side)))
	goldLater, enemyLater := meet()

	next.SpawnTimer, next.MoveTimer = graph.Sub(spawnTimer, 1), graph.Sub(moveTimer, 1)
	ramping := graph.And(p.Ramping, graph.Or(graph.Gt(s.SpawnSpeed, 1), graph.Gt(s.MoveSpeed, 1)))
	waits := graph.And(ramping, graph.Ge(s.RampTimer, 0))
	harder := graph.And(ramping, graph.Not(waits))
	next.RampTimer = graph.Select(waits, graph.Sub(s.RampTimer, 1), p.RampInterval)
	odd := graph.Eq(graph.Rem(s.RampIndex, 2), 1)
	next.MoveSpeed = graph.Sub(s.MoveSpeed, number(graph.And(harder, graph.And(odd, graph.Gt(s.MoveSpeed, 1)))))
	next.SpawnSpeed = graph.Sub(s.SpawnSpeed, number(graph.And(harder, graph.Gt(s.SpawnSpeed, 1))))
	next.RampIndex = graph.Add(s.RampIndex, number(harder))

	next.Time, truncated = envs.Tick(s.Time, p.MaxSteps)
	// Gold that is met before it moves is gone when it would be met again.
	return next, e.Observe(next, p), graph.Convert(graph.Or(gold, goldLater), graph.Float32), graph.Or(enemy, enemyLater), truncated
}

// keep empties the rows that are not kept.
func (s *AsterixState) keep(kept *graph.Array) {
	s.There = graph.And(s.There, kept)
	s.X = graph.Select(s.There, s.X, 0)
	s.Right, s.Gold = graph.And(s.Right, s.There), graph.And(s.Gold, s.There)
}

// spawn lets a newcomer into a free row, where now is true.
func (s *AsterixState) spawn(key random.Key, now *graph.Array) {
	keys := random.SplitN(key, 3)
	right := graph.Eq(random.Randint(keys[0], graph.ShapeOf(graph.Int32), 0, 2), 0)
	// As jax.random.choice draws with probabilities 1/3 and 2/3.
	gold := graph.Le(graph.Sub(1, random.Uniform(keys[1], graph.ShapeOf(graph.Float32), 0, 1)), float32(1)/3)

	// The order that jax.random.permutation gives the rows is that of these words. What is looked for is the first free
	// row in it, from the second row on: a minimum, which takes no sorting. Equal words keep their order.
	_, words := random.Split2(keys[2])
	order := random.Bits(words, graph.Uint32, lanes)
	place := graph.Iota(lanes)
	before := graph.Or(graph.Lt(graph.ExpandDims(order, 0), graph.ExpandDims(order, 1)),
		graph.And(graph.Eq(graph.ExpandDims(order, 0), graph.ExpandDims(order, 1)), graph.Lt(graph.ExpandDims(place, 0), graph.ExpandDims(place, 1))))
	rank := graph.Sum(number(before), 1)
	open := graph.And(graph.Not(s.There), graph.Gt(rank, 0))
	first := graph.ReduceMin(graph.Select(open, rank, lanes-1))
	chosen := graph.And(graph.Eq(rank, first), now)
	// Where none is open the last one is chosen, and emptied: it is full, or it would be open.
	s.There = graph.Select(chosen, open, s.There)
	s.X = graph.Select(chosen, graph.Select(right, 0, side-1), s.X)
	s.Right, s.Gold = graph.Select(chosen, right, s.Right), graph.Select(chosen, gold, s.Gold)
	s.keep(s.There)
}

// Observe gives the four channels.
func (Asterix) Observe(s AsterixState, _ AsterixParams) *graph.Array {
	behind := graph.Sub(s.X, graph.Select(s.Right, 1, -1))
	return channels(cell(s.PlayerY, s.PlayerX), street(s.X, number(graph.And(s.There, graph.Not(s.Gold))), 1),
		street(behind, number(s.There), 1), street(s.X, number(graph.And(s.There, s.Gold)), 1))
}

// Draw paints the grid.
func (e Asterix) Draw(state any, size image.Point) (image.Image, error) {
	return paint(e.Spec().ID, state, size, func(s AsterixState) *graph.Array { return s.Time }, func(s AsterixState) *graph.Array { return e.Observe(s, AsterixParams{}) },
		layer{2, faint, .5}, layer{1, draw.Signal, .8}, layer{3, draw.Wood, .8}, layer{0, draw.Accent, .8})
}
