package bench

import "time"

// suites returns all suites. The first is the suite of names that are given without a suite.
func suites() []Suite {
	const turn = 300 * time.Millisecond
	return []Suite{
		{Name: "evolve", Turn: 2 * turn, Workloads: evolveWorkloads,
			What: "Generations, rollouts and starts of evolution, and sparse networks"},
		{Name: "ppo", Turn: 2 * time.Second, Workloads: ppoWorkloads,
			What: "Proximal policy optimization, against JAX: the time of a million environment steps"},
		{Name: "journey", Turn: turn, Workloads: journeyWorkloads, Summary: gains,
			What: "PPO with a CNN from an interpreted loop to one program an update, a regression and its repair"},
		{Name: "selfplay", Turn: turn, Workloads: selfplayWorkloads,
			What: "Search, batches and training steps of self-play, against mctx and optax"},
		{Name: "grad", Turn: turn, Devices: 1, Workloads: gradWorkloads,
			What: "Value and gradient of small networks, against JAX"},
		{Name: "half", Turn: turn, Devices: 1, Workloads: halfWorkloads,
			What: "Products, gradients and training in bfloat16 and int8, against float32"},
		{Name: "generic", Aliases: []string{"jax"}, Turn: 2 * turn, Devices: 1, Workloads: genericWorkloads,
			What: "101 programs as researchers write them, against JAX"},
		{Name: "spiking", Turn: turn, Workloads: spikingWorkloads,
			What: "Networks of LIF neurons, against Spyx, BrainPy and JAX"},
		{Name: "neuro", Turn: turn, Workloads: neuroWorkloads,
			What: "Populations in environments and on functions, against JAX, gymnax and evosax"},
		{Name: "qd", Turn: turn, Workloads: qdWorkloads,
			What: "Generations of MAP-Elites, against QDax"},
		{Name: "bodies", Turn: 2 * turn, Devices: 1, Workloads: bodiesWorkloads,
			What: "Steps of bodies by MuJoCo's dynamics, against MuJoCo with one thread"},
		{Name: "neat", Turn: turn, Workloads: neatWorkloads,
			What: "Generations of NEAT, against TensorNEAT and neat-python, and episodes of genomes"},
		{Name: "large", Turn: turn, Workloads: largeWorkloads,
			What: "Large members: low-rank noise against OpenES and inference, and memory"},
		{Name: "scaling", Turn: turn, Workloads: scalingWorkloads,
			What: "Speed, compile time and memory from small populations and networks to large ones"},
		{Name: "study", Turn: turn, Workloads: studyWorkloads,
			What: "Hyper-parameter studies, against Optuna, joblib and Ray"},
		{Name: "python", Turn: turn, Workloads: pythonWorkloads,
			What: "The Python package, against evosax, pyribs, Gymnasium and EnvPool; programs as trials"},
		{Name: "parallel", Turn: turn, Workloads: parallelWorkloads, Summary: parallelSummary,
			What: "Trials and islands at the same time, against a process pool, Optuna's threads and Ray; a model"},
		{Name: "machines", Turn: turn, Workloads: machinesWorkloads,
			What: "One population over several hosts, against one host, and a simulation of many"},
	}
}
