package levels

import (
	"image"

	"xlarun/envs"
	"xlarun/envs/draw"
	"xlarun/graph"
	"xlarun/graph/random"
)

func init() { envs.MustRegister(ForageL2{}) }

// ForageL2 needs memory: two kinds of berries lie on a torus of 16 x 16 cells with walls. One kind is good, the other
// bad. A cue in the first observation shows which kind is good. At random times the kinds change roles, and the
// observation shows the new cue once. Two predators chase the forager. Berries grow again as in ForageL1.
//
// Observation f32[102]: four layers of the 5 x 5 cells around the forager, row by row from the north: berries of the
// first kind, berries of the second kind, walls, predators. Then the cue, two numbers: a one-hot of the good kind in
// steps with a cue, else zeros. Actions: north, east, south, west, stay; into a wall is to stay. Reward 1 for a good
// berry, -1 for a bad one, -Bite when a predator reaches the forager, after which the predator is at the largest
// distance. In each step a predator moves with probability Speed one cell towards the forager, along a random axis;
// walls do not block it. Truncated after 200 steps, never terminated.
//
// Both kinds are equally frequent, behave alike and are equally likely to be good. So without memory of the cue the
// mean value of a berry is 0, except for berries beside the forager in a step with a cue.
//
// Mean returns: -4 for a random policy; hand-written policies: -2 without eating berries, 1 (standard error 0.8) with a
// fixed rule without memory, 67 with memory of the last cue; evolved policies: -1 for an mlp:32,32 (OpenES, 1024
// members, 2 episodes each, 400 generations), -0.8 for a gru:16. A gru:16 that evolved with reminders in up to a fifth
// of the steps has 41.8 (standard error 0.4) without them (examples/forage-l2.toml). A gru:32 by PPO, without
// reminders, has 42.5 (0.6; examples/forage-l2-ppo.toml). The reward threshold is 40; a mean below 8 is possible
// without memory.
type ForageL2 struct{}

// ForageL2Params are float32 scalars; MaxSteps is an int32 scalar.
type ForageL2Params struct {
	Walls    *graph.Array `min:"0" max:"1"` // fraction of the cells
	Berries  *graph.Array `min:"0" max:"1"` // fraction of the cells for each kind
	Reversal *graph.Array `min:"0" max:"1"` // probability that the kinds change roles after a step, in 1/65536
	Speed    *graph.Array `min:"0" max:"1"` // probability that a predator moves in a step, in 1/256
	// probability of a cue in a step without a change of roles, in 1/16384
	Reminder *graph.Array `min:"0" max:"1"`
	Bite     *graph.Array `min:"0"`
	MaxSteps *graph.Array `min:"1"`
}

// ForageL2State is the map, the good kind, and the forager's position.
type ForageL2State struct {
	// i32[3, 16]: the kinds of berries, walls; bit x of word y is column x of row y from the north
	Field      *graph.Array
	View       *graph.Array // i32[3]: the visible part; bit c is cell c of a layer of the observation
	Have       *graph.Array // f32[3]: the amount of each
	East       *graph.Array // i32[2]: distances of the predators to the east of the forager, from -8 to 7
	South      *graph.Array // i32[2]: distances to the south
	Good       *graph.Array // i32[]: the good kind, 0 or 1
	Cue        *graph.Array // bool[]: whether the observation shows the cue
	X, Y, Time *graph.Array // i32[]: the forager's cell; steps played
}

const (
	l2Side      = 16
	l2Steps     = 200
	l2Predators = 2
)

var l2Size = size{side: l2Side, reach: 2}

// Spec of Forage-L2-v1.
func (ForageL2) Spec() envs.Spec {
	return envs.Spec{ID: "Forage-L2-v1", Observation: l2Size.space(4, 2, 5), Action: envs.Discrete{N: 5},
		MaxSteps: l2Steps, RewardThreshold: 40}
}

// DefaultParams of Forage-L2-v1.
func (ForageL2) DefaultParams() ForageL2Params {
	return ForageL2Params{Walls: graph.Scalar(.05), Berries: graph.Scalar(.1), Reversal: graph.Scalar(.01),
		Speed: graph.Scalar(.25), Reminder: graph.Scalar(0), Bite: graph.Scalar(1),
		MaxSteps: envs.Steps(l2Steps)}
}

// Reset scatters berries and walls, except beside the forager, and draws the good kind.
func (e ForageL2) Reset(key random.Key, p ForageL2Params) (ForageL2State, *graph.Array) {
	fieldKey, kindKey := random.Split2(key)
	f, at := scatter(fieldKey, l2Size, p.Berries, p.Berries, p.Walls), l2Size.middle()
	far := graph.Full(graph.ShapeOf(graph.Int32, l2Predators), -l2Side/2)
	s := ForageL2State{Field: f.words, View: f.view(at), Have: f.count(), East: far,
		South: graph.Iota(l2Predators).Mul(-l2Side / 2),
		Good:  bit(word(kindKey), 0), Cue: graph.Scalar(true), X: at.X, Y: at.Y,
		Time: envs.Steps(0)}
	return s, e.Observe(s, p)
}

// Step moves the forager, which eats what it finds, then the predators.
func (e ForageL2) Step(key random.Key, s ForageL2State, action *graph.Array,
	p ForageL2Params) (next ForageL2State, obs, reward, terminated, truncated *graph.Array) {
	envs.CheckAction(e.Spec(), action)
	high, low := halves(random.Bits(key, graph.Uint64)) // 64 bits cost one hash, like 32
	m := l2Size.walk(position{s.X, s.Y}, s.View, action, 2, high, low)
	bits, chances := m.randomWords[0], m.randomWords[1]
	worth := m.found.Index(0).Sub(m.found.Index(1))
	worth = graph.Select(s.Good.Eq(0), worth, worth.Neg())
	one, other := l2Size.cells(bits)
	cells := graph.Stack([]*graph.Array{one, other, envs.Steps(0)}, 0)
	var f field
	f, next.Have = field{s.Field, l2Size}.eat(m.to, cells, s.Have.Sub(m.found),
		l2Size.density(p.Berries, p.Berries))
	next.Field, next.View, next.X, next.Y = f.words, f.view(m.to), m.to.X, m.to.Y

	var bites *graph.Array
	next.East, next.South, bites = hunt(wrap(s.East.Sub(m.dx)), wrap(s.South.Sub(m.dy)),
		graph.ShiftRightLogical(bits, 16), chances, p.Speed)
	reward = worth.Sub(bites.Mul(p.Bite))

	reversed := happens(graph.ShiftRightLogical(chances, 16), 16, p.Reversal)
	reminded := happens(graph.ShiftRightLogical(bits, 18), 14, p.Reminder)
	next.Good, next.Cue = s.Good.Xor(reversed.Convert(graph.Int32)), reversed.Or(reminded)
	next.Time, truncated = envs.Tick(s.Time, p.MaxSteps)
	return next, e.Observe(next, p), reward, envs.False(), truncated
}

// halves splits 64 random bits into two words.
func halves(draws *graph.Array) (high, low *graph.Array) {
	as := func(x *graph.Array) *graph.Array { return graph.Bitcast(x.Convert(graph.Uint32), graph.Int32) }
	return as(graph.ShiftRightLogical(draws, 32)), as(draws.And(uint64(1<<32 - 1)))
}

// wrap maps a distance on the torus to -8 … 7.
func wrap(d *graph.Array) *graph.Array {
	return d.Add(l2Side / 2).And(l2Side - 1).Sub(l2Side / 2)
}

// happens draws a Bernoulli event from the lowest bits of a random word.
func happens(word *graph.Array, bits int, probability *graph.Array) *graph.Array {
	return number(word.And(1<<bits - 1)).Lt(probability.Mul(1 << bits))
}

// hunt moves the predators. right and down are their distances after the forager's move. bites counts the predators
// that have reached the forager before or after their move. axes has one random bit for each predator, chances 8.
func hunt(right, down, axes, chances, speed *graph.Array) (nextRight, nextDown, bites *graph.Array) {
	i := graph.Iota(l2Predators)
	moves := happens(graph.ShiftRightLogical(chances, i.Mul(8)), 8, speed)
	alongX := bit(axes, i).Eq(0)
	still := graph.ZerosLike(right)
	nearer := func(d, along *graph.Array) *graph.Array {
		return d.Sub(graph.Select(moves.And(along), d.Sign(), still))
	}
	met := func(x, y *graph.Array) *graph.Array { return x.Or(y).Eq(0) }
	x, y := nearer(right, alongX), nearer(down, alongX.Not())
	caught := met(right, down).Or(met(x, y))
	away := graph.FullLike(x, -l2Side/2)
	return graph.Select(caught, away, x), graph.Select(caught, away, y), number(caught).Sum()
}

// Observe is the view and the cue.
func (ForageL2) Observe(s ForageL2State, _ ForageL2Params) *graph.Array {
	layers := append(graph.Unstack(s.View, 0), predatorLayer(s.East, s.South))
	cue := func(kind int) *graph.Array { return number(s.Cue.And(s.Good.Eq(kind))) }
	return l2Size.observation(layers, cue(0), cue(1))
}

// predatorLayer is the layer of the view with the predators at the given distances, i32[].
func predatorLayer(right, down *graph.Array) *graph.Array {
	near := right.Abs().Max(down.Abs()).Le(l2Size.reach)
	cell := down.Add(l2Size.reach).Mul(l2Size.viewSide()).Add(right.Add(l2Size.reach))
	bits := graph.Select(near, graph.ShiftLeft(graph.OnesLike(cell), cell.Max(0)), graph.ZerosLike(cell))
	return graph.Once(graph.ReduceOr(bits, 0))
}

// Draw paints the map, the view brighter, with a bar below in the color of the good kind, thick in steps with a cue.
func (e ForageL2) Draw(state any, pixels image.Point) (image.Image, error) {
	c := l2Size.newCanvas(pixels)
	id := e.Spec().ID
	v := draw.Scalars(c, id, state, func(s ForageL2State) []*graph.Array {
		return []*graph.Array{s.X, s.Y, s.Good, s.Cue}
	})
	words := draw.Grid(c, id, state, func(s ForageL2State) *graph.Array { return s.Field }, 3, l2Side)
	right := draw.Grid(c, id, state, func(s ForageL2State) *graph.Array { return s.East }, l2Predators)
	down := draw.Grid(c, id, state, func(s ForageL2State) *graph.Array { return s.South }, l2Predators)
	p := l2Size.newPicture(c, v[0], v[1])
	p.berries(words[:l2Side], draw.Accent)
	p.berries(words[l2Side:2*l2Side], draw.Wood)
	p.walls(words[2*l2Side:])
	p.forager()
	for i := range right {
		at := p.corner(p.x+int(right[i]), p.y+int(down[i]))
		p.Polygon(draw.Signal, draw.At(at.X+.08, at.Y+.12), draw.At(at.X+.92, at.Y+.12), draw.At(at.X+.5, at.Y+.92))
	}
	good, thick := draw.Accent, .1
	if v[2] != 0 {
		good = draw.Wood
	}
	if v[3] != 0 {
		thick = .35
	}
	p.Rectangle(good, draw.At(0, -.1-thick), draw.At(l2Side, -.1))
	return p.Image()
}
