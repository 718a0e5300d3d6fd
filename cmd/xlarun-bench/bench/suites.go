package bench

import "time"

// suites returns all suites. The first is the suite of names that are given without a suite.
func suites() []Suite {
	const turn = 300 * time.Millisecond
	return []Suite{
		{Name: "evolve", Turn: 2 * turn, Workloads: evolveWorkloads,
			What: "Generations, rollouts and starts of evolution, and sparse networks"},
		{Name: "ppo", Turn: 2 * time.Second, Workloads: ppoWorkloads,
			What: "Proximal policy optimization, beside JAX: the time of a million environment steps"},
		{Name: "selfplay", Turn: turn, Workloads: selfplayWorkloads,
			What: "Parts of self-play, beside mctx and optax"},
		{Name: "grad", Turn: turn, Devices: 1, Workloads: gradWorkloads,
			What: "Value and gradient of small networks, beside JAX"},
		{Name: "half", Turn: turn, Devices: 1, Workloads: halfWorkloads,
			What: "Products, gradients and learning in bfloat16, beside float32"},
		{Name: "generic", Aliases: []string{"jax"}, Turn: 2 * turn, Devices: 1, Workloads: genericWorkloads,
			What: "Programs as researchers write them, beside JAX"},
		{Name: "spiking", Turn: turn, Workloads: spikingWorkloads,
			What: "Networks of LIF neurons, beside Spyx, BrainPy and JAX"},
		{Name: "neuro", Turn: turn, Workloads: neuroWorkloads,
			What: "Populations in environments and on functions, beside JAX, gymnax and evosax"},
		{Name: "qd", Turn: turn, Workloads: qdWorkloads,
			What: "Generations of quality-diversity search, beside QDax"},
		{Name: "neat", Turn: turn, Workloads: neatWorkloads,
			What: "Generations of NEAT, beside TensorNEAT and neat-python, and episodes of genomes"},
		{Name: "large", Turn: turn, Workloads: largeWorkloads,
			What: "Populations of large members: low rank beside OpenES and inference, and memory"},
		{Name: "scaling", Turn: turn, Workloads: scalingWorkloads,
			What: "Speed, compile time and memory from small populations and networks to large ones"},
		{Name: "study", Turn: turn, Workloads: studyWorkloads,
			What: "Studies of hyper-parameters, beside Optuna, joblib and Ray"},
		{Name: "machines", Turn: turn, Workloads: machinesWorkloads,
			What: "One population over several hosts, beside one host, and a model of many"},
	}
}
