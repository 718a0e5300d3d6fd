package hardware

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// machine makes a file tree of a machine with 8 GB of memory, 4 of them available.
func machine(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	all := map[string]string{"proc/meminfo": "MemTotal:        8000000 kB\nMemFree:         1000000 " +
		"kB\nMemAvailable:    4000000 kB\n"}
	for name, text := range files {
		all[name] = text
	}
	for name, text := range all {
		path := filepath.Join(root, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	return root
}

func TestFreeMemoryInGroups(t *testing.T) {
	const (
		available = 4000000 << 10
		mount2    = "30 24 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"
		mount1    = "25 24 0:22 / /sys/fs/cgroup ro - tmpfs tmpfs ro\n" +
			"33 25 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n" +
			"34 25 0:30 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
		unlimited1 = "9223372036854771712\n"
	)
	for _, c := range []struct {
		number      int
		what        string
		files       map[string]string
		free, limit int64
	}{
		{1, "no groups", nil, available, math.MaxInt64},
		{2, "version 2, a limit", map[string]string{
			"proc/self/cgroup": "0::/user.slice/run.scope\n", "proc/self/mountinfo": mount2,
			"sys/fs/cgroup/user.slice/run.scope/memory.max":     "1000000000\n",
			"sys/fs/cgroup/user.slice/run.scope/memory.current": "300000000\n",
		}, 700000000, 1000000000},
		{3, "version 2, cached files can be taken back", map[string]string{
			"proc/self/cgroup": "0::/a\n", "proc/self/mountinfo": mount2,
			"sys/fs/cgroup/a/memory.max":     "1000000000\n",
			"sys/fs/cgroup/a/memory.current": "900000000\n",
			"sys/fs/cgroup/a/memory.stat": "anon 100000000\nfile 800000000\ninactive_file 500000000\nactive_file " +
				"100000000\n",
		}, 700000000, 1000000000},
		{4, "version 2, no limit of its own but one around it", map[string]string{
			"proc/self/cgroup": "0::/outer/inner\n", "proc/self/mountinfo": mount2,
			"sys/fs/cgroup/outer/inner/memory.max":     "max\n",
			"sys/fs/cgroup/outer/inner/memory.current": "1\n",
			"sys/fs/cgroup/outer/memory.max":           "2000000000\n",
			"sys/fs/cgroup/outer/memory.current":       "500000000\n",
		}, 1500000000, 2000000000},
		{5, "version 2, throttled before the limit", map[string]string{
			"proc/self/cgroup": "0::/a\n", "proc/self/mountinfo": mount2,
			"sys/fs/cgroup/a/memory.max": "3000000000\n", "sys/fs/cgroup/a/memory.high": "1000000000\n",
			"sys/fs/cgroup/a/memory.current": "0\n",
		}, 1000000000, 1000000000},
		{6, "version 2, more than the machine has", map[string]string{
			"proc/self/cgroup": "0::/a\n", "proc/self/mountinfo": mount2,
			"sys/fs/cgroup/a/memory.max": "64000000000\n", "sys/fs/cgroup/a/memory.current": "0\n",
		}, available, 64000000000},
		{7, "version 2, in a container that sees its own group as the root", map[string]string{
			"proc/self/cgroup": "0::/\n", "proc/self/mountinfo": mount2,
			"sys/fs/cgroup/memory.max": "1000000000\n", "sys/fs/cgroup/memory.current": "250000000\n",
		}, 750000000, 1000000000},
		{8, "version 2, used beyond the limit", map[string]string{
			"proc/self/cgroup": "0::/a\n", "proc/self/mountinfo": mount2,
			"sys/fs/cgroup/a/memory.max": "1000\n", "sys/fs/cgroup/a/memory.current": "2000\n",
		}, 0, 1000},
		{9, "version 1, a limit", map[string]string{
			"proc/self/cgroup": "5:cpu,cpuacct:/other\n4:memory:/jobs/7\n", "proc/self/mountinfo": mount1,
			"sys/fs/cgroup/memory/jobs/7/memory.limit_in_bytes": "1000000000\n",
			"sys/fs/cgroup/memory/jobs/7/memory.usage_in_bytes": "800000000\n",
			"sys/fs/cgroup/memory/jobs/7/memory.stat": "inactive_file 1\ntotal_inactive_file " +
				"300000000\ntotal_active_file 100000000\n",
		}, 600000000, 1000000000},
		{10, "version 1, no limit", map[string]string{
			"proc/self/cgroup": "4:memory:/\n", "proc/self/mountinfo": mount1,
			"sys/fs/cgroup/memory/memory.limit_in_bytes": unlimited1,
			"sys/fs/cgroup/memory/memory.usage_in_bytes": "5\n",
		}, available, math.MaxInt64},
		{11, "version 1, in a container whose mount begins at its group", map[string]string{
			"proc/self/cgroup": "4:memory:/docker/abc\n",
			"proc/self/mountinfo": "34 25 0:30 /docker/abc /sys/fs/cgroup/memory ro - cgroup " +
				"cgroup rw,memory\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes": "500000000\n",
			"sys/fs/cgroup/memory/memory.usage_in_bytes": "100000000\n",
		}, 400000000, 500000000},
		{12, "both versions, the limit in version 1", map[string]string{
			"proc/self/cgroup": "4:memory:/x\n0::/y\n",
			"proc/self/mountinfo": mount1 +
				"40 25 0:40 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n",
			"sys/fs/cgroup/memory/x/memory.limit_in_bytes": "500000000\n",
			"sys/fs/cgroup/memory/x/memory.usage_in_bytes": "0\n",
		}, 500000000, 500000000},
		{13, "a mount point with a space", map[string]string{
			"proc/self/cgroup":       "0::/a\n",
			"proc/self/mountinfo":    `30 24 0:26 / /my\040groups rw - cgroup2 cgroup2 rw` + "\n",
			"my groups/a/memory.max": "700000000\n", "my groups/a/memory.current": "0\n",
		}, 700000000, 700000000},
		{14, "nonsense", map[string]string{
			"proc/self/cgroup": "0::\n\n:::\nx\n", "proc/self/mountinfo": "- - -\n1 2\n" + mount2,
			"sys/fs/cgroup/memory.max": "much\n",
		}, available, math.MaxInt64},
		{15, "a group that is not mounted", map[string]string{
			"proc/self/cgroup":              "0::/../outside\n",
			"proc/self/mountinfo":           mount2,
			"sys/fs/cgroup/memory.max":      "600000000\n",
			"sys/fs/cgroup/memory.current":  "0\n",
			"sys/fs/outside/memory.max":     "1\n",
			"sys/fs/outside/memory.current": "0\n",
		}, 600000000, 600000000},
	} {
		root := machine(t, c.files)
		require.Equal(t, c.free, freeMemory(root), "%d: %s", c.number, c.what)
		require.Equal(t, c.limit, memoryLimit(root), "%d: %s", c.number, c.what)
	}
	require.Zero(t, freeMemory(t.TempDir()), "16: nothing is told")
	require.Positive(t, FreeMemory(), "17: this machine")
}
