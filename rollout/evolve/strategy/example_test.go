package strategy_test

import (
	"fmt"
	"sync"

	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/evolve/strategy"
	"xlarun/rollout/settings"
)

// Recombination moves the mean to the weighted mean of the best members. Its state and its genomes are any tree.
type Recombination struct {
	Parents int             `set:"parents" min:"1" help:"best members, of which the next mean is made"`
	Sigma   settings.Number `set:"sigma" above:"0" help:"standard deviation of the noise"`
}

func (*Recombination) Traits() (t strategy.Traits[any, any, any]) { return t }
func (*Recombination) Init(genome any, _ int) any                 { return genome }
func (*Recombination) Mean(mean any) any                          { return mean }

func (*Recombination) Sample(key random.Key, mean any, _ *graph.Array) any {
	return strategy.Noise(key, mean)
}

func (r *Recombination) Member(mean, z any, _ *graph.Array) any {
	return strategy.Move(mean, r.Sigma.Array(), z)
}

func (r *Recombination) Tell(mean any, e strategy.Evaluation, z strategy.Draws[any]) any {
	return strategy.Move(mean, r.Sigma.Array(), z.Sum(strategy.LogWeights(e.Fitness, r.Parents)))
}

var once sync.Once // examples may run again: go test -count=2

// What is registered, --strategy knows.
func ExampleMustRegister() {
	once.Do(func() { strategy.MustRegister("recombination", &Recombination{Parents: 2, Sigma: settings.Num(.5)}) })
	s, err := strategy.Make("recombination", settings.Values{"parents": "3"})
	fmt.Println(err, strategy.LogWeights(graph.Of([]float32{3, 1, 2, 0}), 2))
	fmt.Println(s.Member(s.Init(graph.Of([]float32{1, 2}), 4), graph.Of([]float32{2, -2}), graph.Of(0)))
	// Output: <nil> f32[4] {0.804163 0 0.195837 0}
	// f32[2] {2 1}
}
