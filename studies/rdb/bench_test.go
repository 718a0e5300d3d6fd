package rdb

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"xlarun/studies/study"
)

// BenchmarkTrial is a trial of two parameters that computes nothing, in a study that has so many already, one at a time
// and 16 (whose commits are grouped).
func BenchmarkTrial(b *testing.B) {
	for i := range 2 * 3 * 2 {
		backend, n, parallel := backends[i/6], []int{100, 1000, 10000}[i/2%3], []int{1, 16}[i%2]
		b.Run(fmt.Sprintf("%s/after=%d/parallel=%d", backend.name, n, parallel), func(b *testing.B) {
			d, err := Open(backend.at(b))
			require.NoError(b, err)
			defer func() { require.NoError(b, d.Close()) }()
			s, err := study.New("s", study.Options{Storage: d, Sampler: study.Random{}})
			require.NoError(b, err)
			var before []*study.FrozenTrial
			for i := range n {
				x := float64(i) / float64(n)
				before = append(before, &study.FrozenTrial{State: study.Complete, Values: []float64{x},
					Start: time.Now(), Complete: time.Now(), Params: map[string]float64{"x": x, "y": x},
					Distributions: map[string]study.Distribution{"x": {Kind: study.Float, High: 1},
						"y": {Kind: study.Float, High: 1}}})
			}
			require.NoError(b, d.Add(s.ID(), -1, before...))
			_, err = s.Trials()
			require.NoError(b, err)
			began := processor()
			b.ResetTimer()
			require.NoError(b, s.Optimize(b.Context(), b.N, parallel, func(t *study.Trial) ([]float64, error) {
				x, err := t.SuggestFloat("x", 0, 1)
				if err != nil {
					return nil, err
				}
				y, err := t.SuggestFloat("y", 0, 1)
				return []float64{x + y}, err
			}))
			b.ReportMetric(float64((processor()-began).Microseconds())/float64(b.N), "cpu-µs/trial")
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "trials/s")
		})
	}
}

// processor is the time that the process has computed for: by it two figures compare on a machine that does other work.
func processor() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // it fails for no process of its own
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
