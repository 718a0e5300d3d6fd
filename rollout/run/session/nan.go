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

// NaNFinder is the reference interpreter as a backend that stops the run at the first op that makes a NaN from numbers.
// The error names the op, the source line, the step and the member.
//
// After an episode has ended, its lane goes on and does not count. A NaN that is made there stops the run too.
type NaNFinder struct {
	*xlabridge.Reference
	placement func() *run.Placement // of the members of the run under way; nil, or a nil result: not known

	loops  map[*graph.Node]*loop // by the loop's own node
	ticks  map[*graph.Node]*loop // by the first node of the loop's body
	inside map[*graph.Node]enclosing
}

// loop counts the turns of a loop under way.
type loop struct{ turn int }

// enclosing has the outermost loop over tiles and the outermost loop over steps around a node; nil: there is none.
type enclosing struct{ tiles, steps *loop }

// NewNaNFinder returns a NaNFinder. It names members only while a session runs on it.
func NewNaNFinder() *NaNFinder {
	f := &NaNFinder{loops: map[*graph.Node]*loop{}, ticks: map[*graph.Node]*loop{}, inside: map[*graph.Node]enclosing{}}
	f.Reference = &xlabridge.Reference{Hook: f.hook}
	return f
}

// follow sets the run under way. Its placement may change in a restart, so it is asked for when there is a NaN.
func (f *NaNFinder) follow(r run.Run) {
	f.placement = func() *run.Placement { return r.Profile().Placement }
}

// Compile finds the loops of a program.
func (f *NaNFinder) Compile(p *graph.Program, o xlabridge.CompileOptions) (*xlabridge.Compiled, error) {
	f.findLoops(p.Graph, enclosing{})
	return f.Reference.Compile(p, o)
}

func (f *NaNFinder) findLoops(g *graph.Graph, around enclosing) {
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
			f.findLoops(body, in)
		}
	}
}

// hook is called after every op; the ops of a loop's body come before the loop.
func (f *NaNFinder) hook(n *graph.Node, in, out []*graph.Tensor) error {
	if l := f.ticks[n]; l != nil {
		l.turn++
	}
	if l := f.loops[n]; l != nil {
		l.turn = 0 // the loop has ended
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
				return nil // the NaN is older: of a parameter or a constant
			}
		}
		return nanError{f.where(n, t.Shape, at)}
	}
	return nil
}

// nanError is the error of the first NaN.
type nanError struct{ where string }

func (e nanError) Error() string {
	return fmt.Sprintf("the first NaN appeared here%s; look at the inputs of this op, or clamp them", e.where)
}

// ErrorCode is the error's code in a line of JSON.
func (nanError) ErrorCode() string { return "not_finite" }

// where names the step and the member of element `at` of a value, as the end of a sentence; "" if they are not known.
func (f *NaNFinder) where(n *graph.Node, s graph.Shape, at int) string {
	text := ""
	around := f.inside[n]
	if around.steps != nil {
		text = fmt.Sprintf(", in step %d", around.steps.turn)
	}
	if around.tiles == nil || f.placement == nil {
		return text
	}
	p := f.placement()
	if p == nil {
		return text
	}
	axis := lanesAxis(s, p)
	if axis < 0 {
		return text
	}
	stride := 1
	for _, d := range s.Dims[axis+1:] {
		stride *= d
	}
	if member := p.Member(around.tiles.turn-1, at/stride%p.Lanes); member >= 0 {
		text += fmt.Sprintf(", in member %d", member)
	}
	return text
}

// lanesAxis returns the axis of the lanes in a value: the axis of the plan if it has as many elements as there are
// lanes, else the only axis that has; -1 if it is not clear.
func lanesAxis(s graph.Shape, p *run.Placement) int {
	axis := 0
	if p.BatchLast {
		axis = s.Rank() - 1
	}
	if s.Rank() > 0 && s.Dims[axis] == p.Lanes {
		return axis
	}
	axis = -1
	for i, d := range s.Dims {
		if d != p.Lanes {
			continue
		}
		if axis >= 0 {
			return -1
		}
		axis = i
	}
	return axis
}

// firstNaN returns the index of the first NaN of a float tensor; -1 if there is none.
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
