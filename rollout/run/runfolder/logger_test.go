package runfolder

import (
	"bytes"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestRowsBecomeTextLater: Log only queues a row. Whoever needs the rows finds those that are queued: the
// last row, the end of a run, a checkpoint.
func TestRowsBecomeTextLater(t *testing.T) {
	row := func(step int64) Row {
		return Row{Step: step, Time: time.Unix(1000, 0), Metrics: []Value{{"x", float64(step)}}}
	}
	stuck := &Logger{unit: "update", folder: &Folder{}, wake: make(chan struct{}, 1), // nobody writes
		logs: []*logFile{{name: metricsName}, {name: timingsName}, {name: "events"}}}
	for step := range int64(3) {
		stuck.Log(row(step + 1))
	}
	require.Len(t, stuck.queued, 3)
	require.Empty(t, stuck.logs[0].text)
	require.Equal(t, 2, stuck.rowsUpTo(2), "queued rows count")
	require.Equal(t, `{"update":3,"x":3}`, string(stuck.LastRow()))
	require.Empty(t, stuck.queued)
	require.Equal(t, "{\"update\":1,\"x\":1}\n{\"update\":2,\"x\":2}\n{\"update\":3,\"x\":3}\n",
		string(stuck.logs[0].text))
	stuck.Log(row(4))
	stuck.left = &leftRow{Row: row(keptRows + 1)}
	stuck.End()
	require.Equal(t, "{\"update\":4,\"x\":4}\n{\"update\":4097,\"x\":4097}\n",
		string(bytes.Join(bytes.SplitAfter(stuck.logs[0].text, []byte("\n"))[3:], nil)), "the order is kept")

	f, err := Create(t.TempDir(), Options{})
	require.NoError(t, err)
	l, err := f.NewLogger("update", 0, 0)
	require.NoError(t, err)
	const rows = 300
	logged := make(chan struct{})
	go func() { // the run logs while a checkpoint waits for its rows
		defer close(logged)
		for step := range int64(rows) {
			l.Log(row(step + 1))
		}
	}()
	for range 20 {
		before := l.rowsUpTo(rows)
		require.NoError(t, l.durable())
		text, err := os.ReadFile(f.Path(metricsName))
		require.NoError(t, err)
		require.GreaterOrEqual(t, bytes.Count(text, []byte("\n")), before, "rows logged before are on the disk")
	}
	<-logged
	require.NoError(t, l.Close())
	text, err := os.ReadFile(f.Path(metricsName))
	require.NoError(t, err)
	want := []byte{}
	for step := range int64(rows) {
		want = append(want, line("update", step+1, row(step+1).Metrics)...)
	}
	require.Equal(t, string(want), string(text))
}
