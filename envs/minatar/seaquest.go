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
// most six. Oxygen decreases under water. At the surface it is refilled and one diver leaves; if there are six, all
// leave and pay up to 10, in proportion to the remaining oxygen. Terminated if a fish, a submarine or a bullet hits the
// submarine, if the oxygen is 0, or if it surfaces without divers; truncated after 1,000 steps. With Ramping there are
// more and faster enemies after each surfacing.
//
// Equal to gymnax 1.0.1, except for lists of objects. gymnax has lists of up to 100; here the number of slots is what
// the default parameters can fill, and new objects are lost if all slots are full. If several enemies are in one cell,
// a bullet hits the one in the first slot, in gymnax the oldest. gymnax ends the game without oxygen one step before
// MinAtar.
//
// Channels: the submarine's front, its back, own bullets, trails, hostile bullets, fish, hostile submarines, gauge of
// oxygen, gauge of divers on board, divers. Actions: stay, left, up, right, down, fire.
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

// SeaquestState is int32 scalars unless a comment gives another type. Slots are matrices with a column for each object.
// Rows 0 and 1 are the object's column and row in the grid (column -1: the slot is free). Row 2 is 1 if it moves to the
// right, else 0. Row 3 is the number of steps until it moves.
type SeaquestState struct {
	X, Y       *graph.Array // the submarine's front
	Right      *graph.Array // bool: whether it looks to the right
	Oxygen     *graph.Array
	DiverCount *graph.Array // divers on board
	Surface    *graph.Array // bool: whether it has surfaced and stayed there
	Friendly   *graph.Array // i32[3, 10]: own bullets, which move at each step
	Hostile    *graph.Array // i32[3, 12]: the bullet of each hostile submarine
	Fish       *graph.Array // i32[4, 24]
	Subs       *graph.Array // i32[5, 12]: hostile submarines; row 4 is the number of steps until one shoots
	Divers     *graph.Array // i32[4, 6]
	SpawnSpeed *graph.Array
	SpawnTimer *graph.Array
	DiverTimer *graph.Array // steps until the next diver comes
	MoveSpeed  *graph.Array
	RampIndex  *graph.Array // number of increases of the difficulty
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

// swarm is the rows of slots.
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

// settled is graph.Once of w.
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

// at is the mask of the slots in a cell; meets reports whether there is any.
func (w swarm) at(x, y *graph.Array) *graph.Array {
	return w.x.Eq(x).And(w.y.Eq(y))
}
func (w swarm) meets(x, y *graph.Array) *graph.Array { return w.at(x, y).Any() }

// without frees the slots where the mask is true.
func (w swarm) without(gone *graph.Array) swarm {
	w.x = graph.Select(gone, -1, w.x)
	return w
}

// with puts an object into the first free slot, if there is one.
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

// moved moves the objects whose timer is 0, or all if they have no timer. It frees the slots of objects outside the
// grid.
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

// shot removes bullets and the targets that they hit, and counts the hits. A bullet hits the first target in its cell.
// If several bullets hit one target, only the last bullet is removed.
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

// Step spawns enemies and divers, then moves the submarine, bullets, divers, hostile submarines, their bullets, fish.
func (e Seaquest) Step(key random.Key, s SeaquestState, action *graph.Array,
	p SeaquestParams) (next SeaquestState, obs, reward, terminated, truncated *graph.Array) {
	envs.CheckAction(e.Spec(), action)
	a := stickyAction(key, action, s.LastAction, p.Sticky)
	friendly, hostile, fish, subs, divers := swarmOf(s.Friendly), swarmOf(s.Hostile), swarmOf(s.Fish), swarmOf(s.Subs),
		swarmOf(s.Divers)
	next = s
	next.LastAction = a

	enemyKey, diverKey := random.Split2(key)
	spawns, brings := s.SpawnTimer.Eq(0), s.DiverTimer.Eq(0)
	enemy, isSub := drawEnemy(enemyKey)
	enemy.timer, enemy.shot = s.MoveSpeed, p.EnemyShotInterval
	against := func(w swarm) *graph.Array { // whether an enemy in the same row moves the other way: then none spawns
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

// breathe decreases or refills the oxygen of s, the state after all moves, and increases the difficulty at the surface.
// It returns the reward for leaving divers, and whether the game is over: no oxygen, or no diver on board at the
// surface.
func (s *SeaquestState) breathe(before SeaquestState, p SeaquestParams) (paid, over *graph.Array) {
	under := s.Y.Gt(0)
	surfaces := under.Not().And(before.Surface.Not())
	s.Surface = under.Not().And(before.Surface.Or(surfaces))
	s.Oxygen = graph.Select(surfaces, p.MaxOxygen, before.Oxygen.Sub(number(under)))
	full := s.DiverCount.Eq(onBoard)
	paid = graph.Select(surfaces.And(full), graph.FloorDiv(before.Oxygen.Mul(10), p.MaxOxygen), 0)
	over = before.Oxygen.Le(0).Or(surfaces.And(s.DiverCount.Eq(0)))
	// With six divers on board the count becomes -1, as in MinAtar, so that the next diver does not count.
	s.DiverCount = graph.Select(surfaces, graph.Select(full, -1, s.DiverCount.Sub(1)), s.DiverCount)

	harder := p.Ramping.And(surfaces).And(before.SpawnSpeed.Gt(1).Or(before.MoveSpeed.Gt(2)))
	odd := before.RampIndex.Rem(2).Eq(1)
	s.MoveSpeed = before.MoveSpeed.Sub(number(harder.And(odd.And(before.MoveSpeed.Gt(2)))))
	s.SpawnSpeed = before.SpawnSpeed.Sub(number(harder.And(before.SpawnSpeed.Gt(1))))
	s.RampIndex = before.RampIndex.Add(number(harder))
	return paid, over
}

// pickUp takes the divers in a cell on board, in the order of the slots, up to the maximum.
func pickUp(divers swarm, x, y, count *graph.Array) (swarm, *graph.Array) {
	here := divers.at(x, y)
	slot := graph.Iota(diverSlots)
	before := here.ExpandDims(0).And(slot.ExpandDims(0).Lt(slot.ExpandDims(1)))
	taken := here.And(number(before).Sum(1).Add(count).Lt(onBoard))
	return divers.without(taken).settled(), count.Add(number(taken).Sum())
}

// drawEnemy draws the kind and start of an enemy.
func drawEnemy(key random.Key) (one swarm, isSub *graph.Array) {
	kind, row := random.Split2(key)
	v := graph.Unstack(random.Uniform(kind, graph.ShapeOf(graph.Float32, 2), 0, 1), 0)
	return newcomer(v[0].Lt(.5), row), v[1].Lt(float32(1) / 3)
}

// drawDiver draws the start of a diver.
func drawDiver(key random.Key) swarm {
	direction, row := random.Split2(key)
	return newcomer(random.Bernoulli(direction, .5), row)
}

// newcomer starts on the left if it moves to the right, in a row drawn from the key.
func newcomer(right *graph.Array, key random.Key) swarm {
	return swarm{x: graph.Select(right, 0, side-1), y: random.Randint(key, graph.ShapeOf(graph.Int32), 1, side-1),
		right: number(right)}
}

// set is the set of their cells, or of the cells behind them.
func (w swarm) set(behind bool) *graph.Array {
	n := w.x.Dim(0)
	x := w.x.Add(1)
	if behind {
		x = x.Sub(w.right.Mul(2).Sub(1))
	}
	// One bit more on the right: cells behind may be outside.
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
