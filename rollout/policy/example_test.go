package policy_test

import (
	"fmt"
	"sync"

	"xlarun/envs"
	"xlarun/graph"
	"xlarun/graph/nn"
	"xlarun/graph/random"
	"xlarun/rollout/policy"
)

// OneLayer is a policy without settings and memory. Its parameters are the tree nn.Dense.
type OneLayer struct {
	policy.Stateless[nn.Dense]
	observation     envs.Space
	inputs, outputs int
}

func (*OneLayer) Make(observation envs.Space, outputs int) (policy.Policy, error) {
	inputs, err := policy.FlatSize(observation)
	return policy.Erase(&OneLayer{observation: observation, inputs: inputs, outputs: outputs}), err
}

func (*OneLayer) Traits() (t policy.Traits[nn.Dense, graph.None]) { return t }

func (p *OneLayer) Init(key random.Key) nn.Dense { return nn.NewDense(key, p.inputs, p.outputs) }

func (p *OneLayer) Act(params nn.Dense, _ graph.None, observation *graph.Array,
	_ random.Key) (graph.None, policy.Output) {
	return graph.None{}, policy.Output{Action: params.Apply(policy.Flat(p.observation, observation))}
}

var once sync.Once // examples may run again: go test -count=2

// What is registered, --policy knows.
func ExampleMustRegister() {
	once.Do(func() { policy.MustRegister("one-layer", &OneLayer{}) })
	maker, _ := policy.MakerOf("one-layer", nil)
	network, err := maker.Make(envs.Symmetric(1, 2), 3)
	key := random.New(0)
	params := network.Init(key)
	_, output := network.Act(params, network.Start(params), graph.Of([]float32{0, 0}), key)
	fmt.Println(output.Action, err)
	// Output: f32[3] {0 0 0} <nil>
}
