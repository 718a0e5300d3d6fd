package studies

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"xlarun/internal/messaging"
	"xlarun/rollout/external"
	"xlarun/rollout/run"
	"xlarun/studies/study"
)

// programs returns a study of programs with a parameter batch_size, whose name stays as it is.
func programs(t *testing.T, command []string, more string) *Spec {
	t.Helper()
	s, err := Parse(programsText(t, command, more), nil)
	require.NoError(t, err)
	return s
}

func programsText(t *testing.T, command []string, more string) []byte {
	t.Helper()
	words, err := json.Marshal(command)
	require.NoError(t, err)
	return fmt.Appendf(nil, "name = \"p\"\nkind = \"exec\"\nmetric = \"loss\"\ndirection = \"minimize\"\n"+
		"command = %s\nstorage = \"sqlite:///p.db\"\nworkers = 2\n%s\n[[param]]\nname = \"batch_size\"\n"+
		"type = \"int\"\nlow = 1\nhigh = 9\n", words, more)
}

// TestPrograms runs programs of each kind as a trial, in this process.
func TestPrograms(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("XLARUN_TOKEN", "secret")
	nan := math.NaN()
	for _, c := range []struct {
		name, script string
		values       []float64
		steps        []int64 // reported, without the last
		failed       string  // part of the reason
		pruneAt      int64   // 0: never
	}{
		{name: "a line", script: `echo '{"loss": 0.25}'`, values: []float64{.25}, steps: []int64{1}},
		{name: "without an end", script: `printf '{"loss": 0.25}'`, values: []float64{.25}, steps: []int64{1}},
		{name: "steps", script: `for i in 0 10 20; do echo "{\"step\": $i, \"loss\": $i}"; done`,
			values: []float64{20}, steps: []int64{0, 10, 20}},
		{name: "step 0 alone", script: `echo '{"step": 0, "loss": 3}'`, values: []float64{3}, steps: []int64{0}},
		{name: "lines of no step", script: `echo '{"lr": 1}'; echo '{"step": 0, "loss": 3}'; echo '{"lr": 1}'; ` +
			`echo '{"acc": 1}'; echo '{"step": 1, "loss": 2}'`, values: []float64{2}, steps: []int64{0, 1}},
		{name: "a file of values", script: `echo '{"loss": 7}'; echo '{"loss": 8}'; echo '{"step": 0, "loss": 1}' ` +
			`>{values}`, values: []float64{1}, steps: []int64{0}},
		{name: "other lines", script: `echo hello; echo '[1]'; echo '{"loss": "low"}'; echo '{"loss"'; ` +
			`echo '{"loss": 2, "note": "x", "all": [1]}'; echo '{"step": 9}'`, values: []float64{2}, steps: []int64{1}},
		{name: "a metric later", script: `echo '{"step": 1, "acc": 1}'; echo '{"step": 1, "loss": 4}'; ` +
			`echo '{"step": 2, "acc": 2}'`, values: []float64{4}, steps: []int64{2}},
		{name: "pruned", script: `echo '{"step": 5, "loss": 1}'; sleep 60`, values: []float64{1}, steps: []int64{5},
			pruneAt: 5},
		{name: "pruned, deaf", script: `trap '' TERM; echo '{"loss": 1}'; sleep 60; sleep 60`, values: []float64{1},
			steps: []int64{1}, pruneAt: 1},
		{name: "parameters", script: `[ $# = 2 ] && [ "$2" = --batch_size=9 ] && [ $XLARUN_PARAM_batch_size = 9 ] && ` +
			`[ "{folder}" = $XLARUN_FOLDER ] && ` +
			`[ "$XLARUN_SEED $XLARUN_TRIAL $XLARUN_TOKEN" = "0 7 " ] && grep -q '"batch_size":9' $XLARUN_PARAMS && ` +
			`echo '{"loss": 0}' >$XLARUN_VALUES`, values: []float64{0}, steps: []int64{1}},
		{name: "binary", script: `head -c 100000 /dev/urandom; echo; echo '{"loss": 1}'`, values: []float64{1},
			steps: []int64{1}},
		{name: "a huge line", script: `echo '{"loss": 1}'; head -c 3000000 /dev/zero | tr '\0' '{'; ` +
			`echo; echo '{"loss": 2}'`, values: []float64{2}, steps: []int64{1, 2}},
		{name: "infinite", script: `echo '{"loss": -Infinity, "x": NaN}'`, values: []float64{math.Inf(-1)},
			steps: []int64{1}},
		{name: "not a number", script: `echo '{"loss": 1}'; echo '{"loss":NaN}'; echo '{"loss": null}'`,
			steps: []int64{1, 2, 3}, failed: "the objective is not a number: [NaN]", values: []float64{nan}},
		{name: "no JSON", script: `echo 0.25`, failed: "the program ended without values: let it print a line " +
			`such as {"step": 1, "loss": 0.5}`},
		{name: "a text", script: `echo '{"loss": "0.5"}'; echo '{"loss": true}'`,
			failed: `; it gave "loss": "0.5", which is no number of 64 bits`},
		{name: "a text beside a number", script: `echo '{"step": 1, "note": "x"}'; ` +
			`echo '{"step": 1, "acc": 1, "loss": [1]}'`, steps: nil,
			failed: `without a value of loss; it gave "loss": [1], which is no number of 64 bits`},
		{name: "too large", script: `echo '{"step": 1, "loss": 1e400}'`,
			failed: `; it gave "loss": 1e400, which is no number of 64 bits`},
		{name: "a dict", script: `echo "{'loss': 1}"`, failed: `; it gave {'loss': 1}, which is no JSON`},
		{name: "a long line", script: `printf '{"x": "'; head -c 3000000 /dev/zero | tr '\0' x; printf '", "loss": 1}'`,
			failed: "; it gave a line of 3000020 bytes, and no more than 1048576 are read"},
		{name: "another metric", script: `echo '{"acc": 0.25}'`, failed: `key "metric" got loss, but no round of the ` +
			"run has measured it: there are step, acc"},
		{name: "status 3", script: `echo '{"loss": 1}'; printf 'b\n\377\nc\nd\n' >&2; exit 3`, steps: []int64{1},
			failed: "the program ended with exit status 3: ? / c / d"},
		{name: "a long stderr", script: `(head -c 2000 /dev/zero | tr '\0' x; echo; echo end) >&2; exit 4`,
			failed: "exit status 4: " + strings.Repeat("x", 300) + "… / end"},
		{name: "kills itself", script: `kill -KILL $$`,
			failed: "the program ended with signal: killed: it wrote nothing to stderr"},
		{name: "steps fall", script: `echo '{"step": 3, "loss": 1}'; echo '{"step": 2, "loss": 1}'; sleep 60`,
			steps: []int64{3}, failed: "values of step 2 after those of step 3: steps must not decrease, and " +
				"a line without one is the next step"},
		{name: "half a step", script: `echo '{"step": 0.5, "loss": 1}'`,
			failed: "the program gave the step 0.5, want a whole number from 0 to 2147483647"},
		{name: "hangs", script: `sleep 60`, failed: "it took too long"},
		{name: "prints for ever", script: `while :; do echo x; done`, failed: "it took too long"},
		{name: "leaves a child", script: `sleep 60 & echo $! >child; echo '{"loss": 1}'`, values: []float64{1},
			steps: []int64{1}},
		{name: "hangs with a child", script: `sh -c 'sleep 60; :' & echo $! >child; wait`, failed: "it took too long"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := programs(t, []string{"sh", "-c", c.script, "sh", "{trial}"}, "")
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			if c.failed == "it took too long" {
				time.AfterFunc(100*time.Millisecond, func() { cancel(errors.New("it took too long")) })
			}
			var reports []study.Reported
			var steps []int64
			began := time.Now()
			end, err := s.objective(ctx, nil, map[string]any{"batch_size": int64(9)}, hooks{trial: 7,
				checkpoint: func(func() (*checkpoint, error)) error { return nil },
				report: func(step, _ int64, value float64) (bool, error) {
					reports, steps = append(reports, study.Reported{Step: step, Value: value}), append(steps, step)
					return c.pruneAt > 0 && step == c.pruneAt, nil
				}})
			r := resultOf(end, reports, err)
			require.Less(t, time.Since(began), 30*time.Second)
			require.Equal(t, c.steps, steps)
			switch {
			case c.failed != "":
				require.Equal(t, study.Fail, r.State)
				require.Contains(t, r.Reason, c.failed)
			case c.pruneAt > 0:
				require.Equal(t, study.Pruned, r.State)
				require.Equal(t, c.values, r.Values)
			default:
				require.Equal(t, study.Complete, r.State, r.Reason)
				require.Equal(t, c.values, r.Values)
				require.Equal(t, end.step, r.Intermediate[len(r.Intermediate)-1].Step)
				require.LessOrEqual(t, len(r.Intermediate), max(1, len(steps)), "no step stands twice")
			}
			if text, err := os.ReadFile("child"); err == nil {
				require.NoError(t, os.Remove("child"))
				requireGone(t, strings.TrimSpace(string(text)))
			}
		})
	}
}

// A program that ends without a number of a metric is told what it gave instead: of that metric, not of one that had a
// number later.
func TestMissingMetrics(t *testing.T) {
	for script, want := range map[string]string{
		`echo '{"a": "1"}'; echo '{"b": "2"}'; echo '{"a": 3}'`: `the program ended without a value of b; it gave ` +
			`"b": "2", which is no number of 64 bits`,
		`echo '{"a": "1"}'; echo '{"a": 3}'`:         "", // the study says that no round has b
		`echo '{"a": 1, "b": "2"}'; echo '{"b": 4}'`: "",
		`echo '{"x": "0"}'; echo '{"b": true, "a": "2"}'; echo '{"b": "3"}'`: `the program ended without values: let ` +
			`it print a line such as {"step": 1, "loss": 0.5}; it gave "a": "2", which is no number of 64 bits`,
	} {
		p := external.Program{Command: []string{"sh", "-c", script, "{folder}"}, Metrics: []string{"a", "b"},
			Folder: filepath.Join(t.TempDir(), "run")}
		r, err := p.Start()
		require.NoError(t, err)
		for m := (run.Metrics{}); err == nil && !m.Done; {
			m, err = r.Step(t.Context())
		}
		require.NoError(t, r.Close())
		if want == "" {
			require.NoError(t, err, script)
			continue
		}
		require.EqualError(t, err, want, script)
	}
}

// requireGone waits until a process is gone, or has ended without a parent that noticed.
func requireGone(t *testing.T, pid string) {
	t.Helper()
	require.Eventually(t, func() bool {
		stat, err := os.ReadFile("/proc/" + pid + "/stat")
		return err != nil || strings.Contains(string(stat), ") Z ")
	}, 20*time.Second, 5*time.Millisecond)
}

// A command with placeholders, and what is wrong with others.
func TestCommands(t *testing.T) {
	for _, c := range []struct {
		command []string
		want    string // the words; else the error after "key "
	}{
		{[]string{"a", "{batch_size}", "x{batch_size}{seed}"}, "a 1 x10"},
		{[]string{"a", "{{batch_size}}", "${batch_size}", "{}", "{ x}", "{\"n\":{batch_size}}"},
			`a {batch_size} ${batch_size} {} { x} {"n":1}`},
		{[]string{"a", "f() { a; }; echo '{\"a\"'", "{"}, "a f() { a; }; echo '{\"a\"' { --batch_size=1"},
		{[]string{"a", "{batch_size"}, `"command" has "{batch_size", whose braces do not match: a placeholder is`},
		{[]string{"a", "--x={batch_size}}"}, `"command" has "--x={batch_size}}", whose braces do not match`},
		{[]string{"a", "--x=batch_size}"}, `"command" has "--x=batch_size}", whose braces do not match`},
		{[]string{"a", "{", "batch_size", "}"}, `"command" has "{ batch_size }": a placeholder has no blanks, ` +
			"{batch_size}"},
		{[]string{"a", "{params}"}, "a runs/study-p/trials/0/seed-0/params.json"},
		{[]string{"a", "{lr}"}, `"command" has {lr}, which is no parameter of each trial: there are batch_size, ` +
			"folder, params, seed, threads, trial, values; {{lr}} is a text in braces"},
		{[]string{}, `"command" got "[]", wants a program and its arguments`},
	} {
		words, _ := json.Marshal(c.command)
		s, err := Parse(fmt.Appendf(nil, "name = \"p\"\nkind = \"exec\"\nmetric = \"loss\"\ncommand = %s\n[[param]]\n"+
			"name = \"batch_size\"\ntype = \"int\"\nlow = 1\nhigh = 9\n", words), nil)
		if strings.HasPrefix(c.want, `"`) {
			require.ErrorContains(t, err, "key "+c.want)
			continue
		}
		require.NoError(t, err)
		got, err := s.program(map[string]any{"batch_size": int64(1)}, 0, 0).Arguments()
		require.NoError(t, err)
		require.Equal(t, c.want, strings.Join(got, " "))
	}
	const head = "name = \"p\"\nmetric = \"loss\"\n"
	const param = "[[param]]\nname = \"x\"\ntype = \"float\"\nlow = 1\nhigh = 9\n"
	for more, want := range map[string]string{
		"kind = \"exec\"\nsampler = \"pbt\"\n":         "got pbt, which goes on from states",
		"kind = \"exec\"\npruner = \"hyperband\"\n":    "got hyperband, which needs the last step of a run",
		"kind = \"exec\"\nmemory = \"2G\"\n":           "limits workers, not their programs",
		"kind = \"exec\"\ncheckpoint-every = \"1s\"\n": "got 1s, but a program has no checkpoints",
		"command = [\"a\"]\n":                          `key "command" is given, but the kind is evolve`,
		"kind = \"exec\"\ncommand = \"a 'b c'\"\n":     `got a 'b c', whose quotes no shell reads: give a JSON list`,
		"kind = \"exec\"\ncommand = [1]\n":             "got [1], wants the words of a command",
		"kind = \"exec\"\n[run]\nseed = 1\n":           `key "param.seed" has the name of what each program gets`,
		"kind = \"exec\"\n[run]\na_b = 1\n\"a.b\" = 1\n": `key "param.a_b" has the environment variable ` +
			"XLARUN_PARAM_a_b, as a.b has: rename one of them",
	} {
		_, err := Parse([]byte(head+more+param), nil)
		require.ErrorContains(t, err, want)
	}
	given := map[string]string{"exec": "nowhere-to-be-found {x}"}
	_, err := Parse([]byte(head+"kind = \"evolve\"\n"+param), given)
	require.EqualError(t, err, `key "command" is given, but the kind is evolve: take the kind exec, or leave it out`)
	s, err := Parse([]byte(head+param), given)
	require.NoError(t, err)
	require.True(t, s.Programs())
	require.ErrorContains(t, (&Coordinator{Spec: s}).Open(), "got the program nowhere-to-be-found, which cannot be "+
		"started here (executable file not found in $PATH)")
	s.Exec = ""
	require.ErrorContains(t, (&Coordinator{Spec: s}).Open(), `key "command" is missing`)
}

// Each worker sees its part of the GPUs.
func TestShareOfGPUs(t *testing.T) {
	for _, c := range []struct {
		list       string
		slot, size int
		want       string
	}{{"", 1, 2, ""}, {"0,1,2,3", 0, 1, "0,1,2,3"}, {"0,1,2,3", 1, 2, "1,3"}, {"4,7", 2, 3, "4"}, {"4,7", 3, 8, "7"}} {
		require.Equal(t, c.want, share(c.list, c.slot, c.size))
	}
}

// A study of programs in worker processes: a worker that is killed takes its program with it, and another one begins
// the trial anew. A time limit ends a program, and its worker goes on.
func TestStudyOfPrograms(t *testing.T) {
	t.Chdir(t.TempDir())
	script := `echo '{"loss": 9}'; echo '{"loss": 8}'
if [ $XLARUN_TRIAL = 1 ] && mkdir once; then sleep 60 & echo $! >child; echo $PPID >worker.new; ` +
		`mv worker.new worker; wait; fi
[ $XLARUN_TRIAL != 2 ] || sleep 60
echo "{\"loss\": $XLARUN_PARAM_batch_size}"`
	s := programs(t, []string{"sh", "-c", script}, "trials = 5\ntimeout = \"400ms\"\nsampler = \"random\"\n")
	c := coordinator(s)
	done := make(chan error, 1)
	go func() { done <- c.Run(t.Context()) }()
	var pid int
	require.Eventually(t, func() bool {
		text, err := os.ReadFile("worker")
		pid, _ = strconv.Atoi(strings.TrimSpace(string(text)))
		return err == nil
	}, 30*time.Second, time.Millisecond)
	require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
	require.NoError(t, <-done)
	child, err := os.ReadFile("child")
	require.NoError(t, err)
	requireGone(t, strings.TrimSpace(string(child)))
	for i, x := range trialsOf(t, s) {
		if i == 2 {
			require.Equal(t, study.Fail, x.State)
			require.Equal(t, "it took more than 400ms", Reason(x))
			require.Equal(t, []study.Reported{{Step: 1, Value: 9}, {Step: 2, Value: 8}}, x.Intermediate)
			continue
		}
		require.Equal(t, study.Complete, x.State, Reason(x))
		require.Equal(t, []study.Reported{{Step: 1, Value: 9}, {Step: 2, Value: 8}, {Step: 3, Value: x.Values[0]}},
			x.Intermediate)
		require.EqualValues(t, x.External()["batch_size"], x.Values[0])
		require.FileExists(t, filepath.Join("runs", "study-p", "trials", fmt.Sprint(i), "seed-0", "stdout"))
	}
	require.EqualValues(t, 1, c.Deaths(), "the limit of time ends no worker")
}

// A program that stands still ends with a reason that says so.
func TestStalledProgram(t *testing.T) {
	t.Chdir(t.TempDir())
	s := programs(t, []string{"sh", "-c", "sleep 60"}, "trials = 1\nattempts = 2\nlease = \"200ms\"\n"+
		"stall = \"100ms\"\n")
	require.EqualError(t, coordinator(s).Run(t.Context()), "all 1 trials have failed, the last as it printed no "+
		"values for 100ms (stall), 2 times: see stdout and stderr in runs/study-p/trials/0: mend the program or the "+
		"spec, and give the study another name")
}

// The reason said NaN alone, which is nowhere in the output of a program that printed null.
func TestProgramOfNull(t *testing.T) {
	t.Chdir(t.TempDir())
	s := programs(t, []string{"sh", "-c", `echo '{"loss": null}'`}, "trials = 1\n")
	require.ErrorContains(t, coordinator(s).Run(t.Context()), "the last as the objective is not a number: [NaN]: the "+
		"program gave NaN or null: mend the program")
}

// An attempt has a folder of its own: the program of an earlier one may still write.
func TestFoldersOfAttempts(t *testing.T) {
	t.Chdir(t.TempDir())
	s := programs(t, []string{"sh", "-c", `echo '{"loss": 1}'; sleep 60`}, "")
	for _, folder := range []string{"seed-0", "seed-0-2", "seed-0-3"} {
		r, err := s.program(nil, 7, 0).Start()
		require.NoError(t, err)
		defer func() { require.NoError(t, r.Close()) }()
		require.FileExists(t, filepath.Join("runs", "study-p", "trials", "7", folder, "stdout"))
	}
}

// After the coordinator was killed, no worker runs the command that the file had before.
func TestChangedCommand(t *testing.T) {
	t.Chdir(t.TempDir())
	const more = "trials = 8\nsampler = \"random\"\nlease = \"200ms\"\n"
	before := programsText(t, []string{"sh", "-c", `sleep .1; echo '{"loss": 1}'`}, more)
	require.NoError(t, os.WriteFile("p.toml", before, 0o666))
	s := programs(t, []string{"sh", "-c", `echo '{"loss": 2}'`}, more)
	cmd := again(asCoordinator, "p.toml")
	require.NoError(t, cmd.Start())
	require.Eventually(t, func() bool { return exists("runs/study-p/trials/3") }, 30*time.Second, time.Millisecond)
	require.NoError(t, cmd.Process.Kill())
	_, were := cmd.Wait(), trialsOf(t, s)
	require.NoError(t, coordinator(s).Run(t.Context()))
	for i, x := range trialsOf(t, s) {
		want := 2.
		if i < len(were) && were[i].State.Finished() {
			want = 1
		}
		require.Equal(t, []float64{want}, x.Values, Reason(x))
	}
}

// A spec that comes from a server may be anything.
func TestSpecsOfServers(t *testing.T) {
	for _, text := range []string{`{"name": "../../../tmp/evil"}`, `{"name": "p", "kind": "exec", "fixed": null}`} {
		_, err := specFrom([]byte(text), []byte("{}"))
		require.ErrorContains(t, err, "is damaged: it has no right name, or no settings")
	}
}

// A worker that joins runs no command but its own. One without gives the trial back, and ends.
func TestProgramsOfAnotherMachine(t *testing.T) {
	t.Chdir(t.TempDir())
	s := programs(t, []string{"touch", "{folder}/../../../harmed"}, "trials = 2\nsampler = \"random\"\n")
	c := coordinator(s)
	c.NoWorkers, c.Listen = true, Listen{Address: "127.0.0.1:0"}
	at := make(chan string, 1)
	c.Listening = func(address string) { at <- address }
	done := make(chan error, 1)
	go func() { done <- c.Run(t.Context()) }()
	join := Join{Server: messaging.Server{Address: messaging.Address{URLs: []string{"nats://" + <-at}},
		Wait: 10 * time.Second}}
	err := JoinStudy(t.Context(), join, nil)
	require.EqualError(t, err, "trials of this study are programs, and a worker runs no command that comes over a "+
		"network: give the study's here, --exec COMMAND")
	coded, ok := errors.AsType[*messaging.CodedError](err)
	require.True(t, ok)
	require.Equal(t, messaging.CodeRefused, coded.Code)
	join.Exec = "echo {lr}"
	require.ErrorContains(t, JoinStudy(t.Context(), join, nil), "the command of --exec has {lr}, which is no parameter")
	var ended atomic.Int64
	join.Exec, join.Ended = `["sh", "-c", "echo \"{\\\"loss\\\": 1}\""]`, func(int64, study.Result, time.Duration) {
		ended.Add(1)
	}
	require.NoError(t, JoinStudy(t.Context(), join, nil))
	require.NoError(t, <-done)
	require.EqualValues(t, 2, ended.Load())
	for _, x := range trialsOf(t, s) {
		require.Equal(t, []float64{1}, x.Values)
	}
	harmed, err := exec.Command("find", ".", "-name", "harmed").Output()
	require.NoError(t, err)
	require.Empty(t, string(harmed))
}
