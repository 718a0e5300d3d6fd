package display

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"xlarun/rollout/run"
)

// A run in a notebook's cell has a head with the newest numbers and the time left, and lines for notices and the
// summary. Nothing is sent here, because the pipe is not set when the text is drawn.
func TestCell(t *testing.T) {
	var out bytes.Buffer
	now := time.Unix(1000, 0)
	c := newCell(&out, Board{Command: "ppo X", Setup: "mlp <4>", Unit: "update", Last: 100, Start: now,
		Rows: run.Curves("return")}, func() time.Time { return now })
	fragment, text := c.draw()
	require.Equal(t, "xlarun ppo X: mlp <4>\nstarting", text)
	require.Contains(t, fragment, "mlp &lt;4&gt;")
	c.Download(5e6, 10e6)
	_, text = c.draw()
	require.Contains(t, text, "downloaded 5 MB of 10 MB")
	for step := int64(1); step <= 20; step++ {
		now = now.Add(time.Second)
		c.Report(RoundReport{Metrics: run.Metrics{Step: step, Values: []run.Value{{Name: "return",
			Number: float64(step)}}},
			StepsPerSecond: 2e6})
	}
	_, text = c.draw()
	require.Equal(t, "xlarun ppo X: mlp <4>\nupdate 20 of 100, return 20.0, 2 M steps/s, 0:20, about 1:20 left", text)
	c.Progress(Progress{Round: "update 21", Taken: 6 * time.Second})
	_, text = c.draw()
	require.Contains(t, text, "\nupdate 21: 0:06 so far")
	c.Notice("the disk is full")
	c.Moved("elsewhere")
	c.Close("solved")
	_, text = c.draw()
	require.Equal(t, 2, len(strings.Split(text, "\n")))
	require.NotContains(t, text, "left")
	require.Equal(t, "the disk is full\nrun folder: elsewhere\nsolved\n", out.String())
}
