package bench

import (
	"context"
	"fmt"
	"strconv"

	"xlarun/cmd/xlarun-bench/bench/neurobench"
	"xlarun/graph/random"
	"xlarun/rollout/evolve"
	"xlarun/rollout/policy"
	"xlarun/rollout/policy/genome"
	"xlarun/xlabridge"
)

// neatWorkloads are generations of NEAT, and episodes of its genomes.
func neatWorkloads(Options) []Workload {
	const fixed = "cartpole-mlp"
	cartPole := genomes("CartPole-v1", 1000, 500, 0, 0)
	return []Workload{
		genomesWorkload("xor-1000", 1000, 50, 100),
		genomesWorkload("xor-10000-small", 10_000, 7, 20),
		genomesWorkload("xor-10000", 10_000, 50, 200),
		{Name: "cartpole", What: "a generation of NEAT on CartPole-v1, 1000 genomes, 500 steps", Work: 1000 * 500,
			Unit: "steps", Open: generations(cartPole),
			Peers: []Peer{{Name: "neat-python", Script: "neat_python_cartpole.py", Args: []string{"1000"},
				Other: true}}},
		playWorkload("cartpole-genome", genomes("CartPole-v1", 1000, 500, 4+16+16+2, 4*16+16*16+16*2),
			layered,
			Peer{Name: "mlp", Workload: fixed, Other: true}),
		explicit(playWorkload(fixed, evolveOf("CartPole-v1", "mlp:16,16", "openes", 1000, 500), policy.Policy.Init)),
	}
}

// evolveOf is a search without a file of its own.
func evolveOf(env, policy, strategy string, population, steps int) evolve.Config {
	c := evolve.DefaultConfig()
	c.Env, c.Policy, c.Strategy, c.Population, c.Steps = env, policy, strategy, population, steps
	return c
}

// genomes is NEAT with room for nodes and connections, 0 for the usual room.
func genomes(env string, population, steps, nodes, connections int) evolve.Config {
	return evolveOf(env, "genome", "neat", population, steps).With("policy.nodes", strconv.Itoa(nodes)).
		With("policy.connections", strconv.Itoa(connections))
}

// genomesWorkload is a generation of NEAT on the eight patterns of XOR with three inputs, as its peer's.
func genomesWorkload(name string, population, nodes, connections int) Workload {
	const patterns = 8
	sizes := []string{strconv.Itoa(population), strconv.Itoa(nodes), strconv.Itoa(connections)}
	c := genomes("XOR3d-v0", population, patterns, nodes, connections).With("policy.activations", "sigmoid").
		With("policy.final-activation", "sigmoid").With("strategy.max-species", "20")
	return Workload{Name: name, Work: float64(population), Unit: "members",
		What: fmt.Sprintf("a generation of NEAT on XOR3d-v0, %d genomes of %d nodes, %d connections", population, nodes,
			connections),
		Open:  rulePlan(c),
		Peers: []Peer{{Name: "TensorNEAT", Script: "tensorneat_xor.py", Args: sizes, Other: true}}}
}

// layered is a genome with the nodes and connections of mlp:16,16, and the weights that key draws.
func layered(p policy.Policy, key random.Key) any {
	g := policy.NetworkOf(p).(*policy.Genomes)
	layers := []int{4, 2, 16, 16} // as a genome orders them: inputs, outputs, hidden nodes
	var d genome.Document
	for layer, size := range layers {
		kind := []string{"input", "output", "hidden", "hidden"}[layer]
		for range size {
			d.Nodes = append(d.Nodes, genome.NodeDocument{Number: len(d.Nodes), Kind: kind, Response: 1,
				Activation: map[string]string{"output": "identity", "hidden": "tanh"}[kind], Aggregation: "sum"})
		}
	}
	connect := func(from, sources, to, targets int) {
		for i := range sources * targets {
			d.Connections = append(d.Connections, genome.ConnectionDocument{Innovation: len(d.Connections),
				From: from + i/targets, To: to + i%targets, Enabled: true})
		}
	}
	connect(0, 4, 6, 16)
	connect(6, 16, 22, 16)
	connect(22, 16, 4, 2)
	made, err := g.Network.Genome(d)
	if err != nil {
		panic(err) // the sizes of the workload are its own
	}
	made.Connections.Weight = random.Normal(key, made.Connections.Weight.Shape())
	return made
}

// playWorkload is a population that plays its episodes, without sampling and learning. The ratio to a peer is the share
// of its speed.
func playWorkload(name string, c evolve.Config, init func(p policy.Policy, key random.Key) any,
	peers ...Peer) Workload {
	return Workload{Name: name, Work: float64(c.Population * c.Steps), Unit: "steps", Peers: peers,
		What: fmt.Sprintf("%s, %d x %s, an episode of %d steps, evaluation alone", c.Env, c.Population, c.Policy,
			c.Steps),
		Open: func(ctx context.Context, _ *host, b xlabridge.Backend, o Options) (*Runner, error) {
			c := c
			c.Devices, c.Tune = o.Devices, o.Tune
			return neurobench.OpenPlayOf(ctx, b, c, init)
		}}
}
