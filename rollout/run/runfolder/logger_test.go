package runfolder

import (
	"bytes"
	"math"
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

// A row is read as it was written: in its order, with NaN for null. A line that is not one whole object of numbers is
// an error.
func TestReadRow(t *testing.T) {
	all, err := ReadRow(line("generation", 3, []Value{{"b", 1.5}, {"a", math.Inf(1)}}))
	require.NoError(t, err)
	require.Equal(t, []string{"generation", "b", "a"}, []string{all[0].Name, all[1].Name, all[2].Name})
	require.Equal(t, []float64{3, 1.5}, []float64{all[0].Number, all[1].Number})
	require.True(t, math.IsNaN(all[2].Number))
	for _, text := range []string{"", "\n", "3", "{}", `{"a":1`, `{"a":"b"}`, `{"a":1}{"a":2}`, `{"a":1}x`} {
		_, err := ReadRow([]byte(text))
		require.Error(t, err, text)
	}
}
