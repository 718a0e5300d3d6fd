package session

import (
	"fmt"
	"math"

	"xlarun/graph"
	"xlarun/rollout/episode"
	"xlarun/rollout/population"
	"xlarun/rollout/run"
	"xlarun/xlabridge"
)

// NaNFinder is the reference interpreter as a backend that watches every op and stops the run at the first one that
// makes a NaN of numbers, with the op, the source line, the step and the member.
//
// An episode goes on in its lane after it ended, uncounted; a NaN that is made there stops the run too.
type NaNFinder struct {
	*xlabridge.Reference
	// tile is the number of members that are played together, lanesLast tells which axis they are on; memberAt gives
	// the member at a lane of a tile. They come with the run (see follow); until then members are not named.
	tile      int
	lanesLast bool
	memberAt  func(tile, lane int) int

	loops  map[*graph.Node]*loop // by the loop's own node
	ticks  map[*graph.Node]*loop // by the first node of its body
	inside map[*graph.Node]enclosing
}

// loop counts the turns of a loop under way.
type loop struct{ turn int }

// enclosing is the outermost loop over tiles and the outermost loop over steps around a node; nil where there is none.
type enclosing struct{ tiles, steps *loop }

// NewNaNFinder returns a NaNFinder. It knows the members of a run that a session runs on it.
func NewNaNFinder() *NaNFinder {
	f := &NaNFinder{loops: map[*graph.Node]*loop{}, ticks: map[*graph.Node]*loop{}, inside: map[*graph.Node]enclosing{}}
	f.Reference = &xlabridge.Reference{Hook: f.hook}
	return f
}

// follow learns where a run's members are.
func (f *NaNFinder) follow(r run.Run) {
	if l, ok := r.(run.Located); ok {
		f.tile, f.lanesLast = l.Lanes()
		f.memberAt = l.MemberAt
	}
}

// Compile learns where the program's loops are.
func (f *NaNFinder) Compile(p *graph.Program, o xlabridge.CompileOptions) (*xlabridge.Compiled, error) {
	f.learn(p.Graph, enclosing{})
	return f.Reference.Compile(p, o)
}

func (f *NaNFinder) learn(g *graph.Graph, around enclosing) {
	for _, n := range g.Nodes {
		f.inside[n] = around
		for i, body := range n.Bodies {
			in := around
			var l *loop
			switch {
			case n.LoopName() == episode.StepsLoop && in.steps == nil:
				l = &loop{}
				in.steps = l
			case n.LoopName() == population.TilesLoop && i == 1 && in.tiles == nil:
				l = &loop{}
				in.tiles = l
			}
			if l != nil && len(body.Nodes) > 0 {
				f.loops[n], f.ticks[body.Nodes[0]] = l, l
			}
			f.learn(body, in)
		}
	}
}

// hook sees every op, those of a loop's body before the loop itself.
func (f *NaNFinder) hook(n *graph.Node, in, out []*graph.Tensor) error {
	if l := f.ticks[n]; l != nil {
		l.turn++
	}
	if l := f.loops[n]; l != nil {
		l.turn = 0 // the loop is through
	}
	if len(n.Bodies) > 0 || len(n.Inputs) == 0 {
		return nil
	}
	for _, t := range out {
		at := firstNaN(t)
		if at < 0 {
			continue
		}
		for _, x := range in {
			if firstNaN(x) >= 0 {
				return nil // it was there before: a parameter, a constant
			}
		}
		return fmt.Errorf("the first NaN appeared here%s; look at the inputs of this op, or clamp them",
			f.where(n, t.Shape, at))
	}
	return nil
}

// where names the step and the member of element at of a value.
func (f *NaNFinder) where(n *graph.Node, s graph.Shape, at int) string {
	text := ""
	around := f.inside[n]
	if around.steps != nil {
		text = fmt.Sprintf(", in step %d", around.steps.turn)
	}
	if around.tiles == nil || f.memberAt == nil {
		return text
	}
	axis := f.lanes(s)
	if axis < 0 {
		return text
	}
	stride := 1
	for _, d := range s.Dims[axis+1:] {
		stride *= d
	}
	if member := f.memberAt(around.tiles.turn-1, at/stride%f.tile); member >= 0 {
		text += fmt.Sprintf(", in member %d", member)
	}
	return text
}

// lanes is the axis of a value that the members of a tile are on: that of the plan, or else the only one of their
// number; -1 where it cannot be told.
func (f *NaNFinder) lanes(s graph.Shape) int {
	axis := 0
	if f.lanesLast {
		axis = s.Rank() - 1
	}
	if s.Rank() > 0 && s.Dims[axis] == f.tile {
		return axis
	}
	axis = -1
	for i, d := range s.Dims {
		if d != f.tile {
			continue
		}
		if axis >= 0 {
			return -1
		}
		axis = i
	}
	return axis
}

// firstNaN is the index of the first NaN of a float tensor, -1 where there is none.
func firstNaN(t *graph.Tensor) int {
	if !t.Shape.DType.IsFloat() {
		return -1
	}
	for i := range t.V {
		if math.IsNaN(t.F(i)) {
			return i
		}
	}
	return -1
}
