package cli_test

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	. "xlarun/cmd/xlarun/machine"
)

// A task of Slurm has its share where Slurm does not bind cores: eight tasks of a node each took all eight cores.
func TestCores(t *testing.T) {
	before := runtime.GOMAXPROCS(8)
	defer runtime.GOMAXPROCS(before)
	type vars = map[string]string
	for _, c := range []struct {
		env  vars
		want int
		by   string
	}{
		{vars{"GOMAXPROCS": "8"}, 8, "GOMAXPROCS"},
		{vars{"SLURM_CPUS_PER_TASK": "2", "SLURM_CPUS_ON_NODE": "64"}, 2, "SLURM_CPUS_PER_TASK"},
		{vars{"SLURM_CPUS_PER_TASK": "8"}, 8, "SLURM_CPUS_PER_TASK"},
		{vars{"GOMAXPROCS": "8", "SLURM_CPUS_PER_TASK": "9"}, 8, "GOMAXPROCS"},
		{vars{"SLURM_CPUS_ON_NODE": "4"}, 4, "SLURM_CPUS_ON_NODE"},
		{vars{"SLURM_CPUS_ON_NODE": "6", "SLURM_TASKS_PER_NODE": "2(x3),3", "SLURM_NODEID": "2"}, 3,
			"SLURM_CPUS_ON_NODE"},
		{vars{"SLURM_CPUS_ON_NODE": "6", "SLURM_TASKS_PER_NODE": "2(x3),3", "SLURM_NODEID": "3"}, 2,
			"SLURM_CPUS_ON_NODE"},
		{vars{"SLURM_CPUS_ON_NODE": "6", "SLURM_TASKS_PER_NODE": "1", "SLURM_STEP_TASKS_PER_NODE": "3"}, 2,
			"SLURM_CPUS_ON_NODE"},
		{vars{"SLURM_CPUS_ON_NODE": "1", "SLURM_TASKS_PER_NODE": "3"}, 1, "SLURM_CPUS_ON_NODE"},
		{vars{"GOMAXPROCS": "8", "SLURM_CPUS_PER_TASK": "many"}, 8, "GOMAXPROCS"},
	} {
		n, by := Cores(func(name string) string { return c.env[name] })
		require.Equal(t, c.want, n, "%v", c.env)
		require.Equal(t, c.by, by, "%v", c.env)
	}
	runtime.GOMAXPROCS(runtime.NumCPU())
	n, by := Cores(func(string) string { return "" })
	require.Equal(t, runtime.NumCPU(), n)
	require.Equal(t, "this machine", by)
}
