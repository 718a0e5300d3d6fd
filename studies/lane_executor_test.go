package studies

import (
	"database/sql"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"xlarun/internal/long"
	"xlarun/studies/rdb"
	"xlarun/studies/study"
)

// onlyX is a space that lanes may differ in.
const onlyX = `
[[param]]
name = "x"
type = "float"
low = -1.0
high = 1.0
`

// rows are all that a study's database holds but what differs from one time to the next by its meaning: times, and who
// beat.
func rows(t *testing.T, s *Spec) string {
	t.Helper()
	path, err := rdb.Path(s.Storage)
	require.NoError(t, err)
	db, err := sql.Open("sqlite3", "file:"+path+"?mode=ro")
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	text := ""
	for _, query := range []string{
		`SELECT study_name FROM studies`, `SELECT direction, objective FROM study_directions`,
		`SELECT "key", value_json FROM study_system_attributes WHERE "key" = '` + specAttr + `'`,
		`SELECT trial_id, number, state FROM trials ORDER BY trial_id`,
		`SELECT trial_id, param_name, hex(param_value), distribution_json FROM trial_params
			ORDER BY trial_id, param_name`,
		`SELECT trial_id, objective, printf('%.17g', value), value_type FROM trial_values ORDER BY trial_id, objective`,
		`SELECT trial_id, step, printf('%.17g', intermediate_value), intermediate_value_type
			FROM trial_intermediate_values ORDER BY trial_id, step`,
		`SELECT trial_id, "key", value_json FROM trial_user_attributes ORDER BY trial_id, "key"`,
		`SELECT trial_id, "key", value_json FROM trial_system_attributes ORDER BY trial_id, "key"`,
	} {
		found, err := db.Query(query)
		require.NoError(t, err, query)
		columns, err := found.Columns()
		require.NoError(t, err)
		for found.Next() {
			values, into := make([]any, len(columns)), make([]any, len(columns))
			for i := range values {
				into[i] = &values[i]
			}
			require.NoError(t, found.Scan(into...))
			text += fmt.Sprintln(values...)
		}
		require.NoError(t, found.Err())
	}
	return text
}

// widths are the numbers of lanes that were run at a time.
func widths(t *testing.T, trace string) (all []int) {
	t.Helper()
	text, err := os.ReadFile(trace)
	require.NoError(t, err)
	for line := range strings.Lines(string(text)) {
		n, err := strconv.Atoi(strings.TrimSpace(line))
		require.NoError(t, err)
		all = append(all, n)
	}
	return all
}

// TestLanesInTheDatabase: what trials that are lanes leave there is to the byte what trials in processes leave; no more
// are under way than the window allows, where that matters.
func TestLanesInTheDatabase(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		number int
		head   string
		most   int // trials at a time
	}{
		{1, "sampler = \"random\"\npruner = \"none\"\nwindow = 3\n", 16},
		{2, "sampler = \"tpe\"\npruner = \"median\"\nwindow = 3\n", 3},
		{3, "sampler = \"tpe\"\npruner = \"none\"\nwindow = 6\n", 6},
		{4, "sampler = \"grid\"\ngrid-points = 11\npruner = \"none\"\n", 11},
		{5, "sampler = \"cmaes\"\npruner = \"none\"\nwindow = 1\nseeds = 1\n", 1},
		{6, "sampler = \"quasi-random\"\npruner = \"asha\"\nwindow = 5\n", 5},
		{7, "sampler = \"nsga2\"\npruner = \"none\"\nmetric = \"loss,x\"\ndirection = " +
			"\"minimize,maximize\"\npopulation = 5\n", 4},
	} {
		t.Run(fmt.Sprint(c.number), func(t *testing.T) {
			t.Parallel()
			trace := filepath.Join(t.TempDir(), "trace")
			run := "[run]\nhow = \"hole\"\ny = 4\ntrace = \"" + trace + "\"\n" + onlyX
			_, lanes := written(t, "trials-as = \"vectorized\"\n"+c.head+run)
			by := coordinator(lanes)
			var told []*study.FrozenTrial
			by.Ended = func(x, _ *study.FrozenTrial) { told = append(told, x) }
			require.NoError(t, by.Run(t.Context()))
			require.True(t, by.Lanes())
			require.Equal(t, plainText(trialsOf(t, lanes)), plainText(told), "what is not read again is what is there")
			most := 0
			for _, n := range widths(t, trace) {
				most = max(most, n/lanes.Seeds)
			}
			require.Equal(t, c.most, most)
			_, processes := written(t, "trials-as = \"processes\"\n"+c.head+run)
			require.NoError(t, coordinator(processes).Run(t.Context()))
			text := rows(t, lanes)
			require.Equal(t, rows(t, processes), text)
			checkLastReports(t, lanes, told)
			require.Contains(t, text, "the objective is not a number")
			require.Equal(t, strings.Contains(c.head, "median") || strings.Contains(c.head, "asha"),
				strings.Contains(text, "PRUNED"))
		})
	}
}

// TestKilledLanes kills the coordinator, which runs all lanes, at random times: the study goes on to the same rows, in
// processes too.
func TestKilledLanes(t *testing.T) {
	t.Parallel()
	kills := 3
	if long.On() {
		kills = 100
	}
	trace := filepath.Join(t.TempDir(), "trace")
	more := "window = 2\nsampler = \"tpe\"\ntrials = " + strconv.Itoa(10+16*kills) +
		"\ntrials-as = \"vectorized\"\n[run]\nwait = \"3ms\"\ntrace = \"" + trace + "\"\n" + onlyX
	path, s := written(t, more)
	underWay := func() bool {
		return slices.ContainsFunc(trialsOf(t, s), func(x *study.FrozenTrial) bool { return !x.State.Finished() })
	}
	start := func() *exec.Cmd {
		cmd := again(asCoordinator, path)
		require.NoError(t, cmd.Start())
		return cmd
	}
	kill := func(cmd *exec.Cmd) {
		require.NoError(t, cmd.Process.Kill())
		_ = cmd.Wait()
	}
	first := trace + ".1" // the first lanes wait while it is there
	require.NoError(t, os.WriteFile(first, nil, 0o666))
	cmd := start()
	require.Eventually(t, func() bool { return exists(trace) }, time.Minute, 5*time.Millisecond)
	kill(cmd)
	require.NoError(t, os.Remove(first))
	require.True(t, underWay())
	fired := 1 // with trials under way
	for n := range kills {
		cmd := start()
		untilFinished(t, s, 3*(n+1))
		time.Sleep(rand.N(50 * time.Millisecond))
		kill(cmd)
		if underWay() {
			fired++
		}
	}
	before := trialsOf(t, s)
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	rest, err := Parse(text, map[string]string{"trials-as": trialsProcesses})
	require.NoError(t, err)
	require.NoError(t, coordinator(rest).Run(t.Context()))
	t.Logf("%d trials of %d were asked as lanes, %d kills came while some were under way", len(before), s.Trials, fired)
	_, alone := written(t, more)
	require.NoError(t, coordinator(alone).Run(t.Context()))
	require.Equal(t, rows(t, alone), rows(t, rest))
}

// TestLanesThatFail: where vectorized trials cannot be run after all, trials continue in processes, unless the spec
// asked for vectorized ones.
func TestLanesThatFail(t *testing.T) {
	t.Parallel()
	more := "pruner = \"none\"\ntrials = 3\n[run]\nhow = \"panic\"\n" + onlyX
	_, s := written(t, more)
	c := coordinator(s)
	c.Runs = bowls{}
	notices := ""
	c.Notice = func(line string) { notices += line + "\n" }
	require.ErrorContains(t, c.Run(t.Context()), "all 3 trials have failed, the last as the run panicked: broken")
	require.Contains(t, notices, "vectorized trials cannot be run: they panicked: broken: trials continue in processes")
	require.False(t, c.Lanes())
	for _, x := range trialsOf(t, s) {
		require.Equal(t, study.Fail, x.State)
	}
	_, s = written(t, "trials-as = \"vectorized\"\n"+more)
	require.EqualError(t, coordinator(s).Run(t.Context()), "vectorized trials cannot be run: they panicked: broken")
}

// TestHowTrialsAreRun: what is chosen, and why; a choice that cannot be is refused in a sentence.
func TestHowTrialsAreRun(t *testing.T) {
	t.Parallel()
	const lanes = "trials vectorized in one program on 2 devices, up to "
	for _, c := range []struct {
		number     int
		head, rest string
		served     bool
		how        string // "": it is refused
		wrong      string // with lanes asked for; "": they can be
	}{
		{1, "", onlyX, false, lanes + "4 at a time", ""},
		{2, "window = 9\n", onlyX, false, lanes + "9 at a time", ""},
		{3, "sampler = \"random\"\n", onlyX, false, lanes + "16 at a time", ""},
		{4, "sampler = \"random\"\nseeds = 100\n", onlyX, false, lanes + "10 at a time", ""},
		{5, "pruner = \"median\"\n", onlyX, false,
			`(not vectorized: key "pruner" got median, and a vectorized trial that is pruned takes as long as the ` +
				`others)`, ""},
		{6, "", space, false, `(not vectorized: key "param.y" makes another program of each trial: trials of one may ` +
			`differ in x)`,
			`key "trials-as" got vectorized, but key "param.y" makes another program`},
		{7, "timeout = \"1m\"\n", onlyX, false,
			`(not vectorized: key "timeout" limits the process of a trial, and vectorized trials share one: ` +
				`leave it out)`, `key "timeout" limits`},
		{8, "memory = \"1G\"\n", onlyX, false, `(not vectorized: key "memory" limits`, `key "memory" limits`},
		{9, "stall = \"1m\"\n", onlyX, false, `(not vectorized: key "stall" limits`, `key "stall" limits`},
		{10, "", onlyX + "[run]\nsteps = 1000000\n", false,
			`(not vectorized: key "run" makes trials that take long, and vectorized ones are not stored on the ` +
				`way)`, ""},
		{11, "", onlyX + "[run]\ny = 30\n", false,
			`(not vectorized: key "run" makes runs of some 65536 MB, too large to have many at a time)`, ""},
		{12, "", onlyX + "[run]\nhow = \"error\"\n", false, "(not vectorized: how: got \"error\", want another way: " +
			"lanes start", "how: got \"error\""},
		{14, "window = 1\n", onlyX + "[run]\nsteps = 2000\n", false,
			`(not vectorized: key "window" got 1, which gives no device two runs at a time, and vectorized trials ` +
				`wait for the slowest)`, ""},
		{18, "window = 4\ntrials = 2\nseeds = 1\n", onlyX + "[run]\nsteps = 2000\n", false, // 2 workers
			`(not vectorized: key "trials" got 2, which gives no device two runs at a time, and vectorized trials ` +
				`wait for the slowest)`, ""},
		{15, "window = 2\n", onlyX + "[run]\nsteps = 2000\n", false, lanes + "2 at a time", ""},
		{16, "window = 1\n", onlyX + "[run]\nsteps = 1000\n", false, lanes + "1 at a time", ""},
		{17, "window = 1\nsampler = \"random\"\n", onlyX + "[run]\nsteps = 2000\n", false, lanes + "16 at a time", ""},
		{13, "", onlyX, true, "trials in processes: 2 workers x 1 thread",
			`key "trials-as" got vectorized, but workers that join run trials as processes: give study run, or`},
	} {
		_, s := written(t, "pruner = \"none\"\n"+c.head+c.rest)
		coordinator := &Coordinator{Spec: s, Runs: bowls{}}
		if c.served {
			coordinator.Listen.Address = "127.0.0.1:0"
		}
		require.NoError(t, coordinator.Open(), "case %d", c.number)
		require.NoError(t, coordinator.Close())
		require.Contains(t, coordinator.Description(), c.how, "case %d", c.number)
		s.TrialsAs = trialsProcesses
		require.NoError(t, coordinator.chooseLanes())
		require.Equal(t, "trials in processes: 2 workers x 1 thread", coordinator.Description(), "case %d", c.number)
		s.TrialsAs = trialsVectorized
		if err := coordinator.chooseLanes(); c.wrong != "" {
			require.ErrorAs(t, err, new(*SpecError), "case %d", c.number)
			require.ErrorContains(t, err, c.wrong, "case %d", c.number)
		} else {
			require.NoError(t, err, "case %d", c.number)
			require.Contains(t, coordinator.Description(), lanes, "case %d", c.number)
		}
	}
}
