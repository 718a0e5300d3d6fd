package faulty

import (
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

func (s *Strategy) Init(genome any, _ int) any {
	if fault(s.Fault).in("Init") {
		return nil
	}
	return genome
}

func (s *Strategy) Sample(key random.Key, mean any, _ *graph.Array) any {
	if fault(s.Fault).in("Sample") {
		return nil
	}
	return strategy.Noise(key, mean)
}

func (s *Strategy) Member(mean, z any, _ *graph.Array) any {
	if fault(s.Fault).in("Member") {
		return nil
	}
	if s.Fault == "Member: tree" {
		return graph.Scalar(1)
	}
	return strategy.Move(mean, graph.Scalar(1), z)
}

func (s *Strategy) Tell(mean any, _ strategy.Evaluation, _ strategy.Draws[any]) any {
	if fault(s.Fault).in("Tell") {
		return nil
	}
	if s.Fault == "Tell: tree" {
		return []any{mean, mean}
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
	return mean
}
