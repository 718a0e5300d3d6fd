package bench

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/cmd/xlarun/console"
)

func TestParseRollout(t *testing.T) {
	got, err := parseRollout("x.py", "import+init 3.00s\ncompile 0.61s\nPOP=256 T=500 H=16: 15.1 ms  8.500 M steps/s  mean ret 20.11\nGFLOP/s 3\n")
	require.NoError(t, err)
	require.InDelta(t, .0151, got, 1e-12)
	got, err = parseRollout("x.py", "POP=256 T=500 H=64 E=16: 1520.4 ms  1.350 M steps/s  mean ret 20.11\n")
	require.NoError(t, err)
	require.InDelta(t, 1.5204, got, 1e-12)
	_, err = parseRollout("x.py", "Traceback\n")
	require.ErrorContains(t, err, "x.py printed \"Traceback\\n\", which holds no time")
}

func TestParseLimit(t *testing.T) {
	got, err := parseLimit("C limit POP=256 H=16 5.2 ms 24.60 M steps/s\nC limit POP=256 H=16 4.2 ms 30.10 M steps/s\n")
	require.NoError(t, err)
	require.InDelta(t, 30.1, got, 1e-12)
	_, err = parseLimit("")
	require.Error(t, err)
}

func TestCPUName(t *testing.T) {
	require.Equal(t, "A Fast One @ 2 GHz", cpuName("processor\t: 0\nmodel name\t: A Fast One @ 2 GHz\n"))
	require.Empty(t, cpuName("processor\t: 0\n"))
}

func TestMiddleOfCalibrations(t *testing.T) {
	require.Nil(t, middle(nil))
	require.Equal(t, calibration{"matmul": 2, "c-wide": 7}, middle([]calibration{{"matmul": 1}, {"matmul": 9, "c-wide": 7}, {"matmul": 2}}))
}

// historyOf are figures of one workload on this machine that differ in what they reached.
func historyOf(calibrated ...float64) (lines []historyLine) {
	for _, c := range calibrated {
		lines = append(lines, historyLine{Commit: "abc", figure: figure{Workload: "generation-small", CPU: CPUKind(), Backend: console.Reference, Devices: 2,
			Calibration: smallCalibrator.id(), Plugin: console.Reference, paired: paired{Seconds: .004, Calibrated: c, Pairs: 3}}})
	}
	return lines
}

func writeHistory(t *testing.T, lines []historyLine) {
	t.Helper()
	var text []byte
	for _, h := range lines {
		line, err := json.Marshal(h)
		require.NoError(t, err)
		text = append(append(text, line...), "\n\n"...)
	}
	write(t, "history.jsonl", string(text))
}

func TestBesideTheHistory(t *testing.T) {
	history := historyOf(1, 2, 30)
	f := history[0].figure
	f.Calibrated = 1.5
	c := beside(history, f)
	require.Equal(t, 3, c.Runs)
	require.EqualValues(t, .75, *c.Speed)
	require.Nil(t, c.ClockSpeed, "neither has one")
	require.True(t, c.OK, "25 % below is still well")
	f.Calibrated = 1.49
	require.False(t, beside(history, f).OK)
	f.Calibrated = 2
	history[0].Clock = 4
	require.Nil(t, beside(history, f).ClockSpeed, "the cores were not free")
	f.Clock = 2
	c = beside(history, f)
	require.EqualValues(t, 1, *c.Speed)
	require.EqualValues(t, .5, *c.ClockSpeed)
	require.False(t, c.OK, "by the clock it is slow")
	f.Plugin = "another"
	require.Equal(t, 3, beside(history, f).Runs, "a plugin that is slower is to be seen")
	for name, change := range map[string]func(*figure){
		"workload":    func(f *figure) { f.Workload = "generation-wide" },
		"cpu":         func(f *figure) { f.CPU = "A Slow One" },
		"backend":     func(f *figure) { f.Backend = "cpu" },
		"devices":     func(f *figure) { f.Devices = 3 },
		"calibration": func(f *figure) { f.Calibration = wideCalibrator.id() },
	} {
		other := f
		change(&other)
		c := beside(history, other)
		require.Zero(t, c.Runs, name)
		require.Nil(t, c.Speed, name)
		require.True(t, c.OK, name)
	}
	require.Equal(t, 1, beside(historyOf(2), history[0].figure).Runs, "one run is enough to compare with")
}

func TestHistoryThatIsNone(t *testing.T) {
	b := newBed(t)
	const whole = `{"workload":"generation-small","cpu":"x","backend":"cpu","devices":2,"calibration":"y","calibrated":0.5}`
	write(t, "broken.jsonl", whole+"\n\nno json\n")
	write(t, "empty.jsonl", whole+"\n{}\n")
	write(t, "zero.jsonl", strings.Replace(whole, "0.5", "0", 1))
	write(t, "devices.jsonl", strings.Replace(whole, "2", "0", 1))
	write(t, "half.jsonl", whole+"\n"+whole[:40])
	require.NoError(t, os.Mkdir("folder", 0o755))
	for _, c := range []struct{ args, want string }{
		{"--check", "--history bench/history.jsonl cannot be read (no such file or directory): record one first"},
		{"--check --history broken.jsonl", "--history broken.jsonl: line 3 is no figure (invalid character 'o' in literal null (expecting 'u')): remove the line"},
		{"--check --history empty.jsonl", "--history empty.jsonl: line 2 is no figure (it has no workload): remove the line"},
		{"--check --history zero.jsonl", "line 1 is no figure (calibrated is 0, wants a number above 0)"},
		{"--check --history devices.jsonl", "line 1 is no figure (devices is 0, wants 1 or more)"},
		{"--record --history half.jsonl", "line 2 is no figure (unexpected end of JSON input)"},
		{"--record --history folder", "--history folder is a folder, wants a file"},
		{"--record --history broken.jsonl/x", "--history broken.jsonl/x cannot be written"},
		{"--history x", "--history got \"x\", but nothing is recorded or checked: add --record or --check"},
		{"--check --peers --history broken.jsonl", "--peers got true with --check, which measures no peers"},
		{"episodes --check", "the workload episodes has no calibrated figure to record or check; generation-small, generation-wide, generation-forage, ppo-update, selfplay-iteration have"},
	} {
		b.err.Reset()
		require.Equal(t, console.StatusUsage, b.do(strings.Fields(c.args)...), c.args)
		require.Contains(t, b.err.String(), c.want)
		require.Zero(t, b.opened)
	}
}
