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
// Equal to gymnax 1.0.1, which differs from MinAtar when something spawns: gymnax searches the rows in random order for
// a free row, but skips the first, and empties the last row if it finds none.
//
// Channels: player, enemies, trails of enemies and gold, gold. Actions: stay, left, up, right, down.
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
	return AsterixParams{Sticky: graph.Scalar(0), Ramping: envs.False().Not(), RampInterval: envs.Steps(100),
		SpawnSpeed:   envs.Steps(10),
		MoveInterval: envs.Steps(5), MaxSteps: envs.Steps(1000)}
}

// Reset puts the player in the middle, alone.
func (e Asterix) Reset(_ random.Key, p AsterixParams) (AsterixState, *graph.Array) {
	none, zero := graph.Zeros(graph.ShapeOf(graph.Bool, lanes)), envs.Steps(0)
	s := AsterixState{PlayerX: envs.Steps(5), PlayerY: envs.Steps(5), There: none,
		X: graph.Zeros(graph.ShapeOf(graph.Int32, lanes)), Right: none, Gold: none,
		SpawnSpeed: p.SpawnSpeed, SpawnTimer: p.SpawnSpeed, MoveSpeed: p.MoveInterval, MoveTimer: p.MoveInterval,
		RampTimer: p.RampInterval,
		RampIndex: zero, LastAction: zero, Time: zero}
	return s, e.Observe(s, p)
}

// Step lets somebody come in, moves the player, then the others.
func (e Asterix) Step(key random.Key, s AsterixState, action *graph.Array,
	p AsterixParams) (next AsterixState, obs, reward, terminated, truncated *graph.Array) {
	envs.CheckAction(e.Spec(), action)
	a := stickyAction(key, action, s.LastAction, p.Sticky)
	next = s
	next.LastAction = a
	spawns := s.SpawnTimer.Eq(0)
	next.spawn(key, spawns)
	spawnTimer := graph.Select(spawns, s.SpawnSpeed, s.SpawnTimer)
	next.PlayerX = moved(s.PlayerX, a, 1, 3, 0, side-1)
	next.PlayerY = moved(s.PlayerY, a, 2, 4, 1, side-2)

	row := graph.Iota(lanes).Add(1).Eq(next.PlayerY)
	// meet removes the gold in the player's cell and reports whether there was gold or an enemy. Each row has at most
	// one object.
	meet := func() (gold, enemy *graph.Array) {
		met := next.There.And(row).And(next.X.Eq(next.PlayerX))
		taken := met.And(next.Gold)
		enemy = met.And(next.Gold.Not()).Any()
		next.keep(taken.Not())
		return taken.Any(), enemy
	}
	gold, enemy := meet()
	due := s.MoveTimer.Eq(0)
	moveTimer := graph.Select(due, s.MoveSpeed, s.MoveTimer)
	step := graph.Select(next.Right, 1, -1)
	next.X = next.X.Add(graph.Select(due.And(next.There), step, 0))
	next.keep(next.X.Ge(0).And(next.X.Lt(side)))
	goldLater, enemyLater := meet()

	next.SpawnTimer, next.MoveTimer = spawnTimer.Sub(1), moveTimer.Sub(1)
	ramping := p.Ramping.And(s.SpawnSpeed.Gt(1).Or(s.MoveSpeed.Gt(1)))
	waits := ramping.And(s.RampTimer.Ge(0))
	harder := ramping.And(waits.Not())
	next.RampTimer = graph.Select(waits, s.RampTimer.Sub(1), p.RampInterval)
	odd := s.RampIndex.Rem(2).Eq(1)
	next.MoveSpeed = s.MoveSpeed.Sub(number(harder.And(odd.And(s.MoveSpeed.Gt(1)))))
	next.SpawnSpeed = s.SpawnSpeed.Sub(number(harder.And(s.SpawnSpeed.Gt(1))))
	next.RampIndex = s.RampIndex.Add(number(harder))

	next.Time, truncated = envs.Tick(s.Time, p.MaxSteps)
	// The first meet removes its gold, so no gold counts twice.
	return next, e.Observe(next, p), gold.Or(goldLater).Convert(graph.Float32),
		enemy.Or(enemyLater), truncated
}

// keep empties the rows where mask is false.
func (s *AsterixState) keep(mask *graph.Array) {
	s.There = s.There.And(mask)
	s.X = graph.Select(s.There, s.X, 0)
	s.Right, s.Gold = s.Right.And(s.There), s.Gold.And(s.There)
}

// spawn adds an enemy or gold in a free row if now is true.
func (s *AsterixState) spawn(key random.Key, now *graph.Array) {
	keys := random.SplitN(key, 3)
	right := random.Randint(keys[0], graph.ShapeOf(graph.Int32), 0, 2).Eq(0)
	// As jax.random.choice draws with probabilities 1/3 and 2/3.
	gold := graph.Sub(1, random.Uniform(keys[1], graph.ShapeOf(graph.Float32), 0, 1)).Le(float32(1) / 3)

	// jax.random.permutation sorts the rows by these words; equal words keep their order. The first free row after the
	// first is a minimum over ranks, which needs no sorting.
	_, words := random.Split2(keys[2])
	order := random.Bits(words, graph.Uint32, lanes)
	index := graph.Iota(lanes)
	tieBefore := order.ExpandDims(0).Eq(order.ExpandDims(1)).And(index.ExpandDims(0).Lt(index.ExpandDims(1)))
	rank := number(order.ExpandDims(0).Lt(order.ExpandDims(1)).Or(tieBefore)).Sum(1)
	open := s.There.Not().And(rank.Gt(0))
	first := graph.Select(open, rank, lanes-1).ReduceMin()
	chosen := rank.Eq(first).And(now)
	// If no row is open, the last one is chosen and emptied.
	s.There = graph.Select(chosen, open, s.There)
	s.X = graph.Select(chosen, graph.Select(right, 0, side-1), s.X)
	s.Right, s.Gold = graph.Select(chosen, right, s.Right), graph.Select(chosen, gold, s.Gold)
	s.keep(s.There)
}

// Observe gives the four channels.
func (Asterix) Observe(s AsterixState, _ AsterixParams) *graph.Array {
	behind := s.X.Sub(graph.Select(s.Right, 1, -1))
	return channels(cell(s.PlayerY, s.PlayerX), street(s.X, number(s.There.And(s.Gold.Not())), 1),
		street(behind, number(s.There), 1), street(s.X, number(s.There.And(s.Gold)), 1))
}

// Draw paints the grid.
func (e Asterix) Draw(state any, size image.Point) (image.Image, error) {
	return paint(e.Spec().ID, state, size, func(s AsterixState) *graph.Array { return s.Time },
		func(s AsterixState) *graph.Array { return e.Observe(s, AsterixParams{}) },
		layer{2, faint, .5}, layer{1, draw.Signal, .8}, layer{3, draw.Wood, .8}, layer{0, draw.Accent, .8})
}
