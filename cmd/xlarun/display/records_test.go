package display

import (
	"log/slog"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"xlarun/rollout/run"
)

// A run in a log has a record for each round, with its metrics by name; what JSON has no number for is null.
func TestRecords(t *testing.T) {
	var out strings.Builder
	r := NewRecords(slog.New(slog.NewJSONHandler(&out, &slog.HandlerOptions{
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		}})), Board{Command: "evolve CartPole-v1", Setup: "64 x linear", Unit: "generation", Folder: "runs/a"})
	r.Phase("compiling")
	r.Progress(Progress{Round: "generation 1", Taken: time.Second}) // below the level
	for step := range int64(2) {
		r.Report(RoundReport{Devices: "1 device", Cache: "hit", Trace: time.Second, StepsPerSecond: 100,
			Metrics: run.Metrics{Step: step + 1, Timings: []run.Value{{Name: "hosts_alive", Number: 2}},
				Values: []run.Value{{Name: "best_fitness", Number: 9.5}, {Name: "test", Number: math.NaN()}}}})
	}
	r.Notice("the disk is full")
	r.Moved("runs/b")
	r.Close("solved")
	require.Equal(t, `{"level":"INFO","msg":"xlarun evolve CartPole-v1: 64 x linear","folder":"runs/a"}
{"level":"INFO","msg":"compiling"}
{"level":"INFO","msg":"program","cache":"hit","trace_seconds":1,"compile_seconds":0,"devices":"1 device","plan":""}
{"level":"INFO","msg":"generation","generation":1,"best_fitness":9.5,"test":null,"hosts_alive":2,"steps_per_second":100}
{"level":"INFO","msg":"generation","generation":2,"best_fitness":9.5,"test":null,"hosts_alive":2,"steps_per_second":100}
{"level":"WARN","msg":"the disk is full"}
{"level":"INFO","msg":"run folder","folder":"runs/b"}
{"level":"INFO","msg":"solved"}
`, out.String())
}
