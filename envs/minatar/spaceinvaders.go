package minatar

import (
	"image"

	"xlarun/envs"
	"xlarun/envs/draw"
	"xlarun/graph"
	"xlarun/graph/random"
)

func init() { envs.MustRegister(SpaceInvaders{}) }

// SpaceInvaders is MinAtar's game of a cannon at the bottom that shoots at aliens, at 1 each, while they walk from side
// to side, come down a row at each side, and shoot back. The fewer aliens there are, the faster they walk. After the
// last one 24 new aliens come, faster than before with Ramping. Terminated if an alien or a bullet hits the cannon, or
// if aliens in the last row would have to come down; truncated after 1,000 steps. Equal to gymnax 1.0.1 and MinAtar.
//
// Channels: cannon, aliens, aliens walking to the left, aliens walking to the right, own bullets, the aliens' bullets.
// Actions: stay, left, right, fire.
type SpaceInvaders struct{}

// SpaceInvadersParams are scalars: Sticky of float32, Ramping of bool, the others of int32.
type SpaceInvadersParams struct {
	Sticky       *graph.Array `min:"0" max:"1"` // probability that the last action is played again
	Ramping      *graph.Array // whether each wave is faster than the last
	ShotCoolDown *graph.Array `min:"0"` // steps from one own shot to the next
	// steps from one move of the first wave to the next, where it has as many aliens
	MoveInterval *graph.Array `min:"1"`
	ShotInterval *graph.Array `min:"1"` // steps from one shot of the aliens to the next
	MaxSteps     *graph.Array `min:"1"`
}

// SpaceInvadersState is int32 scalars, and sets of cells: i32[10], bit x of element y is column x of row y.
type SpaceInvadersState struct {
	Pos               *graph.Array // column of the cannon
	Friendly, Hostile *graph.Array // sets: bullets
	Aliens            *graph.Array // a set
	AlienDir          *graph.Array // -1 left, 1 right
	MoveInterval      *graph.Array
	MoveTimer         *graph.Array // steps until the aliens move
	AlienShotTimer    *graph.Array
	ShotTimer         *graph.Array
	RampIndex         *graph.Array // number of faster waves
	LastAction        *graph.Array
	Time              *graph.Array
}

// Spec of SpaceInvaders-MinAtar-v1.
func (SpaceInvaders) Spec() envs.Spec { return spec("SpaceInvaders-MinAtar-v1", 6, 4, 1000) }

// DefaultParams of SpaceInvaders-MinAtar-v1.
func (SpaceInvaders) DefaultParams() SpaceInvadersParams {
	return SpaceInvadersParams{Sticky: graph.Scalar(0), Ramping: envs.False().Not(), ShotCoolDown: envs.Steps(5),
		MoveInterval: envs.Steps(12),
		ShotInterval: envs.Steps(10), MaxSteps: envs.Steps(1000)}
}

// Reset puts the first wave into the upper rows.
func (e SpaceInvaders) Reset(_ random.Key, p SpaceInvadersParams) (SpaceInvadersState, *graph.Array) {
	none, zero := graph.Zeros(graph.ShapeOf(graph.Int32, side)), envs.Steps(0)
	s := SpaceInvadersState{Pos: envs.Steps(5), Friendly: none, Hostile: none, Aliens: wave(), AlienDir: envs.Steps(-1),
		MoveInterval: p.MoveInterval,
		MoveTimer:    p.MoveInterval, AlienShotTimer: p.ShotInterval, ShotTimer: zero, RampIndex: zero,
		LastAction: zero,
		Time:       zero}
	return s, e.Observe(s, p)
}

// wave is four rows of six aliens.
func wave() *graph.Array { return graph.Select(graph.Iota(side).Lt(4), 0b11111100, 0) }

// raised and lowered move a set by a row; cells that leave the grid are lost.
func raised(set *graph.Array) *graph.Array {
	return graph.Pad(graph.SliceAxis(set, 0, 1, side), 0, []int{0}, []int{1})
}

func lowered(set *graph.Array) *graph.Array {
	return graph.Pad(graph.SliceAxis(set, 0, 0, side-1), 0, []int{1}, []int{0})
}

// Step moves the cannon and the bullets, then the aliens, which then shoot. The key is used for sticky actions only.
func (e SpaceInvaders) Step(key random.Key, s SpaceInvadersState, action *graph.Array,
	p SpaceInvadersParams) (next SpaceInvadersState, obs, reward, terminated, truncated *graph.Array) {
	envs.CheckAction(e.Spec(), action)
	a := stickyAction(key, action, s.LastAction, p.Sticky)
	next = s
	next.LastAction = a
	last := func(set *graph.Array) *graph.Array { return set.Index(side - 1) }

	fires := a.Eq(3).And(s.ShotTimer.Eq(0))
	friendly := raised(s.Friendly.Or(when(fires, line(envs.Steps(side-1), bit(s.Pos)))))
	hostile := lowered(s.Hostile)
	shotTimer := graph.Select(fires, p.ShotCoolDown, s.ShotTimer)
	next.Pos = moved(s.Pos, a, 1, 2, 0, side-1)

	due := s.MoveTimer.Eq(0)
	moveTimer := graph.Select(due, graph.PopCount(s.Aliens).Sum().Min(s.MoveInterval), s.MoveTimer)
	left := s.AlienDir.Lt(0)
	edge := graph.Select(left, 1, 1<<(side-1))
	turns := due.And(nonZero(graph.ReduceOr(s.Aliens).And(edge)))
	next.AlienDir = graph.Select(turns, s.AlienDir.Neg(), s.AlienDir)
	// No alien is at the side to which they walk, because they would have turned. Aliens that come down from the last
	// row appear at the top, as in MinAtar, but the game is over.
	walked := graph.Select(left, graph.ShiftRightLogical(s.Aliens, 1), graph.ShiftLeft(s.Aliens, 1))
	aliens := graph.Select(due, graph.Select(turns, graph.Roll(s.Aliens, 1, 0), walked), s.Aliens)
	lands := turns.And(nonZero(last(s.Aliens)))
	// A bullet, or an alien before or after its move, in the cannon's cell hits it.
	hit := nonZero(bit(next.Pos).And(last(hostile).Or(last(s.Aliens).Or(last(aliens)))))

	settle(&friendly, &hostile, &aliens)

	// The lowest alien of the nearest column shoots; of two columns equally near, the left one.
	shoots := s.AlienShotTimer.Eq(0)
	x := graph.Iota(side)
	distance := x.Sub(next.Pos).Abs().Mul(side).Add(x)
	nearest := graph.Select(nonZero(graph.ReduceOr(aliens).And(bit(x))), distance, side*side).ReduceMin()
	column := bit(nearest.Rem(side))
	lowest := graph.Select(nonZero(aliens.And(column)), graph.Iota(side), -1).ReduceMax()
	hostile = hostile.Or(when(shoots, line(lowest, column)))

	killed := aliens.And(friendly)
	aliens = aliens.Xor(killed)
	next.Friendly, next.Hostile = friendly.Xor(killed), hostile
	next.ShotTimer = shotTimer.Sub(1).Max(0)
	next.MoveTimer = moveTimer.Sub(1)
	next.AlienShotTimer = graph.Select(shoots, p.ShotInterval, s.AlienShotTimer).Sub(1)
	settle(&aliens)
	cleared := nonZero(graph.ReduceOr(aliens)).Not()
	faster := number(cleared.And(p.Ramping.And(s.MoveInterval.Gt(6))))
	next.MoveInterval, next.RampIndex = s.MoveInterval.Sub(faster), s.RampIndex.Add(faster)
	next.Aliens = aliens.Or(when(cleared, wave()))

	settle(&next.Friendly, &next.Hostile, &next.Aliens)
	next.Time, truncated = envs.Tick(s.Time, p.MaxSteps)
	return next, e.Observe(next, p), graph.PopCount(killed).Sum().Convert(graph.Float32),
		hit.Or(lands), truncated
}

// Observe gives the six channels.
func (SpaceInvaders) Observe(s SpaceInvadersState, _ SpaceInvadersParams) *graph.Array {
	left := s.AlienDir.Lt(0)
	aliens := grid(s.Aliens)
	return channels(cell(envs.Steps(side-1), s.Pos), aliens, aliens.And(left),
		aliens.And(left.Not()), grid(s.Friendly), grid(s.Hostile))
}

// Draw paints the grid.
func (e SpaceInvaders) Draw(state any, size image.Point) (image.Image, error) {
	return paint(e.Spec().ID, state, size, func(s SpaceInvadersState) *graph.Array { return s.Time },
		func(s SpaceInvadersState) *graph.Array { return e.Observe(s, SpaceInvadersParams{}) },
		layer{1, draw.Wood, .8}, layer{4, draw.Ink, .35}, layer{5, draw.Signal, .35}, layer{0, draw.Accent, .9})
}
