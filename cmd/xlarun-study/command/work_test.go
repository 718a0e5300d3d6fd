package command

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// "--threads 0" and "--workers -1" were "more than this machine's cores", and a worker could have more
// threads than there are cores.
func TestWorkerCount(t *testing.T) {
	for _, c := range []struct {
		workers, threads, cores, want int
		err                           string
	}{
		{0, 1, 8, 8, ""}, {0, 3, 8, 2, ""}, {2, 4, 8, 2, ""}, {1, 8, 8, 1, ""},
		{-1, 1, 8, 0, "--workers got -1, wants 1 or more, or 0 for as many as there are cores for"},
		{0, 0, 8, 0, "--threads got 0, wants 1 to the 8 cores of this machine"},
		{1, 9, 8, 0, "--threads got 9, wants 1 to the 8 cores of this machine"},
		{3, 4, 8, 0, "--workers got 3 of 4 threads each, more than this machine's 8 cores: runs would wait for each " +
			"other"},
		{1 << 62, 4, 8, 0, "more than this machine's 8 cores"},
	} {
		got, err := workerCount(c.workers, c.threads, c.cores)
		require.Equal(t, c.want, got)
		if c.err == "" {
			require.NoError(t, err)
		} else {
			require.ErrorContains(t, err, c.err)
		}
	}
}
