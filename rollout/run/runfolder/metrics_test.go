package runfolder

import (
	"bytes"
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"
)

func TestLoggerWritesEveryRow(t *testing.T) {
	f, err := Create(t.TempDir(), Options{})
	require.NoError(t, err)
	l, err := f.NewLogger("generation", 0, 0)
	require.NoError(t, err)
	for g := range int64(3) {
		l.Log(Row{Step: g + 1, Time: time.Unix(1000+g, 0),
			Metrics: []Value{{"mean_fitness", 1.5 * float64(g)}, {"worst", math.NaN()}},
			Timings: []Value{{"seconds", .25}}})
	}
	require.NoError(t, l.Close())
	text, err := os.ReadFile(f.Path("metrics.jsonl"))
	require.NoError(t, err)
	require.Equal(t, `{"generation":1,"mean_fitness":0,"worst":null}
{"generation":2,"mean_fitness":1.5,"worst":null}
{"generation":3,"mean_fitness":3,"worst":null}
`, string(text))
	text, err = os.ReadFile(f.Path("timings.jsonl"))
	require.NoError(t, err)
	require.Equal(t, 3, bytes.Count(text, []byte(`"seconds":0.25}`)))

	files, err := filepath.Glob(f.Path("events.out.tfevents.*"))
	require.NoError(t, err)
	require.Len(t, files, 1)
	events, err := os.ReadFile(files[0])
	require.NoError(t, err)
	records := unframe(t, events)
	require.Len(t, records, 4)
	head := fields(t, records[0])
	require.Equal(t, []byte(eventVersion), head[eventFileVersion])
	last := fields(t, records[3])
	require.Equal(t, uint64(3), last[eventStep])
	require.Equal(t, 1002., math.Float64frombits(last[eventWallTime].(uint64)))
	// A message keeps the last of repeated fields here: the timing.
	value := fields(t, fields(t, last[eventSummary].([]byte))[summaryValue].([]byte))
	require.Equal(t, []byte("seconds"), value[valueTag])
	require.Equal(t, float32(.25), math.Float32frombits(value[valueSimple].(uint32)))
}

// unframe cuts an event file into its records and checks their checksums.
func unframe(t *testing.T, b []byte) (records [][]byte) {
	t.Helper()
	for len(b) > 0 {
		n := binary.LittleEndian.Uint64(b)
		require.Equal(t, maskedCRC(b[:8]), binary.LittleEndian.Uint32(b[8:]))
		data := b[12 : 12+n]
		require.Equal(t, maskedCRC(data), binary.LittleEndian.Uint32(b[12+n:]))
		records = append(records, data)
		b = b[16+n:]
	}
	return records
}

// fields decodes one protobuf message: numbers as they are on the wire, bytes as []byte.
func fields(t *testing.T, b []byte) map[protowire.Number]any {
	t.Helper()
	out := map[protowire.Number]any{}
	for len(b) > 0 {
		number, kind, n := protowire.ConsumeTag(b)
		require.Positive(t, n)
		b = b[n:]
		switch kind {
		case protowire.VarintType:
			out[number], n = protowire.ConsumeVarint(b)
		case protowire.Fixed32Type:
			out[number], n = protowire.ConsumeFixed32(b)
		case protowire.Fixed64Type:
			out[number], n = protowire.ConsumeFixed64(b)
		case protowire.BytesType:
			out[number], n = protowire.ConsumeBytes(b)
		}
		require.Positive(t, n)
		b = b[n:]
	}
	return out
}

// The checksum of the nine digits is the published check value of crc32c; the mask is TensorFlow's.
func TestMaskedCRC(t *testing.T) {
	const check = 0xe3069283
	var want uint32 = check
	want = (want>>15 | want<<17) + 0xa282ead8
	require.Equal(t, want, maskedCRC([]byte("123456789")))
}

// Rows are kept at equal distances between powers of two, and the logs of the longest run there can be stay small.
func TestKept(t *testing.T) {
	rows := 0
	for step := int64(-1); step < 1<<17; step++ {
		want := step <= 4096
		for low, every := int64(4096), int64(8); low < 1<<17; low, every = 2*low, 2*every {
			if step > low && step <= 2*low && step < 1<<17 {
				want = step%every == 0 || step == 2*low
			}
		}
		require.Equal(t, want, Kept(step), "step %d", step)
		if want && step > 0 {
			rows++
		}
	}
	for octave := 17; octave < 63; octave++ {
		every := int64(1) << (octave - 9)
		for i := range int64(512) {
			step := int64(1)<<octave + i*every
			require.True(t, Kept(step), "step %d", step)
			require.False(t, Kept(step+1), "step %d", step+1)
			require.False(t, Kept(step+every-1), "step %d", step+every-1)
			rows++
		}
	}
	row := Row{Step: math.MaxInt64, Time: time.Unix(2e9, 0)}
	for range 10 {
		row.Metrics = append(row.Metrics, Value{"mean_test_accuracy", -1.2345678901234567e-123})
	}
	row.Timings = []Value{{"seconds", 1.2345678901234567}, {"steps_per_second", 12345678.901234567}}
	bytes := len(line("generation", row.Step, row.Metrics)) + len(line("generation", row.Step, row.Timings)) +
		len(eventRecord(row, row.Step))
	require.Less(t, rows*bytes, 30_000_000, "%d rows of %d bytes", rows, bytes)
}

// A run that goes on has TensorBoard forget the rows beyond its checkpoint, in a file that is read after the others.
func TestEventsOfARunThatGoesOn(t *testing.T) {
	f, err := Create(t.TempDir(), Options{})
	require.NoError(t, err)
	require.NoError(t, f.Write("config.toml", nil))
	last := ""
	for after := int64(0); after < 3; after++ {
		l, err := f.NewLogger("generation", after, 0)
		require.NoError(t, err)
		l.Log(Row{Step: after + 1, Time: time.Unix(1000, 0)})
		_, err = f.SaveCheckpoint(Checkpoint{Step: after + 1})
		require.NoError(t, err)
		require.NoError(t, l.Close())
		require.NoError(t, f.Close())

		files, err := filepath.Glob(f.Path("events.out.tfevents.*"))
		require.NoError(t, err)
		require.Len(t, files, int(after)+1)
		require.Greater(t, files[after], last, "Glob sorts as TensorBoard does")
		last = files[after]
		events, err := os.ReadFile(last)
		require.NoError(t, err)
		records := unframe(t, events)
		if after == 0 {
			require.Len(t, records, 2)
		} else {
			require.Len(t, records, 3)
			restart := fields(t, records[1])
			require.Equal(t, uint64(after+1), restart[eventStep])
			require.Equal(t, map[protowire.Number]any{sessionStatus: uint64(sessionStart)},
				fields(t, restart[eventSession].([]byte)))
		}
		f, err = Open(f.Dir(), Options{})
		require.NoError(t, err)
	}
	require.NoError(t, f.Close())
}

// TestEventsByEnvironmentSteps: the axis of TensorBoard can be the steps that steps per second count, in a
// run that is resumed too.
func TestEventsByEnvironmentSteps(t *testing.T) {
	for _, c := range []struct {
		bySteps             bool
		work                float64
		row, resumed, later uint64
	}{{true, 640, 640, 641, 1280}, {false, 640, 1, 2, 2}, {true, 0, 1, 2, 2}} {
		f, err := Create(t.TempDir(), Options{EventsBySteps: c.bySteps})
		require.NoError(t, err)
		require.NoError(t, f.Write("config.toml", nil))
		for after := range int64(2) {
			l, err := f.NewLogger("generation", after, c.work*float64(after))
			require.NoError(t, err)
			l.Log(Row{Step: after + 1, Work: c.work * float64(after+1), Time: time.Unix(1000, 0)})
			_, err = f.SaveCheckpoint(Checkpoint{Step: after + 1})
			require.NoError(t, err)
			require.NoError(t, l.Close())
			require.NoError(t, f.Close())
			if after == 0 {
				f, err = Open(f.Dir(), f.options)
				require.NoError(t, err)
			}
		}
		files, err := filepath.Glob(f.Path("events.out.tfevents.*"))
		require.NoError(t, err)
		require.Len(t, files, 2)
		var got []uint64
		for _, file := range files {
			events, err := os.ReadFile(file)
			require.NoError(t, err)
			for _, record := range unframe(t, events)[1:] {
				got = append(got, fields(t, record)[eventStep].(uint64))
			}
		}
		require.Equal(t, []uint64{c.row, c.resumed, c.later}, got, "%+v", c)
	}
}
