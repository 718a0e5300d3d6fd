"""Functions that start runs. `go test . -run Reference -update` writes them from the flags."""
import os
from typing import TYPE_CHECKING, Annotated, Any, Literal, Mapping, Optional, Sequence, TypedDict, Union

from .run import Run, described, start
from .track import Tracker

if TYPE_CHECKING:
    from typing_extensions import Unpack

Path = Union[str, "os.PathLike[str]"]
Number = Union[float, str]  # of islands also a range or a list for the islands: "0.1..0.3"


class Common(TypedDict, total=False):
    """Flags of every kind of run."""
    seed: Annotated[int, "seed of every random number (default 0)"]
    devices: Annotated[int, "devices to run on; 0 for all that have work, on cpu one a core (default 0)"]
    backend: Annotated[str, "what to run on: cpu, cuda, rocm, tpu, reference (default cpu)"]
    plugin: Annotated[str, "PJRT plugin file to use instead of the pinned one"]
    memory_fraction: Annotated[
        float,
        "part of a GPU's memory that is used, such as 0.5; 0 for the plugin's default, 0.75 (default 0)"]
    preallocate: Annotated[bool, "take that part of a GPU's memory at the start, not as it is needed (default true)"]
    jit: Annotated[bool, "compile; --jit=false interprets op by op and stops at the first NaN (default true)"]
    checkpoint_every: Annotated[str, "time, or generations, updates, …, between checkpoints (default 10s)"]
    keep: Annotated[int, "checkpoints that stay, the newest ones (default 3)"]
    tensorboard_axis: Annotated[str, "axis in TensorBoard: by round or by step (default rounds)"]
    for_: Annotated[str, "time such as 120s after which the run ends; of a resumed one, anew"]
    rounds: Annotated[int, "generations, updates, … of the whole run after which it ends (default 0)"]
    total_steps: Annotated[int, "steps, as steps/s counts them, after which the run ends (default 0)"]
    config: Annotated[Path, "TOML file of such settings; those of the command line win"]
    out: Annotated[Path, "folder of the run, \"none\" for no folder (default \"runs/TIME-ENV\")"]
    resume: Annotated[Path, "go on with the run in this folder; auto: in --out, or start it there"]
    mirror: Annotated[
        Path,
        "folder or s3://BUCKET/PREFIX that the run's folder is copied to, at most every minute; --resume auto goes on "
        "from it"]
    drop_rows: Annotated[bool, "go on also if rows of metrics.jsonl are missing (default false)"]
    from_study: Annotated[
        Path,
        "start with the settings of the best trial of this study, of the trial N of FILE:N; FILE:STUDY and "
        "FILE:STUDY:N where the database has several"]
    grace: Annotated[str, "time after SIGTERM to end the round and save; Ctrl-C leaves 0.8 s (default 20s)"]
    track: Annotated[
        Tracker,
        "experiment tracker that gets the run while it goes on, as xlarun.track sends it"]


class Strategy(TypedDict, total=False):
    """Settings of a choice of strategy."""
    strategy_sigma: Annotated[
        Number,
        "standard deviation of the noise (annealing 1, ars 0.1, eggroll 0.1, gradientless 0.2, hillclimbing 1, nres "
        "0.1, openes 0.1, pes 0.1); length of a member's noise, about: over all parameters, not of each (asebo 1, "
        "guidedes 1); standard deviation of the noise at first (cmaes 1, crfmnes 1, lmmaes 1, maes 1, rmes 1, "
        "sepcmaes 1, svcmaes 1, xnes 1); standard deviation of the first members around the start (de 1, diffusion "
        "1); standard deviation of a child's noise at first (gesmrga 1, mr15ga 1, samrga 1); standard deviation of "
        "the members at first (iamalgam 1, iamalgamu 1); standard deviation of every parameter's noise at first (pgpe "
        "0.1, snes 1); standard deviation of the first particles around the start (pso 1); standard deviation of the "
        "members around the start (randomsearch 1); standard deviation of a child's noise (simplega 0.1)"]
    strategy_sigma_decay: Annotated[
        Number,
        "factor of sigma from one generation to the next (annealing 1, ars 1, eggroll 1, gradientless 1, hillclimbing "
        "1, nres 1, openes 1, pes 1, simplega 1)"]
    strategy_temperature: Annotated[
        Number,
        "loss of fitness that is accepted seldom, at first (annealing 5); fitness that makes a member weigh e times "
        "as much (diffusion 1)"]
    strategy_temperature_decay: Annotated[
        Number,
        "factor of the temperature from one generation to the next (annealing 0.999)"]
    strategy_learning_rate: Annotated[
        Number,
        "step size of Adam (ars 0.02, asebo 0.02, eggroll 0.02, guidedes 0.02, nres 0.02, openes 0.02, pes 0.02); "
        "step size of the mean's optimizer (pgpe 0.02); step size of the mean (snes 1, xnes 1)"]
    strategy_elite_ratio: Annotated[
        Number,
        "part of the pairs that count (ars 0.5); part of the members that become parents (gesmrga 0.5, samrga 0.5, "
        "simplega 0.5)"]
    strategy_subspace: Annotated[int, "dimensions of the subspace (asebo 1, guidedes 1)"]
    strategy_shaping: Annotated[
        str,
        "what the gradient is of: centered ranks, fitness less its mean over its standard deviation (z-score), or "
        "fitness itself (raw) (asebo ranks, eggroll ranks, guidedes ranks, nres ranks, openes ranks, pes ranks, pgpe "
        "ranks)"]
    strategy_weight_decay: Annotated[
        Number,
        "fitness that a member loses for each unit of its parameters' squares (asebo 0, eggroll 0, guidedes 0, nres "
        "0, openes 0, pes 0, pgpe 0)"]
    strategy_eigen_every: Annotated[
        int,
        "generations from one eigendecomposition to the next; 0 for as many as change a tenth of the covariance "
        "(cmaes 0, svcmaes 0)"]
    strategy_crossover_rate: Annotated[
        Number,
        "probability that a parameter is the trial's own (de 0.9); part of the children that have two parents (neat "
        "0.75)"]
    strategy_differential_weight: Annotated[Number, "weight of the difference of two members (de 0.8)"]
    strategy_base: Annotated[str, "member to which the difference is added: the best, or any other (de best)"]
    strategy_noise: Annotated[Number, "weight of new noise in a step (diffusion 1)"]
    strategy_schedule: Annotated[int, "generations from noise to the last members (diffusion 128)"]
    strategy_rank: Annotated[int, "rank of the noise of a matrix (eggroll 1)"]
    strategy_optimizer: Annotated[
        str,
        "optimizer of the mean: adam, or sgd, which has no state (for large members) (eggroll adam); optimizer of the "
        "mean: adam, or clipup, whose steps are of the length of the learning rate with momentum, max-speed at most "
        "(pgpe adam)"]
    strategy_meta: Annotated[
        Number,
        "largest factor of a group's standard deviation against the one that it inherits (gesmrga 2); largest factor "
        "of a child's standard deviation against its parent's (samrga 2)"]
    strategy_groups: Annotated[
        int,
        "groups of children with one standard deviation, fewer than the population has members; 0 for the root of the "
        "population (gesmrga 0)"]
    strategy_sigma_min: Annotated[
        Number,
        "standard deviation below which no member's falls (gradientless 0.001); smallest standard deviation (samrga "
        "0)"]
    strategy_halving: Annotated[Number, "members from one standard deviation to half of it (gradientless 5)"]
    strategy_alpha: Annotated[Number, "share of the noise that all directions have (guidedes 0.5)"]
    strategy_success_share: Annotated[
        Number,
        "share of children that are better than their parents, above which sigma rises (mr15ga 0.2)"]
    strategy_weight_rate: Annotated[Number, "probability that a child's weights and biases change (neat 0.8)"]
    strategy_replace_rate: Annotated[Number, "part of them that is drawn again; the others are moved (neat 0.1)"]
    strategy_weight_power: Annotated[Number, "a weight moves by a uniform number within ± this (neat 1)"]
    strategy_weight_range: Annotated[Number, "new weights are uniform within ± this (neat 2)"]
    strategy_weight_limit: Annotated[Number, "weights stay within ± this (neat 30)"]
    strategy_node_rate: Annotated[
        Number,
        "probability that a child gets a node in the middle of a connection (neat 0.03)"]
    strategy_connection_rate: Annotated[Number, "probability that a child gets a connection (neat 0.05)"]
    strategy_toggle_rate: Annotated[
        Number,
        "probability that one of a child's connections is switched on or off (neat 0.01)"]
    strategy_function_rate: Annotated[
        Number,
        "probability that one hidden node gets another activation and aggregation (neat 0.1)"]
    strategy_average_rate: Annotated[
        Number,
        "part of these whose common weights and biases are means of the parents' (neat 0)"]
    strategy_interspecies_rate: Annotated[Number, "part of these whose second parent is of any species (neat 0.001)"]
    strategy_disable_rate: Annotated[
        Number,
        "probability that a connection is off if it is off in a parent (neat 0.75)"]
    strategy_survival_rate: Annotated[Number, "best part of each species that has children (neat 0.2)"]
    strategy_elites: Annotated[Number, "best members of a species that stay as they are (neat 1)"]
    strategy_elite_size: Annotated[Number, "a species has elites if it has more members than this (neat 5)"]
    strategy_max_species: Annotated[int, "room for species; if it is used up, members join the nearest one (neat 32)"]
    strategy_compatibility_threshold: Annotated[
        Number,
        "distance from its representative up to which a member belongs to a species (neat 3)"]
    strategy_target_species: Annotated[int, "number of species that the threshold moves to; 0: it stays (neat 0)"]
    strategy_threshold_step: Annotated[Number, "what the threshold moves by in a generation (neat 0.3)"]
    strategy_excess_weight: Annotated[Number, "weight of excess connections in the distance (neat 1)"]
    strategy_disjoint_weight: Annotated[Number, "weight of disjoint connections in the distance (neat 1)"]
    strategy_difference_weight: Annotated[
        Number,
        "weight of the mean difference of matching connections' weights (neat 0.4)"]
    strategy_small_genome: Annotated[
        Number,
        "the distance counts all genes of genomes of fewer connections than this, and the part of them in larger ones "
        "(neat 20)"]
    strategy_stagnation: Annotated[
        Number,
        "generations without a better best after which a species has no children (neat 15)"]
    strategy_refocus: Annotated[
        Number,
        "each time after so many generations without a better best of all, only the best two species have children "
        "(neat 20)"]
    strategy_unrolls: Annotated[
        int,
        "generations of one history of noise: parts of an episode in the paper (nres 10, pes 10)"]
    strategy_std_learning_rate: Annotated[
        Number,
        "step size of the standard deviations (pgpe 0.1); step size of the standard deviations; 0 for the paper's "
        "(snes 0); step size of sigma; 0 for the paper's, of the number of parameters (xnes 0)"]
    strategy_max_speed: Annotated[Number, "longest step of clipup (pgpe 0.04)"]
    strategy_inertia: Annotated[Number, "part of its velocity that a particle keeps (pso 0.75)"]
    strategy_cognitive: Annotated[Number, "pull of a particle's own best place (pso 1.5)"]
    strategy_social: Annotated[Number, "pull of the best place of all (pso 2)"]
    strategy_paths: Annotated[int, "evolution paths that stretch the noise (rmes 2)"]
    strategy_sigma_max: Annotated[Number, "largest standard deviation (samrga 10)"]
    strategy_searches: Annotated[int, "searches that share the population (svcmaes 2)"]
    strategy_kernel_width: Annotated[Number, "distance at which means repel each other most (svcmaes 1)"]
    strategy_repulsion: Annotated[Number, "weight of the repulsion (svcmaes 1)"]
    strategy_shape_learning_rate: Annotated[
        Number,
        "step size of the matrix; 0 for the paper's, of the number of parameters (xnes 0)"]


class Policy(TypedDict, total=False):
    """Settings of a choice of policy."""
    policy_hidden: Annotated[
        Union[int, Sequence[int], str],
        "sizes of the hidden layers (blockmlp 256,256, cnn 32, hyperneat 16, mlp 16,16, normedmlp 128,128); sizes of "
        "the layers of neurons (spiking 32,16)"]
    policy_activation: Annotated[
        str,
        "function between the layers (blockmlp tanh, cnn relu, hyperneat tanh, mlp tanh, normedmlp relu)"]
    policy_block: Annotated[int, "rows and columns of a block (blockmlp 32)"]
    policy_density: Annotated[Number, "share of the blocks between two hidden layers that exist (blockmlp 0.25)"]
    policy_mask_seed: Annotated[int, "seed of the shared masks (blockmlp 0)"]
    policy_masks: Annotated[
        str,
        "which blocks exist: the same for all members (shared), or drawn with each member's parameters (own, for "
        "strategies whose genomes are trees) (blockmlp shared)"]
    policy_channels: Annotated[Union[int, Sequence[int], str], "output channels of each convolution (cnn 16)"]
    policy_kernel: Annotated[int, "height and width of the kernels (cnn 3)"]
    policy_stride: Annotated[int, "stride of the convolutions, both ways (cnn 1)"]
    policy_padding: Annotated[
        str,
        "zeros around the input of a convolution: none (valid), or as many as keep its size at stride 1 (same) (cnn "
        "valid)"]
    policy_units: Annotated[int, "units of the recurrent layer (ctrnn 16, elman 32, gru 32, lstm 32, mingru 32)"]
    policy_dt: Annotated[
        Number,
        "seconds of the network's time per step of the environment (ctrnn 0.1); ms of the network's time per substep; "
        "0: as the file says, or 1 (nir 0); ms of the network's time per substep (spiking 1)"]
    policy_tau_min: Annotated[
        Number,
        "smallest time constant of a unit, in seconds; at least dt (ctrnn 0.1); smallest time constant of a membrane, "
        "in ms; at least dt (spiking 5)"]
    policy_tau_max: Annotated[
        Number,
        "largest time constant of a unit, in seconds (ctrnn 10); largest time constant of a membrane, in ms (spiking "
        "80)"]
    policy_nodes: Annotated[
        int,
        "room for the genome's nodes; 0: 16 more than its inputs and outputs (genome 0, hyperneat 0, multispatial 0)"]
    policy_connections: Annotated[
        int,
        "room for the genome's connections; 0: 48 more than the first ones (genome 0, hyperneat 0, multispatial 0)"]
    policy_initial: Annotated[
        str,
        "connections of the first genomes: full, every input with every output; or none (genome full)"]
    policy_recurrent: Annotated[
        bool,
        "whether connections may form cycles; a step then has the values of the step before (genome false); whether "
        "each layer's spikes are also its own input (spiking false)"]
    policy_activations: Annotated[
        str,
        "functions of hidden nodes: tanh, sigmoid, steep, relu, identity, sin, cos, gauss, abs, square, clamped, hat "
        "(genome tanh); functions of the genome's hidden nodes, as those of the policy genome (hyperneat "
        "sigmoid,gauss,sin,tanh,abs,identity, multispatial sigmoid,gauss,sin,tanh,abs,identity)"]
    policy_final_activation: Annotated[str, "function of the outputs (genome identity)"]
    policy_aggregations: Annotated[
        str,
        "how nodes join their connections: sum, product, max, min, maxabs, mean (genome sum)"]
    policy_threshold: Annotated[
        Number,
        "output of the genome up to which there is no connection (hyperneat 0.2, multispatial 0.2)"]
    policy_largest_weight: Annotated[Number, "weight for an output of 1 (hyperneat 3, multispatial 3)"]
    policy_file: Annotated[
        str,
        "file of the network: its layers, and the numbers that the search starts from (nir ); file of StableHLO that "
        "jax.export wrote: a function of parameters and an observation (program )"]
    policy_layers: Annotated[
        str,
        "layers of a network whose numbers come from elsewhere: with them no file is read. Saved members have this "
        "setting (nir )"]
    policy_sha256: Annotated[
        str,
        "digest of the file, which a run writes into its config: another file is refused. With it the file is read "
        "although there are layers (nir ); digest of the parameter file, which a run writes into its config: another "
        "file is refused. With it the file is read although there is a module (program )"]
    policy_input: Annotated[
        str,
        "what the network gets in each substep: the spikes of the encoder (spikes), or the elements of the "
        "observation times gain (observation) (nir auto)"]
    policy_encoder: Annotated[
        str,
        "how observations become spikes, as in spiking (nir auto); how observations become spikes: as the mean "
        "current of rate (current), random spike trains (rate), regular trains (regular), one spike, earlier for "
        "larger values (latency), spikes on a change (delta), random trains of several units (population) (spiking "
        "current)"]
    policy_decoder: Annotated[
        str,
        "what the outputs are: the network's outputs after the last substep (last), or their mean over the substeps "
        "(mean). auto: last after an LI, else mean (nir auto); what the outputs read of the last layer's spikes: "
        "leaky integrators (membrane), or per step the mean rates (rate), the times of the first spikes "
        "(first-spike), or the mean of the neurons' preferred vectors (population-vector) (spiking membrane)"]
    policy_substeps: Annotated[
        int,
        "substeps of dt ms per step of the environment; 0: as the file says, or 8 (nir 0); substeps of dt ms per step "
        "of the environment (spiking 8)"]
    policy_rate: Annotated[
        Number,
        "spikes per second of an input that is 1; 0: as the file says, or 500 (nir 0); spikes per second of an input "
        "that is 1; at most one per substep (spiking 500)"]
    policy_gain: Annotated[
        Number,
        "factor of observations; 0: as the file says, or 1 (nir 0); factor of observations, scaled to -1..1 by their "
        "bounds, before they become spikes (spiking 1)"]
    policy_fields: Annotated[
        int,
        "units per input of the encoder population; 0: as the file says, or 5 (nir 0); units per input of the encoder "
        "population (spiking 5)"]
    policy_change: Annotated[
        Number,
        "change of an input that makes the encoder delta send a spike; 0: as the file says, or 0.05 (nir 0); change "
        "of an input that makes the encoder delta send a spike (spiking 0.05)"]
    policy_rule: Annotated[
        str,
        "how time constants become decays: exp(-dt/tau) (exact), 1 - dt/tau (euler), or as in files of Spyx, with the "
        "dt that they were written with (spyx) (nir exact)"]
    policy_surrogate: Annotated[
        str,
        "what replaces the derivative of a spike in gradients (nir fast-sigmoid, spiking fast-sigmoid)"]
    policy_params: Annotated[
        str,
        "safetensors file of the parameters, which are the numbers that the search starts from (default the file with "
        "the program's name and the ending .safetensors) (program )"]
    policy_module: Annotated[
        str,
        "the program itself, packed: with it no file is read. Configs of runs and saved members have it (program )"]
    policy_dynamics: Annotated[
        str,
        "model of the neurons: fast (LIF), fast:alif, fast:cubalif; or mechanistic:MODEL with lif, expif, adex, "
        "izhikevich or hh, and with synapses :current, :shunt or :conductance, as in mechanistic:adex:conductance "
        "(default: currents without dynamics) (spiking fast)"]
    policy_delay: Annotated[
        int,
        "most substeps that a spike takes to arrive; each neuron has its own number, a gene; 0: no delays (spiking 0)"]
    policy_weight_scale: Annotated[Number, "mV that a weight's gene of 1 stands for (spiking 15)"]
    policy_rest: Annotated[Number, "potential of neurons without input, in mV (spiking -65)"]
    policy_reset: Annotated[
        Number,
        "potential of neurons after a spike, in mV; the fast dynamics use rest (spiking -65)"]
    policy_refractory: Annotated[
        Number,
        "ms after a spike for which the potential stays; the fast dynamics and hh use 0 (spiking 0)"]
    policy_reversal_excitatory: Annotated[Number, "reversal potential of excitatory conductances, in mV (spiking 0)"]
    policy_reversal_inhibitory: Annotated[Number, "reversal potential of inhibitory conductances, in mV (spiking -80)"]
    policy_synapse_min: Annotated[Number, "smallest time constant of a synapse, in ms; at least dt (spiking 1.25)"]
    policy_synapse_max: Annotated[Number, "largest time constant of a synapse, in ms (spiking 20)"]
    policy_adaptation_min: Annotated[
        Number,
        "smallest time constant of an adaptation, in ms; at least dt (spiking 25)"]
    policy_adaptation_max: Annotated[Number, "largest time constant of an adaptation, in ms (spiking 400)"]
    policy_threshold_min: Annotated[Number, "smallest distance from rest to the threshold, in mV (spiking 5)"]
    policy_threshold_max: Annotated[Number, "largest distance from rest to the threshold, in mV (spiking 45)"]
    policy_jump_min: Annotated[Number, "smallest step of the adaptation at a spike, in mV (spiking 0.5)"]
    policy_jump_max: Annotated[Number, "largest step of the adaptation at a spike, in mV (spiking 12.5)"]
    policy_plasticity: Annotated[
        str,
        "how the weights between layers change within an episode: not at all (none), by the timing of spikes (stdp), "
        "or by timing and the step's reward (rewarded) (spiking none)"]
    policy_plasticity_rate: Annotated[
        Number,
        "change of a weight by a pair of spikes, in genes, or its eligibility for it; a pair in reverse order takes "
        "off 1.05 times as much (spiking 0.01)"]
    policy_plasticity_tau: Annotated[Number, "ms for which a pair of spikes is eligible for a reward (spiking 200)"]
    policy_plasticity_bound: Annotated[Number, "largest change of a weight, in genes (spiking 1)"]
    policy_size: Annotated[Union[int, Sequence[int], str], "width and number of blocks (transformer 64,2)"]
    policy_heads: Annotated[int, "heads of each block, which divide the width (transformer 4)"]
    policy_memory: Annotated[int, "steps that an attention sees, the present one included (transformer 64)"]
    policy_between: Annotated[
        Union[float, Sequence[float], str],
        "least and greatest first parameter: they are drawn uniformly (vector 0,1)"]


class Evolve(Common, Strategy, Policy, total=False):
    """Flags of xlarun evolve."""
    env_param: Annotated[
        Union[Mapping[str, Any], str],
        "parameter of the environment and its value, walls=0.2, or a range from which each episode draws, "
        "walls=0.1..0.3; repeatable"]
    policy: Annotated[str, "network of a member: one of 18 that xlarun help policies lists (default mlp:16,16)"]
    steps: Annotated[int, "environment steps of an episode (default 500)"]
    episodes: Annotated[int, "episodes of a member, of which the mean counts (default 1)"]
    target: Annotated[Number, "mean return less its error to end at; 0: none; auto: the environment's (default auto)"]
    eval_episodes: Annotated[
        int,
        "new episodes by which members are judged before one of them is called the best (default 100)"]
    sample: Annotated[
        int,
        "members of the population whose episodes are written to trajectories.safetensors at the run's end: "
        "observations, actions, rewards (default 0)"]
    eval_envs: Annotated[
        int,
        "new episodes of an evaluation, while training, of the policy that would be saved then; evolve and qd round "
        "up to a multiple of --episodes, islands to one for each island; 0: there is none (default 64)"]
    eval_every: Annotated[
        int,
        "generations or updates between evaluations while training; before the first of them there is one in 1, 2, 4, "
        "8 and so on (default 10)"]
    strategy: Annotated[
        str,
        "algorithm that makes the next population: one of 31 that xlarun help strategies lists (default openes)"]
    pop: Annotated[int, "members of the population (default 256)"]
    generations: Annotated[int, "generations at most (default 100)"]
    hall_of_fame: Annotated[
        Number,
        "members that are kept as the best of the whole run, from the best of each generation, and judged at its end; "
        "auto: 4, none of networks above 65536 parameters (default auto)"]
    memory: Annotated[
        Union[int, str],
        "memory that the run's arrays may take on all devices, as 2G or 500MiB (default what is free)"]
    tune: Annotated[
        Literal["auto", "off", "quick", "full"],
        "how the settings of the plan that are not given are chosen: auto (as an earlier quick or full stored, else "
        "by the rule), off (by the rule), quick (measure for up to 3 s and store), full (up to 60 s); another plan "
        "changes last digits (default auto)"]
    tile: Annotated[int, "members that play together on a device; 0 to choose (default 0)"]
    batch_last: Annotated[bool, "keep the members on the last axis"]
    unroll: Annotated[int, "steps in one iteration of the loop; 0 to choose (default 0)"]
    episode_batch: Annotated[
        int,
        "episodes of a member that run side by side, a divisor of --episodes; 0 to choose (default 0)"]
    vector_width: Annotated[
        int,
        "width in bits of the vectors that the compiler prefers on cpu; 0 to choose (default 0)"]
    normalize_observations: Annotated[
        bool,
        "observations less the mean of all earlier generations, over their standard deviation"]
    grow: Annotated[
        bool,
        "when a mutation finds no room in a genome, the population moves to arrays of twice the length, for nodes or "
        "for connections"]
    restarts: Annotated[
        Literal["none", "ipop", "bipop"],
        "how a search that has converged starts again: not at all, with twice the population (ipop), or in turn with "
        "small populations that have evaluated less (bipop) (default none)"]
    max_population: Annotated[int, "largest population of a restart; 0 for 16 times the first population (default 0)"]
    patience: Annotated[
        int,
        "generations without a better eval_return (without evaluations, best_ever) after which the run ends; 0 to go "
        "on (default 0)"]
    min_improvement: Annotated[
        float,
        "what that has to rise by, at least, to count as better for --patience (default 0)"]
    validation_target: Annotated[
        float,
        "return that the mean of the search, less its standard error, must have in a validation, too, before the run "
        "ends at its target; with --target 0 each evaluation has a validation, and none ends the run; 0: no "
        "validation (default 0)"]
    validation_episodes: Annotated[int, "new episodes of a validation (default 100)"]
    validation_steps: Annotated[int, "environment steps of a validation's episode; 0: as --steps (default 0)"]
    validation_param: Annotated[
        Union[Mapping[str, Any], str],
        "parameter of the environment in validations, which goes before --env-param; repeatable"]
    island: Annotated[str, "name of this run among the islands that share --migration-dir or --join"]
    migration_dir: Annotated[
        str,
        "folder that islands, runs of their own, share: through it their best members travel"]
    migrate_every: Annotated[int, "generations from one migration to the next; 0: nobody migrates (default 10)"]
    migrants: Annotated[int, "members that leave an island in a migration, and arrive at most (default 5)"]
    join: Annotated[
        str,
        "nats://HOST:PORT/NAME: compute one population with all hosts that give the same server and name; with "
        "--island, exchange members with all islands that do. @FILE:NAME: the address is in a file"]
    wait: Annotated[
        Number,
        "time to wait for a server, and then for --hosts, before the run ends with status 3 (default 10m)"]
    alone_for: Annotated[
        Number,
        "time without the server after which a host saves its state and ends with status 3; 0s: wait for it, for "
        "--wait, then status 3; forever: go on alone (default 10m)"]
    hosts: Annotated[
        int,
        "hosts that must have joined before the first generation; a run that is resumed waits for them 30 s at most "
        "(default 0)"]
    chunks: Annotated[
        int,
        "chunks of a generation, of one tile at least, that hosts compute one by one; several for each host; 0 for 64 "
        "(default 0)"]
    token_file: Annotated[str, "file with the server's token, else the variable XLARUN_TOKEN"]
    creds: Annotated[str, "credentials of a user, for a NATS server that wants them, a file as nsc writes it"]
    nkey: Annotated[str, "seed of a user's nkey, for a NATS server that wants it, a file as nk writes it"]
    tls_ca: Annotated[str, "authority that the other side's certificate is of, a PEM file"]
    tls_cert: Annotated[str, "certificate of this process, a PEM file"]
    tls_key: Annotated[str, "its key, a PEM file"]


class Islands(Common, Strategy, Policy, total=False):
    """Flags of xlarun islands."""
    env_param: Annotated[
        Union[Mapping[str, Any], str],
        "parameter of the environment and its value, walls=0.2, or a range from which each episode draws, "
        "walls=0.1..0.3; repeatable"]
    policy: Annotated[str, "network of a member: one of 18 that xlarun help policies lists (default mlp:16,16)"]
    steps: Annotated[int, "environment steps of an episode (default 500)"]
    episodes: Annotated[int, "episodes of a member, of which the mean counts (default 1)"]
    target: Annotated[Number, "mean return less its error to end at; 0: none; auto: the environment's (default auto)"]
    eval_episodes: Annotated[
        int,
        "new episodes by which members are judged before one of them is called the best (default 100)"]
    sample: Annotated[
        int,
        "members of the population whose episodes are written to trajectories.safetensors at the run's end: "
        "observations, actions, rewards (default 0)"]
    eval_envs: Annotated[
        int,
        "new episodes of an evaluation, while training, of the policy that would be saved then; evolve and qd round "
        "up to a multiple of --episodes, islands to one for each island; 0: there is none (default 64)"]
    eval_every: Annotated[
        int,
        "generations or updates between evaluations while training; before the first of them there is one in 1, 2, 4, "
        "8 and so on (default 10)"]
    strategy: Annotated[
        str,
        "algorithm that makes the next population: one of 31 that xlarun help strategies lists (default openes)"]
    pop: Annotated[int, "members of the population (default 64)"]
    generations: Annotated[int, "generations at most (default 100)"]
    hall_of_fame: Annotated[
        Number,
        "members that are kept as the best of the whole run, from the best of each generation, and judged at its end; "
        "auto: 4, none of networks above 65536 parameters (default auto)"]
    memory: Annotated[
        Union[int, str],
        "memory that the run's arrays may take on all devices, as 2G or 500MiB (default what is free)"]
    tune: Annotated[
        Literal["auto", "off", "quick", "full"],
        "how the settings of the plan that are not given are chosen: auto (as an earlier quick or full stored, else "
        "by the rule), off (by the rule), quick (measure for up to 3 s and store), full (up to 60 s); another plan "
        "changes last digits (default auto)"]
    tile: Annotated[int, "members that play together on a device; 0 to choose (default 0)"]
    batch_last: Annotated[bool, "keep the members on the last axis"]
    unroll: Annotated[int, "steps in one iteration of the loop; 0 to choose (default 0)"]
    episode_batch: Annotated[
        int,
        "episodes of a member that run side by side, a divisor of --episodes; 0 to choose (default 0)"]
    vector_width: Annotated[
        int,
        "width in bits of the vectors that the compiler prefers on cpu; 0 to choose (default 0)"]
    migrate_every: Annotated[int, "generations from one migration to the next; 0: nobody migrates (default 10)"]
    migrants: Annotated[int, "members that leave an island in a migration, and arrive at most (default 5)"]
    islands: Annotated[int, "populations that evolve side by side, each of --pop members (default 8)"]
    topology: Annotated[
        Literal["ring", "torus", "random"],
        "from where members come to an island: from the island before it (ring), from its neighbors on a grid that is "
        "closed at its ends (torus), or each from any other island, drawn anew (random) (default ring)"]
    explore_every: Annotated[
        int,
        "generations after which the worst fifth of the islands go on with the searches of the best fifth, and with "
        "their hyper-parameters changed (population-based training); 0: never (default 0)"]


class Value(TypedDict, total=False):
    """Settings of a choice of value."""
    value_beta: Annotated[Number, "share of a batch in the moments of returns (popart 0.1)"]
    value_min_sigma: Annotated[Number, "least standard deviation of returns (popart 0.0001)"]
    value_max_sigma: Annotated[Number, "greatest standard deviation of returns (popart 1e+06)"]
    value_bins: Annotated[int, "bins of the symmetric logarithm of returns (twohot 255)"]
    value_limit: Annotated[Number, "where the bins end; 20: returns of 485 million (twohot 20)"]


class Auxiliary(TypedDict, total=False):
    """Settings of a choice of auxiliary."""
    auxiliary_weight: Annotated[Number, "weight of the divergence (kl 0.2)"]


class Ppo(Common, Policy, Value, Auxiliary, total=False):
    """Flags of xlarun ppo."""
    env_param: Annotated[
        Union[Mapping[str, Any], str],
        "parameter of the environment and its value, walls=0.2, or a range from which each episode draws, "
        "walls=0.1..0.3; repeatable"]
    policy: Annotated[str, "network of a member: one of 18 that xlarun help policies lists (default mlp:64,64)"]
    shared: Annotated[bool, "one network for actor and critic, with the values as further outputs"]
    critic: Annotated[str, "network of the critic, as in --policy, by default the one of the policy"]
    init: Annotated[
        Literal["orthogonal", "policy"],
        "first weights: orthogonal, or as the policy draws them (default orthogonal)"]
    deviation: Annotated[float, "first standard deviation of actions in a box (default 1)"]
    value: Annotated[str, "how values are made of the critic's outputs: plain, popart, twohot (default plain)"]
    auxiliary: Annotated[str, "further term of the loss: kl, none (default none)"]
    steps: Annotated[int, "environment steps of an agent (default 500000)"]
    envs: Annotated[int, "environments that an agent plays at a time (default 4)"]
    horizon: Annotated[int, "steps of each environment in an update (default 128)"]
    epochs: Annotated[int, "how often an update goes through its rollout (default 4)"]
    minibatches: Annotated[int, "optimizer steps of an epoch (default 4)"]
    shuffle: Annotated[
        Literal["permutation", "blocks"],
        "shuffle single steps, or blocks of them (default permutation)"]
    accumulate: Annotated[int, "parts of a minibatch's gradient, to save memory (default 1)"]
    precision: Annotated[
        Literal["f32", "bf16", "f16", "auto"],
        "of networks; auto: bf16 where it is faster, and config.toml then has what was chosen (default f32)"]
    learning_rate: Annotated[Number, "step size of the optimizer (default 0.00025)"]
    anneal: Annotated[bool, "let the learning rate fall to 0 over the run (default true)"]
    gamma: Annotated[Number, "discount of a step (default 0.99)"]
    lambda_: Annotated[Number, "weight of longer returns (GAE, Q(lambda)) (default 0.95)"]
    max_grad_norm: Annotated[Number, "norm that a gradient is cut to (default 0.5)"]
    clip: Annotated[Number, "how far from 1 the ratio of probabilities counts (default 0.2)"]
    clip_values: Annotated[bool, "clip values, too (default true)"]
    value_coef: Annotated[Number, "weight of the value's loss (default 0.5)"]
    entropy_coef: Annotated[Number, "weight of the entropy that is added (default 0.01)"]
    target_kl: Annotated[float, "divergence of an epoch that ends the update; 0: none does (default 0)"]
    normalize_advantages: Annotated[bool, "normalize the advantages of a minibatch (default true)"]
    normalize_observations: Annotated[bool, "normalize observations by those of earlier updates"]
    normalize_rewards: Annotated[bool, "divide rewards by the deviation of discounted sums"]
    agents: Annotated[int, "agents that are trained at the same time (default 1)"]
    tile: Annotated[int, "agents that a device trains together; 0 to choose (default 0)"]
    target: Annotated[Number, "mean return less its error to end at; 0: none; auto: the environment's (default auto)"]
    eval_episodes: Annotated[
        int,
        "new episodes by which members are judged before one of them is called the best (default 100)"]
    eval_envs: Annotated[
        int,
        "new episodes of an evaluation, while training, of the policy that would be saved then; evolve and qd round "
        "up to a multiple of --episodes, islands to one for each island; 0: there is none (default 32)"]
    eval_every: Annotated[
        int,
        "generations or updates between evaluations while training; before the first of them there is one in 1, 2, 4, "
        "8 and so on (default 0)"]


class Pqn(Common, Policy, total=False):
    """Flags of xlarun pqn."""
    env_param: Annotated[
        Union[Mapping[str, Any], str],
        "parameter of the environment and its value, walls=0.2, or a range from which each episode draws, "
        "walls=0.1..0.3; repeatable"]
    policy: Annotated[
        str,
        "network of a member: one of 18 that xlarun help policies lists (default normedmlp:128,128)"]
    steps: Annotated[int, "environment steps of an agent (default 500000)"]
    envs: Annotated[int, "environments that an agent plays at a time (default 32)"]
    horizon: Annotated[int, "steps of each environment in an update (default 64)"]
    epochs: Annotated[int, "how often an update goes through its rollout (default 4)"]
    minibatches: Annotated[int, "optimizer steps of an epoch (default 16)"]
    shuffle: Annotated[
        Literal["permutation", "blocks"],
        "shuffle single steps, or blocks of them (default permutation)"]
    accumulate: Annotated[int, "parts of a minibatch's gradient, to save memory (default 1)"]
    precision: Annotated[
        Literal["f32", "bf16", "f16", "auto"],
        "of networks; auto: bf16 where it is faster, and config.toml then has what was chosen (default f32)"]
    learning_rate: Annotated[Number, "step size of the optimizer (default 0.0001)"]
    anneal: Annotated[bool, "let the learning rate fall to 0 over the run (default true)"]
    gamma: Annotated[Number, "discount of a step (default 0.99)"]
    lambda_: Annotated[Number, "weight of longer returns (GAE, Q(lambda)) (default 0.95)"]
    max_grad_norm: Annotated[Number, "norm that a gradient is cut to (default 10)"]
    epsilon: Annotated[float, "share of random actions at first (default 1)"]
    epsilon_end: Annotated[float, "share of random actions in the end (default 0.05)"]
    epsilon_over: Annotated[float, "part of the run over which it falls (default 0.2)"]
    reward_scale: Annotated[float, "factor of rewards in learning (default 0.1)"]
    normalize_observations: Annotated[bool, "normalize observations by those of earlier updates"]
    normalize_rewards: Annotated[bool, "divide rewards by the deviation of discounted sums"]
    agents: Annotated[int, "agents that are trained at the same time (default 1)"]
    tile: Annotated[int, "agents that a device trains together; 0 to choose (default 0)"]
    target: Annotated[Number, "mean return less its error to end at; 0: none; auto: the environment's (default auto)"]
    eval_episodes: Annotated[
        int,
        "new episodes by which members are judged before one of them is called the best (default 100)"]
    eval_envs: Annotated[
        int,
        "new episodes of an evaluation, while training, of the policy that would be saved then; evolve and qd round "
        "up to a multiple of --episodes, islands to one for each island; 0: there is none (default 32)"]
    eval_every: Annotated[
        int,
        "generations or updates between evaluations while training; before the first of them there is one in 1, 2, 4, "
        "8 and so on (default 0)"]


class Archive(TypedDict, total=False):
    """Settings of a choice of archive."""
    archive_cells: Annotated[int, "number of cells (cvt 1024)"]
    archive_seed: Annotated[
        int,
        "seed of the points that the cells are fitted to; it does not change with --seed (cvt 0)"]
    archive_sides: Annotated[
        Union[int, Sequence[int], str],
        "parts of each number of the descriptor, or one number for all (grid 32)"]
    archive_size: Annotated[int, "members of the population (nsga2 256)"]
    archive_most: Annotated[int, "elites at most (unstructured 1024)"]
    archive_distance: Annotated[Number, "least distance of elites, where the bounds are 0 and 1 (unstructured 0.03)"]
    archive_neighbors: Annotated[
        int,
        "nearest elites whose mean distance is a member's novelty, for --emitter.ranking novelty (unstructured 10)"]


class Emitter(TypedDict, total=False):
    """Settings of a choice of emitter."""
    emitter_iso_sigma: Annotated[
        Number,
        "standard deviation of the noise of each number (isoline 0.01, searches 0.01)"]
    emitter_line_sigma: Annotated[
        Number,
        "standard deviation of the step along the line of two elites, in their distance (isoline 0.2, searches 0.2)"]
    emitter_bounds: Annotated[
        Union[float, Sequence[float], str],
        "least and greatest number of a genome: others are clipped (isoline , searches ); least and greatest number "
        "of a genome, which mutation needs (sbx )"]
    emitter_crossover: Annotated[Number, "chance that a child has two parents (sbx 0.9)"]
    emitter_crossover_index: Annotated[Number, "the larger, the nearer is a child to a parent (sbx 15)"]
    emitter_mutation_index: Annotated[Number, "the larger, the smaller are mutations (sbx 20)"]
    emitter_mutated: Annotated[Number, "mean count of the numbers of a genome that mutate (sbx 1)"]
    emitter_searches: Annotated[int, "searches side by side; they share --batch (searches 8)"]
    emitter_ranking: Annotated[
        str,
        "by what a search ranks its members; bandit: each search takes what has worked best (searches improvement)"]
    emitter_explore: Annotated[Number, "weight of what a bandit tried seldom (searches 0.5)"]


class Descriptor(TypedDict, total=False):
    """Settings of a choice of descriptor."""
    descriptor_elements: Annotated[
        Union[int, Sequence[int], str],
        "elements of the flat observation, from 0 (observations 0,1)"]
    descriptor_bounds: Annotated[
        Union[float, Sequence[float], str],
        "least and greatest mean of each element; by default those of the observation (observations )"]


class Qd(Common, Archive, Emitter, Strategy, Descriptor, Policy, total=False):
    """Flags of xlarun qd."""
    env_param: Annotated[
        Union[Mapping[str, Any], str],
        "parameter of the environment and its value, walls=0.2, or a range from which each episode draws, "
        "walls=0.1..0.3; repeatable"]
    policy: Annotated[str, "network of a member: one of 18 that xlarun help policies lists (default mlp:16,16)"]
    steps: Annotated[int, "environment steps of an episode (default 500)"]
    episodes: Annotated[int, "episodes of a member, of which the mean counts (default 1)"]
    target: Annotated[Number, "mean return less its error to end at; 0: none; auto: the environment's (default 0)"]
    eval_episodes: Annotated[
        int,
        "new episodes by which members are judged before one of them is called the best (default 100)"]
    sample: Annotated[
        int,
        "members of the population whose episodes are written to trajectories.safetensors at the run's end: "
        "observations, actions, rewards (default 0)"]
    eval_envs: Annotated[
        int,
        "new episodes of an evaluation, while training, of the policy that would be saved then; evolve and qd round "
        "up to a multiple of --episodes, islands to one for each island; 0: there is none (default 64)"]
    eval_every: Annotated[
        int,
        "generations or updates between evaluations while training; before the first of them there is one in 1, 2, 4, "
        "8 and so on (default 10)"]
    memory: Annotated[
        Union[int, str],
        "memory that the run's arrays may take on all devices, as 2G or 500MiB (default what is free)"]
    batch: Annotated[int, "members of a generation (default 256)"]
    generations: Annotated[int, "generations at most (default 500)"]
    archive: Annotated[
        str,
        "cells of descriptors, or another way to keep members: cvt, grid, nsga2, unstructured (default grid:32)"]
    emitter: Annotated[
        str,
        "what makes new members from the archive (sbx where --archive nsga2 has bounds): isoline, sbx, searches "
        "(default isoline)"]
    descriptor: Annotated[str, "what describes the behavior of a member: env, observations (default env)"]
    strategy: Annotated[
        str,
        "what an emitter such as searches searches with: one of 31 that xlarun help strategies lists (default "
        "sepcmaes)"]
    qd_offset: Annotated[float, "number that qd_score adds for each elite, to its fitness (default 0)"]
    learning_rate: Annotated[
        float,
        "how far the threshold of a cell moves to the fitness of accepted members (CMA-MAE); 1: the threshold is the "
        "elite's fitness (MAP-Elites) (default 1)"]
    threshold_min: Annotated[float, "threshold of empty cells, with a learning rate below 1 (default 0)"]
    front: Annotated[int, "most elites of a cell: its Pareto front by the environment's objectives (MOME) (default 0)"]
    objectives: Annotated[
        str,
        "objectives of --front and of --archive nsga2, with commas between; return is the mean return"]
    reference_point: Annotated[
        Union[float, Sequence[float], str],
        "where hypervolumes begin: a value of each objective that all good members exceed"]
    tile: Annotated[int, "members that play together on a device; 0 to choose (default 0)"]
    batch_last: Annotated[bool, "keep the members on the last axis"]
    unroll: Annotated[int, "steps in one iteration of the loop; 0 to choose (default 0)"]


class Network(TypedDict, total=False):
    """Settings of a choice of network."""
    network_width: Annotated[int, "numbers that each edge of the graph carries (graph 32)"]
    network_rounds: Annotated[int, "how often edges send messages (graph 3)"]
    network_hidden: Annotated[Union[int, Sequence[int], str], "sizes of the hidden layers (mlp 128,128)"]
    network_channels: Annotated[int, "channels of the convolutions (tower 32)"]
    network_blocks: Annotated[int, "residual blocks of two convolutions (tower 3)"]


class Selfplay(Common, Network, total=False):
    """Flags of xlarun selfplay."""
    game: Annotated[
        Literal["clique", "tictactoe", "connectfour", "hex", "othello"],
        "game that is learned (default clique)"]
    vertices: Annotated[int, "clique: vertices of the complete graph whose edges are colored (default 6)"]
    k: Annotated[
        Union[int, Sequence[int], str],
        "clique: vertices of the clique that decides, or 3,4: one size for each color (default 3)"]
    variant: Annotated[
        Literal["maker", "avoid", "ramsey"],
        "clique: closing a clique wins (maker) or loses (avoid); ramsey: one player colors all edges without one "
        "(default maker)"]
    rotation: Annotated[
        int,
        "ramsey: only colorings that stay the same when the vertices are rotated by so many; 0: any coloring (default "
        "0)"]
    network: Annotated[str, "network with the policy and the value: graph, mlp, tower (default mlp:128,128)"]
    num_iterations: Annotated[int, "iterations of games, training and evaluation (default 20)"]
    num_episodes: Annotated[int, "games per iteration (default 200)"]
    num_simulations: Annotated[int, "simulations per search (default 50)"]
    game_batch_size: Annotated[
        int,
        "games played at the same time on all devices, at most --num-episodes (default 64)"]
    training_batch_size: Annotated[int, "positions per training step (default 256)"]
    games_per_device: Annotated[
        int,
        "games that a device plays at the same time; 0 for half of the game batch, or as many as have their trees in "
        "memory (default 0)"]
    search: Annotated[
        Literal["gumbel", "puct"],
        "gumbel: sequential halving; puct: noise at the root (default gumbel)"]
    max_depth: Annotated[int, "most moves from the root of a search to a node (default 0)"]
    considered: Annotated[int, "gumbel: most actions tried at the root (default 16)"]
    temperature: Annotated[float, "puct: temperature of the first moves (default 1)"]
    sampled_moves: Annotated[
        int,
        "first moves of a game that are drawn, not the most visited (puct; in matches also gumbel) (default 4)"]
    random_moves: Annotated[
        int,
        "every other game begins with up to so many random moves, which are not learned from; they show positions "
        "that good play does not reach (default 0)"]
    reuse: Annotated[bool, "the next search goes on from the tree of the last one"]
    use_true_mctx: Annotated[
        bool,
        "search inside the compiled program; false: in Go, position by position (default true)"]
    replay: Annotated[int, "iterations whose games are learned from (default 5)"]
    epochs: Annotated[float, "times that a position is learned from; sets the number of steps (default 8)"]
    learning_rate: Annotated[float, "step size of Adam (default 0.003)"]
    schedule: Annotated[
        Literal["constant", "linear", "cosine"],
        "course of the learning rate over the iterations; linear and cosine end at 0 (default constant)"]
    l2: Annotated[float, "weight of the sum of the squared parameters in the loss (default 1e-05)"]
    value_coef: Annotated[float, "weight of the squared error of the value in the loss (default 1)"]
    max_grad_norm: Annotated[float, "largest norm of a gradient; larger ones are scaled down to it (default 5)"]
    accumulate: Annotated[int, "parts of a training batch; devices share them and compute one at a time (default 2)"]
    precision: Annotated[
        Literal["f32", "bf16", "f16", "auto"],
        "dtype of training; parameters stay float32; auto: bf16 where it is faster, and config.toml then has what was "
        "chosen (default f32)"]
    symmetries: Annotated[
        bool,
        "show positions to training under random symmetries of the game: permuted vertices, turned boards (default "
        "true)"]
    optimized_training: Annotated[
        bool,
        "compile the training step; false: the reference interpreter computes it, to find NaN (default true)"]
    arena_every: Annotated[int, "iterations between evaluations, the last is one, too; 0: there is none (default 5)"]
    arena_games: Annotated[int, "games against each opponent of an evaluation (default 40)"]
    pool: Annotated[int, "older checkpoints that are opponents; the untrained network is one of them (default 8)"]
    memory: Annotated[
        Union[int, str],
        "memory for trees, games and batches on all devices, as 2G or 500MiB (default what is free)"]


class Sparse(Common, total=False):
    """Flags of xlarun sparse."""
    pop: Annotated[int, "members of the population (default 200)"]
    updates: Annotated[
        int,
        "updates of SGD, each by --batch steps: a step is one example through all members (default 2000)"]
    test_every: Annotated[
        int,
        "updates between tests on the test data, of which one more comes at the end; a resumed run keeps its interval "
        "(default 0)"]
    batch: Annotated[int, "examples of an update, the same for all members (default 64)"]
    lr: Annotated[float, "learning rate, of the mean cross-entropy of a batch (default 0.5)"]
    hidden: Annotated[Union[int, Sequence[int], str], "widths of the hidden layers (default 128,64)"]
    density: Annotated[
        Union[float, Sequence[float], str],
        "part of the connections that are there, a number for each layer; the last holds for all further ones "
        "(default 0.1,0.5)"]
    mutate_every: Annotated[int, "updates between mutations of the topologies; 0 for none (default 250)"]
    mutate_fraction: Annotated[float, "part of a member's own connections that a mutation replaces (default 0.05)"]
    shared: Annotated[
        float,
        "part of the connections that all members have in common; mutations keep them (default 0)"]
    select: Annotated[
        float,
        "part of the members that a mutation replaces before it: the worst on held-out examples, by copies of the "
        "best; 0: none (default 0)"]
    held_out: Annotated[int, "examples of the training data that nobody learns from, for --select (default 5000)"]
    dtype: Annotated[Literal["f32", "bf16"], "numbers that are multiplied (weights stay float32) (default f32)"]
    method: Annotated[
        Literal["auto", "kernel", "masked", "blocks"],
        "how: kernel (the connections alone, on cpu), masked (dense matrices), blocks (dense blocks of gathered "
        "inputs), auto (default auto)"]
    memory: Annotated[
        Union[int, str],
        "memory that the run's arrays may take on all devices, as 2G or 500MiB (default what is free)"]
    tune: Annotated[
        Literal["auto", "off", "quick", "full"],
        "how the settings of the plan that are not given are chosen: auto (as an earlier quick or full stored, else "
        "by the rule), off (by the rule), quick (measure for up to 3 s and store), full (up to 60 s); another plan "
        "changes last digits (default auto)"]
    data: Annotated[str, "folder with MNIST's four IDX files (default: fetched once)"]


PARTS = ("archive", "auxiliary", "descriptor", "emitter", "network", "policy", "strategy", "value")
__all__ = ["evolve", "islands", "ppo", "pqn", "qd", "selfplay", "sparse"]


@described(Evolve)
def evolve(env: Optional[Path] = None, **settings: "Unpack[Evolve]") -> Run:
    """Evolve a population in an environment until it is solved.

    Evolve trains a population of policies in an environment, each generation one compiled call, until the mean return
    reaches the target or the generations are over. The run's folder holds the resolved config, metrics, checkpoints,
    the policy at the mean of the search and the best member, judged on new episodes.
    """
    return start("evolve", Evolve, env, settings)


@described(Islands)
def islands(env: Optional[Path] = None, **settings: "Unpack[Islands]") -> Run:
    """Evolve several populations in an environment, whose best members travel.

    Islands evolves several populations at once, in one compiled program: each is a search of its own, as xlarun evolve
    runs one. Every few generations copies of the best members of each leave for other islands, where they replace the
    worst members. Islands may have hyper-parameters of their own: --strategy.sigma 0.05..0.5. The run's folder holds
    the files of an evolve run, and islands.json: the results of each island, and the islands from which its survivors
    descend.
    """
    return start("islands", Islands, env, settings)


@described(Ppo)
def ppo(env: Optional[Path] = None, **settings: "Unpack[Ppo]") -> Run:
    """Train an actor and a critic by proximal policy optimization.

    Ppo trains an actor and a critic in an environment by proximal policy optimization. An update (rollout, advantages,
    epochs of minibatches, optimizer) is one compiled program. The run's folder holds the resolved config, metrics,
    checkpoints, the last actor and the best, judged on new episodes.
    """
    return start("ppo", Ppo, env, settings)


@described(Pqn)
def pqn(env: Optional[Path] = None, **settings: "Unpack[Pqn]") -> Run:
    """Learn the values of actions by parallelized Q-learning.

    Pqn learns the values of actions (Q-learning) from many environments at a time, without a replay buffer and without
    a target network: each rollout is learned at once, towards Q(lambda) returns, by a network with normalized layers.
    It plays the best action, or with the probability epsilon a random action. An update is one compiled program.
    """
    return start("pqn", Pqn, env, settings)


@described(Qd)
def qd(env: Optional[Path] = None, **settings: "Unpack[Qd]") -> Run:
    """Fill an archive with members that behave differently, each as good as can be.

    Qd searches for many good members that differ in behavior (quality diversity, MAP-Elites). A behavior descriptor
    says how a member behaved, such as its mean speed. An archive divides the descriptors into cells and keeps the best
    member of each cell. The run's folder holds the files of an evolve run, and archive.safetensors: cells, fitness,
    descriptors and genomes.
    """
    return start("qd", Qd, env, settings)


@described(Selfplay)
def selfplay(**settings: "Unpack[Selfplay]") -> Run:
    """Learn a game by playing it against oneself, with tree search.

    Selfplay learns a game of two players, or a puzzle. By default, players color the edges of a complete graph until
    one closes a clique. An iteration is self-play with tree search, training on the games, and matches against other
    players.

    The run's folder holds the resolved config, metrics, checkpoints, the network, a game as a GIF, and the colorings
    that were found.
    """
    return start("selfplay", Selfplay, None, settings)


@described(Sparse)
def sparse(**settings: "Unpack[Sparse]") -> Run:
    """Train a population of sparse networks on MNIST.

    Sparse trains a population of networks 784-128-64-10, each with connections of its own, on MNIST: SGD on the same
    batches for all members. At intervals each member drops its weakest connections and grows others. A step is one
    example through the forward and backward pass of every member, an update is one step of the optimizer, by --batch
    examples.
    """
    return start("sparse", Sparse, None, settings)
