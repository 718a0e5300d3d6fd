package faulty

import (
	"strings"

	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/evolve/strategy"
)

func init() { strategy.MustRegister("faulty", &Strategy{}) }

// Strategy stays where it is.
type Strategy struct {
	Fault string `set:"fault" help:"mistake"`
}

func (s *Strategy) Traits() (t strategy.Traits[any, any, any]) {
	if fault(s.Fault).in("Traits") {
		t.GroupSize = -1
	}
	return t
}

// state is the state of a Strategy whose mistake is in a field of it. Otherwise the state is the mean alone.
type state struct {
	Mean  any
	Past  []*graph.Array
	Count *graph.Array // f32[]
}

// meanOf returns the mean of a state.
func meanOf(s any) any {
	if s, ok := s.(state); ok {
		return s.Mean
	}
	return s
}

func (s *Strategy) Init(genome any, _ int) any {
	if fault(s.Fault).in("Init") {
		return nil
	}
	if strings.HasPrefix(s.Fault, "Tell: a field") {
		return state{genome, nil, graph.Scalar(0)}
	}
	return genome
}

func (s *Strategy) Sample(key random.Key, mean any, _ *graph.Array) any {
	if fault(s.Fault).in("Sample") {
		return nil
	}
	return strategy.Noise(key, meanOf(mean))
}

func (s *Strategy) Member(mean, z any, _ *graph.Array) any {
	if fault(s.Fault).in("Member") {
		return nil
	}
	if s.Fault == "Member: tree" {
		return graph.Scalar(1)
	}
	return strategy.Move(meanOf(mean), graph.Scalar(1), z)
}

func (s *Strategy) Tell(mean any, _ strategy.Evaluation, _ strategy.Draws[any]) any {
	if fault(s.Fault).in("Tell") {
		return nil
	}
	next, _ := mean.(state)
	switch s.Fault {
	case "Tell: tree":
		return []any{mean, mean}
	case "Tell: a field that grows":
		next.Past = append(next.Past, next.Count)
		return next
	case "Tell: a field of another dtype":
		next.Count = next.Count.Convert(graph.Int32)
		return next
	}
	return mean
}

func (s *Strategy) Mean(mean any) any {
	if fault(s.Fault).in("Mean") {
		return nil
	}
	if s.Fault == "Mean: tree" {
		return graph.None{}
	}
	return meanOf(mean)
}
