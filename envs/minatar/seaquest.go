package minatar

import (
	"image"

	"xlarun/envs"
	"xlarun/envs/draw"
	"xlarun/graph"
	"xlarun/graph/random"
)

func init() { envs.MustRegister(Seaquest{}) }

// Seaquest is MinAtar's game of a submarine that shoots fish and hostile submarines, at 1 each, and picks up divers, at
// most six. Oxygen runs out under water and is filled up at the surface, where one diver leaves; if there are six, all
// leave and pay up to 10, by the oxygen that is left. Terminated where a fish, a submarine or a bullet meets the
// submarine, where the oxygen is used up, and where it comes up without divers; truncated after 1,000 steps. With
// Ramping there are more and faster enemies each time it comes up.
//
// Equal to gymnax 1.0.1, which ends the game one step before MinAtar where the oxygen is used up. Where gymnax keeps
// lists of up to 100 there are slots here, as many as the default parameters can fill: of those who come when all slots
// are taken nothing is seen. Of several enemies in one cell a bullet hits the one in the first slot, in gymnax the
// oldest.
//
// Channels: the submarine's front, its back, own bullets, the place behind all who swim, hostile bullets, fish, hostile
// submarines, gauge of oxygen, gauge of divers on board, divers. Actions: stay, left, up, right, down, fire.
type Seaquest struct{}

// SeaquestParams are scalars: Sticky of float32, Ramping of bool, the others of int32.
type SeaquestParams struct {
	Sticky            *graph.Array `min:"0" max:"1"` // probability that the last action is played again
	Ramping           *graph.Array // whether the game gets harder
	SpawnSpeed        *graph.Array `min:"1"` // steps from one enemy to the next at the start
	MoveInterval      *graph.Array `min:"1"` // steps that an enemy rests in a cell at the start
	MaxOxygen         *graph.Array `min:"1"` // steps under water
	DiverSpawnSpeed   *graph.Array `min:"1"` // steps from one diver to the next
	DiverMoveInterval *graph.Array `min:"1"` // steps that a diver rests in a cell
	ShotCoolDown      *graph.Array `min:"0"` // steps from one own shot to the next
	// steps that a hostile submarine waits between its shots. Below 9, each shot replaces its last
	EnemyShotInterval *graph.Array `min:"0"`
	MaxSteps          *graph.Array `min:"1"`
}

// SeaquestState is int32 scalars, where no other type is given, and slots: matrices with a column for each of those who
// swim. Their first two rows are the column and the row of the grid (column -1: the slot is free), the third is 1 for
// who swims to the right and 0 to the left, the fourth the steps until it moves.
type SeaquestState struct {
	X, Y       *graph.Array // the submarine's front
	Right      *graph.Array // bool: whether it looks to the right
	Oxygen     *graph.Array
	DiverCount *graph.Array // divers on board
	Surface    *graph.Array // bool: whether it has come up and stayed
	Friendly   *graph.Array // i32[3, 10]: own bullets, which move at each step
	Hostile    *graph.Array // i32[3, 12]: the bullet of each hostile submarine
	Fish       *graph.Array // i32[4, 24]
	Subs       *graph.Array // i32[5, 12]: hostile submarines; the fifth row is the steps until one shoots
	Divers     *graph.Array // i32[4, 6]
	SpawnSpeed *graph.Array
	SpawnTimer *graph.Array
	DiverTimer *graph.Array // steps until the next diver comes
	MoveSpeed  *graph.Array
	RampIndex  *graph.Array // how often the game has become harder
	ShotTimer  *graph.Array
	LastAction *graph.Array
	Time       *graph.Array
}

// Sizes of the slots. A bullet lives for ten steps at most; by default there are at most three divers, and enemies come
// every 20 steps at first and stay for 60.
const (
	friendlySlots, hostileSlots = 10, 12
	fishSlots, diverSlots       = 24, 6
	onBoard                     = 6
)

// Spec of Seaquest-MinAtar-v1.
func (Seaquest) Spec() envs.Spec { return spec("Seaquest-MinAtar-v1", 10, 6, 1000) }

// DefaultParams of Seaquest-MinAtar-v1.
func (Seaquest) DefaultParams() SeaquestParams {
	return SeaquestParams{Sticky: graph.Scalar(0), Ramping: envs.False().Not(), SpawnSpeed: envs.Steps(20),
		MoveInterval: envs.Steps(5),
		MaxOxygen:    envs.Steps(200), DiverSpawnSpeed: envs.Steps(30), DiverMoveInterval: envs.Steps(5),
		ShotCoolDown:      envs.Steps(5),
		EnemyShotInterval: envs.Steps(10), MaxSteps: envs.Steps(1000)}
}

// Reset puts the submarine at the surface, alone.
func (e Seaquest) Reset(_ random.Key, p SeaquestParams) (SeaquestState, *graph.Array) {
	zero := envs.Steps(0)
	empty := func(rows, slots int) *graph.Array { return graph.Full(graph.ShapeOf(graph.Int32, rows, slots), -1) }
	s := SeaquestState{X: envs.Steps(5), Y: zero, Right: envs.False(), Oxygen: p.MaxOxygen, DiverCount: zero,
		Surface:  envs.False().Not(),
		Friendly: empty(3, friendlySlots), Hostile: empty(3, hostileSlots), Fish: empty(4, fishSlots),
		Subs: empty(5, hostileSlots), Divers: empty(4, diverSlots),
		SpawnSpeed: p.SpawnSpeed, SpawnTimer: p.SpawnSpeed, DiverTimer: p.DiverSpawnSpeed, MoveSpeed: p.MoveInterval,
		RampIndex: zero,
		ShotTimer: zero, LastAction: zero, Time: zero}
	return s, e.Observe(s, p)
}

// swarm is slots, row by row.
type swarm struct{ x, y, right, timer, shot *graph.Array }

func swarmOf(a *graph.Array) (w swarm) {
	rows := []**graph.Array{&w.x, &w.y, &w.right, &w.timer, &w.shot}
	for i, row := range graph.Unstack(a, 0) {
		*rows[i] = row
	}
	return w
}

func (w swarm) matrix() *graph.Array {
	var rows []*graph.Array
	for _, row := range []*graph.Array{w.x, w.y, w.right, w.timer, w.shot} {
		if row != nil {
			rows = append(rows, row)
		}
	}
	return graph.Stack(rows, 0)
}

// settled is w, computed once.
func (w swarm) settled() swarm {
	fields := []**graph.Array{}
	for _, f := range []**graph.Array{&w.x, &w.y, &w.right, &w.timer, &w.shot} {
		if *f != nil {
			fields = append(fields, f)
		}
	}
	settle(fields...)
	return w
}

func (w swarm) there() *graph.Array { return w.x.Ge(0) }

// at tells which of them are in a cell, and meets whether any is.
func (w swarm) at(x, y *graph.Array) *graph.Array {
	return w.x.Eq(x).And(w.y.Eq(y))
}
func (w swarm) meets(x, y *graph.Array) *graph.Array { return w.at(x, y).Any() }

// without frees the slots that are gone.
func (w swarm) without(gone *graph.Array) swarm {
	w.x = graph.Select(gone, -1, w.x)
	return w
}

// with puts one into the first free slot, if there is one and it comes.
func (w swarm) with(comes *graph.Array, one swarm) swarm {
	slot := graph.Iota(w.x.Dim(0))
	first := graph.Select(w.there(), w.x.Dim(0), slot).ReduceMin()
	here := slot.Eq(first).And(comes)
	put := func(old, one *graph.Array) *graph.Array {
		if old == nil {
			return nil
		}
		return graph.Select(here, one, old)
	}
	return swarm{put(w.x, one.x), put(w.y, one.y), put(w.right, one.right), put(w.timer, one.timer),
		put(w.shot, one.shot)}.settled()
}

// moved moves those whose time has come, all if they have no timer; who leaves the grid is gone.
func (w swarm) moved(interval *graph.Array) swarm {
	goes := w.there()
	if w.timer != nil {
		due := w.timer.Eq(0)
		goes = goes.And(due)
		w.timer = graph.Select(due, interval, w.timer.Sub(1).Max(0))
	}
	x := w.x.Add(graph.Select(goes, w.right.Mul(2).Sub(1), 0))
	w.x = graph.Select(x.Ge(side), -1, x) // -1 is outside already
	return w.settled()
}

// shot removes bullets with what they hit, and counts it. A bullet hits one target, the first in its cell; of several
// bullets at one target the last is used up.
func shot(bullets, targets swarm) (b, t swarm, hits *graph.Array) {
	nb, nt := bullets.x.Dim(0), targets.x.Dim(0)
	bullet, target := graph.Iota(nb).Reshape(nb, 1), graph.Iota(nt).Reshape(1, nt)
	up := func(a *graph.Array) *graph.Array { return a.ExpandDims(1) }
	same := up(bullets.x).Eq(targets.x.ExpandDims(0)).And(up(bullets.y).Eq(targets.y.ExpandDims(0))).And(
		up(bullets.there()))
	first := graph.Select(same, target.BroadcastTo(nb, nt), nt).ReduceMin(1)
	settle(&first)
	aims := target.Eq(up(first))
	last := graph.Select(aims, bullet.BroadcastTo(nb, nt), -1).ReduceMax(0)
	settle(&last)
	hit := last.Ge(0)
	used := aims.And(bullet.Eq(last.ExpandDims(0))).Any(1)
	return bullets.without(used).settled(), targets.without(hit).settled(), number(hit).Sum()
}

// Step lets others come in, moves the submarine, then bullets, divers, hostile submarines, their bullets, fish.
func (e Seaquest) Step(key random.Key, s SeaquestState, action *graph.Array,
	p SeaquestParams) (next SeaquestState, obs, reward, terminated, truncated *graph.Array) {
	envs.CheckAction(e.Spec(), action)
	a := played(key, action, s.LastAction, p.Sticky)
	friendly, hostile, fish, subs, divers := swarmOf(s.Friendly), swarmOf(s.Hostile), swarmOf(s.Fish), swarmOf(s.Subs),
		swarmOf(s.Divers)
	next = s
	next.LastAction = a

	enemyKey, diverKey := random.Split2(key)
	spawns, brings := s.SpawnTimer.Eq(0), s.DiverTimer.Eq(0)
	enemy, isSub := drawEnemy(enemyKey)
	enemy.timer, enemy.shot = s.MoveSpeed, p.EnemyShotInterval
	against := func(w swarm) *graph.Array { // nobody comes where somebody swims the other way in the same row
		return w.there().And(w.y.Eq(enemy.y).And(w.right.Ne(enemy.right))).Any()
	}
	comes := spawns.And(against(fish).Or(against(subs)).Not())
	subs, fish = subs.with(comes.And(isSub), enemy), fish.with(comes.And(isSub.Not()), enemy)
	diver := drawDiver(diverKey)
	diver.timer = p.DiverMoveInterval
	divers = divers.with(brings, diver)
	spawnTimer := graph.Select(spawns, s.SpawnSpeed, s.SpawnTimer)
	diverTimer := graph.Select(brings, p.DiverSpawnSpeed, s.DiverTimer)

	x, y := moved(s.X, a, 1, 3, 0, side-1), moved(s.Y, a, 2, 4, 0, side-2)
	next.X, next.Y = x, y
	next.Right = a.Eq(3).Or(s.Right.And(a.Ne(1)))
	fires := a.Eq(5).And(s.ShotTimer.Eq(0))
	shotTimer := graph.Select(fires, p.ShotCoolDown, s.ShotTimer)
	friendly = friendly.with(fires, swarm{x: x, y: y, right: number(next.Right)})

	var hits [4]*graph.Array
	friendly = friendly.moved(nil)
	friendly, fish, hits[0] = shot(friendly, fish)
	friendly, subs, hits[1] = shot(friendly, subs)

	count := s.DiverCount
	divers, count = pickUp(divers, x, y, count)
	divers, count = pickUp(divers.moved(p.DiverMoveInterval), x, y, count)

	over := subs.meets(x, y)
	subs = subs.moved(s.MoveSpeed)
	over = over.Or(subs.meets(x, y))
	friendly, subs, hits[2] = shot(friendly, subs)
	shoots := subs.there().And(subs.shot.Eq(0))
	subs.shot = graph.Select(shoots, p.EnemyShotInterval, subs.shot.Sub(1).Max(0))
	hostile = swarm{x: graph.Select(shoots, subs.x, hostile.x), y: graph.Select(shoots, subs.y, hostile.y),
		right: graph.Select(shoots, subs.right, hostile.right)}

	over = over.Or(hostile.meets(x, y))
	hostile = hostile.moved(nil)
	over = over.Or(hostile.meets(x, y).Or(fish.meets(x, y)))
	fish = fish.moved(s.MoveSpeed)
	over = over.Or(fish.meets(x, y))
	friendly, fish, hits[3] = shot(friendly, fish)

	next.Friendly, next.Hostile, next.Fish, next.Subs, next.Divers = friendly.matrix(), hostile.matrix(), fish.matrix(),
		subs.matrix(), divers.matrix()
	next.SpawnTimer, next.DiverTimer, next.ShotTimer = countDown(spawnTimer), countDown(diverTimer),
		countDown(shotTimer)
	next.DiverCount = count
	paid, drowned := next.breathe(s, p)
	over = over.Or(drowned)

	for _, h := range hits {
		paid = paid.Add(h)
	}
	next.Time, truncated = envs.Tick(s.Time, p.MaxSteps)
	return next, e.Observe(next, p), paid.Convert(graph.Float32), over, truncated
}

func countDown(timer *graph.Array) *graph.Array { return timer.Sub(1).Max(0) }

// breathe uses up or fills up the oxygen of s, the state after all moves, and makes the game harder at the surface. It
// gives what the divers who leave pay, and whether the game is over: no oxygen, or no diver on board at the surface.
func (s *SeaquestState) breathe(before SeaquestState, p SeaquestParams) (paid, over *graph.Array) {
	under := s.Y.Gt(0)
	surfaces := under.Not().And(before.Surface.Not())
	s.Surface = under.Not().And(before.Surface.Or(surfaces))
	s.Oxygen = graph.Select(surfaces, p.MaxOxygen, before.Oxygen.Sub(number(under)))
	full := s.DiverCount.Eq(onBoard)
	paid = graph.Select(surfaces.And(full), graph.FloorDiv(before.Oxygen.Mul(10), p.MaxOxygen), 0)
	over = before.Oxygen.Le(0).Or(surfaces.And(s.DiverCount.Eq(0)))
	// With six on board one more leaves than there are: so it is in MinAtar, and the next diver is not counted.
	s.DiverCount = graph.Select(surfaces, graph.Select(full, -1, s.DiverCount.Sub(1)), s.DiverCount)

	harder := p.Ramping.And(surfaces).And(before.SpawnSpeed.Gt(1).Or(before.MoveSpeed.Gt(2)))
	odd := before.RampIndex.Rem(2).Eq(1)
	s.MoveSpeed = before.MoveSpeed.Sub(number(harder.And(odd.And(before.MoveSpeed.Gt(2)))))
	s.SpawnSpeed = before.SpawnSpeed.Sub(number(harder.And(before.SpawnSpeed.Gt(1))))
	s.RampIndex = before.RampIndex.Add(number(harder))
	return paid, over
}

// pickUp takes divers in a cell on board, those in the first slots if there is not room for all.
func pickUp(divers swarm, x, y, count *graph.Array) (swarm, *graph.Array) {
	here := divers.at(x, y)
	slot := graph.Iota(diverSlots)
	before := here.ExpandDims(0).And(slot.ExpandDims(0).Lt(slot.ExpandDims(1)))
	taken := here.And(number(before).Sum(1).Add(count).Lt(onBoard))
	return divers.without(taken).settled(), count.Add(number(taken).Sum())
}

// drawEnemy draws who comes from where.
func drawEnemy(key random.Key) (one swarm, isSub *graph.Array) {
	kind, row := random.Split2(key)
	v := graph.Unstack(random.Uniform(kind, graph.ShapeOf(graph.Float32, 2), 0, 1), 0)
	return newcomer(v[0].Lt(.5), row), v[1].Lt(float32(1) / 3)
}

// drawDiver draws where a diver comes from.
func drawDiver(key random.Key) swarm {
	direction, row := random.Split2(key)
	return newcomer(random.Bernoulli(direction, .5), row)
}

// newcomer comes from the left if it swims to the right, in a row drawn from the key.
func newcomer(right *graph.Array, key random.Key) swarm {
	return swarm{x: graph.Select(right, 0, side-1), y: random.Randint(key, graph.ShapeOf(graph.Int32), 1, side-1),
		right: number(right)}
}

// set is where they are, or behind them, as a set of cells.
func (w swarm) set(behind bool) *graph.Array {
	n := w.x.Dim(0)
	x := w.x.Add(1)
	if behind {
		x = x.Sub(w.right.Mul(2).Sub(1))
	}
	// A bit more on the right: who is behind may be outside.
	bits := graph.ShiftRightLogical(graph.Select(w.there(), bit(x), 0), 1)
	here := w.y.Reshape(n, 1).Eq(columns())
	set := graph.ReduceOr(graph.Select(here, bits.Reshape(n, 1).BroadcastTo(n, side), 0), 0)
	settle(&set)
	return set
}

// Observe gives the ten channels.
func (Seaquest) Observe(s SeaquestState, p SeaquestParams) *graph.Array {
	friendly, hostile, fish, subs, divers := swarmOf(s.Friendly), swarmOf(s.Hostile), swarmOf(s.Fish), swarmOf(s.Subs),
		swarmOf(s.Divers)
	back := cell(s.Y, s.X.Sub(graph.Select(s.Right, 1, -1)))
	trail := fish.set(true).Or(subs.set(true).Or(divers.set(true)))
	bottom := rows().Eq(side - 1)
	oxygen := bottom.And(columns().Lt(graph.FloorDiv(s.Oxygen.Max(0).Mul(10), p.MaxOxygen)))
	rescued := bottom.And(columns().Ge(graph.Sub(side-1, s.DiverCount)).And(columns().Lt(side - 1)))
	return channels(cell(s.Y, s.X), back, grid(friendly.set(false)), grid(trail), grid(hostile.set(false)),
		grid(fish.set(false)), grid(subs.set(false)), oxygen, rescued,
		grid(divers.set(false)))
}

// Draw paints the grid, with the gauges in its last row: oxygen, and over it the divers on board.
func (e Seaquest) Draw(state any, size image.Point) (image.Image, error) {
	return paint(e.Spec().ID, state, size, func(s SeaquestState) *graph.Array { return s.Time },
		func(s SeaquestState) *graph.Array { return e.Observe(s, e.DefaultParams()) },
		layer{3, faint, .4}, layer{7, faint, 1}, layer{8, draw.Ink, .4}, layer{9, draw.Ink, .5},
		layer{5, draw.Wood, .8}, layer{6, draw.Signal, .9},
		layer{1, draw.Accent, .5}, layer{0, draw.Accent, .9}, layer{2, draw.Accent, .3}, layer{4, draw.Signal, .3})
}
