package kernels

// Env is the environment variable that keeps programs from calling kernels, to compare: "none" for all of them,
// or a list, separated by commas, of "-bf16" for products of bfloat16, "-int8" for products of int8, and "-amx" for AMX
// in both. Kernels without which an op has no implementation are called in any case. The last bits of a result may be
// others without kernels. Programs are compiled with other options then (the rules of lower.Policy that read
// Facts.Kernels), which is all the difference in evolve and islands; ppo, sparse and selfplay also add up in another
// order. Runs in which few floats are added up, as of spiking networks, may be equal.
const Env = "XLARUN_KERNELS"
