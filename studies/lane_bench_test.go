package studies

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// BenchmarkLanedTrials is the rate of trials that compute nothing, as lanes, in a study of 10,000: what asking them and
// keeping them in the database takes.
func BenchmarkLanedTrials(b *testing.B) {
	const trials = 10000
	for b.Loop() {
		text := fmt.Sprintf(head, "sqlite:///"+filepath.Join(b.TempDir(), "s.db"))
		text = replaced(text, fmt.Sprintf("trials = %d\nseeds = 1\nsampler = \"random\"\npruner = "+
			"\"none\"\ntrials-as = \"vectorized\"\n", trials))
		s, err := Parse([]byte(text+"[run]\nsteps = 1\nwait = \"0s\"\n"+onlyX), nil)
		require.NoError(b, err)
		require.NoError(b, coordinator(s).Run(b.Context()))
	}
	b.ReportMetric(trials*float64(b.N)/b.Elapsed().Seconds(), "trials/s")
}
