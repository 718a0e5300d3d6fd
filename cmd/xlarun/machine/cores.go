package machine

import (
	"runtime"
	"strconv"
	"strings"
)

// Cores returns the number of cores that this process may use, and what says so: the least of GOMAXPROCS, which Go sets
// by the process's affinity and the quota of its group, and of a Slurm task's share, which Slurm may only announce.
func Cores(env func(name string) string) (n int, by string) {
	n, by = runtime.GOMAXPROCS(0), "this machine"
	switch {
	case env("GOMAXPROCS") != "":
		by = "GOMAXPROCS"
	case n < runtime.NumCPU():
		by = "the group's quota"
	}
	if cores, name := slurmCores(env); cores > 0 && cores <= n {
		return cores, name
	}
	return n, by
}

// slurmCores returns the cores of a task of a Slurm job, and the variable that says so; 0: none does. Without
// SLURM_CPUS_PER_TASK the tasks of a node share its cores.
func slurmCores(env func(name string) string) (n int, name string) {
	number := func(name string) int {
		n, _ := strconv.Atoi(env(name)) // 0 if it is not set
		return max(n, 0)
	}
	if n = number("SLURM_CPUS_PER_TASK"); n > 0 {
		return n, "SLURM_CPUS_PER_TASK"
	}
	if n = number("SLURM_CPUS_ON_NODE"); n == 0 {
		return 0, ""
	}
	tasks := env("SLURM_STEP_TASKS_PER_NODE")
	if tasks == "" {
		tasks = env("SLURM_TASKS_PER_NODE")
	}
	return max(1, n/max(1, ofNode(tasks, number("SLURM_NODEID")))), "SLURM_CPUS_ON_NODE"
}

// ofNode returns the number of a node in a list of Slurm's, such as "2(x3),1"; 0: it has none.
func ofNode(list string, node int) int {
	for part := range strings.SplitSeq(list, ",") {
		count, rest, repeated := strings.Cut(part, "(x")
		times := 1
		if repeated {
			times, _ = strconv.Atoi(strings.TrimSuffix(rest, ")"))
		}
		if node < times {
			n, _ := strconv.Atoi(count)
			return n
		}
		node -= times
	}
	return 0
}
