package display

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestPlainTraining(t *testing.T) {
	var out bytes.Buffer
	r := NewTrainingReporter(&out, func(string) string { return "" }, Training{Command: "sparse", Setup: "3 networks", Steps: 20, Start: time.Now()})
	r.Phase("reading")
	r.Download(5, 10)
	r.Progress(Progress{Step: 10, Worst: .1, Mean: .2, Best: .3, Loss: 1.5, StepsPerSecond: 2000, Devices: "2 cpu devices", Method: "kernel", Cache: "hit"})
	r.Phase("testing")
	r.Progress(Progress{Step: 20, Worst: .5, Mean: .6, Best: .7, Loss: .5, StepsPerSecond: 2000, TestBest: .65, TestMean: .55})
	r.Close("done")
	got := out.String()
	for _, want := range []string{"xlarun sparse: 3 networks\nreading\n", "downloaded", "programs: cache hit", "2 cpu devices, kernel",
		"step 10: accuracy 10.00 to 30.00 %, mean 20.00 %, loss 1.5000, 2 K steps/s", "test best 65.00 %, mean 55.00 %", "done\n"} {
		require.Contains(t, got, want)
	}
	require.NotContains(t, got, "testing")
}

// The live screen has a curve each for the best, the mean and the worst member.
func TestLiveTrainingLines(t *testing.T) {
	l := newLiveTraining(newScreen(&bytes.Buffer{}, 0, Style{Unicode: true}), Training{Command: "sparse", Setup: "3 networks", Steps: 20, Start: time.Now()})
	text := func() string {
		var rows []string
		for _, row := range l.lines(90) {
			rows = append(rows, row.render(90, Style{Unicode: true}))
		}
		return strings.Join(rows, "\n")
	}
	require.Contains(t, text(), "starting")
	l.Download(1e6, 4e6)
	require.Contains(t, text(), "of 4 MB")
	for i := 1; i <= 8; i++ {
		l.Progress(Progress{Step: i, Worst: .1 * float64(i), Mean: .11 * float64(i), Best: .12 * float64(i), Loss: 1 / float64(i)})
	}
	got := text()
	for _, want := range []string{"8 of 20", "96.00 %", "88.00 %", "80.00 %", "not measured yet", "0.1250"} {
		require.Contains(t, got, want)
	}
	require.Equal(t, 3, strings.Count(got, "▁▂▃▄▅▆▇█"), "%s", got)
}
