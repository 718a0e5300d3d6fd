package policy

import (
	"fmt"
	"math"

	"xlarun/envs"
	"xlarun/graph"
	"xlarun/rollout/settings"
)

// maxWidth keeps products of two layers' sizes far from overflow.
const maxWidth = 1 << 24

// Head turns a policy's Output.Action, f32[Size], into an action of its space.
type Head interface {
	// Size returns the number of outputs that the head takes.
	Size() int
	// Action returns the most probable action, in the shape and dtype of the space. Among several actions it is the
	// first one with the largest output. Bounded elements of a box are tanh of the output, scaled to the bounds;
	// unbounded elements are the output itself.
	Action(out *graph.Array) *graph.Array
}

// HeadOf returns the head for a space of actions. Its error is a *settings.Error.
func HeadOf(s envs.Space) (Head, error) {
	switch s := s.(type) {
	case envs.Discrete:
		if s.N < 1 || s.N > maxWidth {
			return nil, wrong(fmt.Sprintf("the action space %s", s), "1 to %d actions", maxWidth)
		}
		return greedy{s.N}, nil
	case envs.MultiDiscrete:
		h := choices{}
		for _, n := range s.N {
			if n < 1 || n > maxWidth || h.Size()+n > maxWidth {
				return nil, wrong(fmt.Sprintf("the action space %s", s), "1 to %d actions in all", maxWidth)
			}
			h = append(h, n)
		}
		if len(h) == 0 {
			return nil, wrong(fmt.Sprintf("the action space %s", s), "one choice or more")
		}
		return h, nil
	case envs.Box:
		if err := s.Check(); err != nil {
			return nil, wrong(fmt.Sprintf("the action space %s", s), "one that can be filled: %s", err)
		}
		if n := s.FlatDim(); n > maxWidth {
			return nil, wrong(fmt.Sprintf("the action space %s, %d outputs", s, n), "1 to %d outputs", maxWidth)
		}
		for i := range s.Low {
			if low, high := s.Low[i] > -envs.Unbounded, s.High[i] < envs.Unbounded; low != high {
				return nil, wrong(fmt.Sprintf("the action space %s, of which element %d has one bound", s, i),
					"both bounds or none: leave it unbounded (±envs.Unbounded) and let Step map it to where it may be")
			}
		}
		return squash{s}, nil
	}
	return nil, wrong(fmt.Sprintf("the action space %s", s), "a Discrete, a MultiDiscrete or a Box")
}

func wrong(got, wants string, args ...any) *settings.Error {
	return &settings.Error{Key: "policy", Got: got, Wants: fmt.Sprintf(wants, args...)}
}

// greedy takes the action with the largest output.
type greedy struct{ n int }

// fewActions is the largest number of actions whose outputs are compared one after the other. That is elementwise over
// the lanes, while a reduction to an index would be a loop of its own.
const fewActions = 16

func (g greedy) Size() int { return g.n }

func (g greedy) Action(y *graph.Array) *graph.Array {
	if g.n > fewActions {
		return y.ArgMax(0)
	}
	best, index := y.Index(0), graph.Scalar(0, graph.Int32)
	for i := 1; i < g.n; i++ {
		v := y.Index(i)
		greater := v.Gt(best)
		index = graph.Select(greater, int32(i), index)
		if i < g.n-1 {
			best = graph.Select(greater, v, best)
		}
	}
	return index
}

// choices takes the action with the largest output for each of several choices. The outputs lie choice after choice.
type choices []int

func (c choices) Size() int { return envs.MultiDiscrete{N: c}.FlatDim() }

func (c choices) Action(y *graph.Array) *graph.Array {
	return c.each(y, func(i int, outputs *graph.Array) *graph.Array { return greedy{c[i]}.Action(outputs) })
}

// each stacks the results of f for the outputs of each choice.
func (c choices) each(y *graph.Array, f func(i int, outputs *graph.Array) *graph.Array) *graph.Array {
	all, first := make([]*graph.Array, len(c)), 0
	for i, n := range c {
		all[i] = f(i, graph.SliceAxis(y, 0, first, first+n))
		first += n
	}
	return graph.Stack(all, 0)
}

// squash makes elements of a box.
type squash struct{ box envs.Box }

func (s squash) Size() int { return s.box.FlatDim() }

func (s squash) Action(y *graph.Array) *graph.Array {
	n := s.Size()
	middle, half, bounded := make([]float32, n), make([]float32, n), make([]bool, n)
	all := true
	for i := range n {
		low, high := bound(s.box.Low, i), bound(s.box.High, i)
		bounded[i] = low > -math.MaxFloat32 && high < math.MaxFloat32
		if all = all && bounded[i]; bounded[i] {
			middle[i], half[i] = float32((low+high)/2), float32((high-low)/2)
		}
	}
	a := y.Tanh().Mul(graph.Float32s(half)).Add(graph.Float32s(middle))
	if !all {
		a = graph.Select(graph.Of(bounded), a, y)
	}
	return a.Convert(s.box.DType).Reshape(s.box.Dims...)
}

// Legal returns the outputs of a head for a Discrete or MultiDiscrete space, with illegal actions at -Inf, so that none
// of them is taken. out is f32[Head.Size]. legal is bool[Head.Size] as envs.Traits.Legal returns it, with at least one
// true for each choice. An output of a legal action that is NaN or -Inf becomes the least finite number, since these
// would not win against an illegal action.
func Legal(out, legal *graph.Array) *graph.Array {
	least := graph.Select(out.Gt(-math.MaxFloat32), out, -math.MaxFloat32)
	return graph.Select(legal, least, math.Inf(-1))
}

// bound returns bound i of a box, which may have one bound for all elements.
func bound(bounds []float64, i int) float64 {
	if len(bounds) == 1 {
		return bounds[0]
	}
	return bounds[i]
}
