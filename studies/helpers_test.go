package studies

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/internal/long"
	"xlarun/internal/messaging"
	"xlarun/internal/ramdisk"
	"xlarun/rollout/run"
	"xlarun/rollout/settings"
	"xlarun/studies/rdb"
	"xlarun/studies/rdb/rdbtest"
	"xlarun/studies/study"
	"xlarun/xlabridge"
)

// bowl is a kind of run that computes a few numbers slowly, and can fail in every way in which runs fail.
type bowl struct {
	run.Common
	X     float64 `set:"x"`
	Y     int     `set:"y"`
	How   string  `set:"how" oneof:"well,hole,nan,error,panic,die,hang,eat"`
	Steps int64   `set:"steps" min:"1"`
	Wait  string  `set:"wait"`
	Trace string  `set:"trace"` // file: a dot for a round, an r for a restored run, a line for lanes
}

func (b *bowl) Job() *run.Job {
	return &run.Job{Title: "bowl", Last: b.Steps, Board: func() []run.DisplayRow { return nil }, Start: b.Start,
		Measures: func() []string { return []string{"loss", "x"} },
		Lanes: &run.LaneChoice{Numbers: func() []string { return []string{"x"} }, Cost: b.VectorizedCost,
			Open: b.OpenLanes}}
}

func (b *bowl) Start(context.Context, xlabridge.Backend) (run.Run, error) {
	if b.How == "error" {
		return nil, fmt.Errorf("it does not start")
	}
	return &bowling{bowl: b}, nil
}

// VectorizedCost returns the cost of a lane. It grows with the rounds.
func (b *bowl) VectorizedCost() (run.VectorizedCost, error) {
	if b.How == "error" {
		return run.VectorizedCost{}, settings.Wrong("how", b.How, "another way: lanes start")
	}
	return run.VectorizedCost{Work: float64(b.Steps) * 1e6, Bytes: 64 << min(b.Y, 40)}, nil
}

// OpenLanes makes lanes of bowls.
func (b *bowl) OpenLanes(context.Context, xlabridge.Backend, []string, int) (run.Lanes, error) {
	return bowlLanes{b}, nil
}

type bowlLanes struct{ *bowl }

// Close fails if the trace is gone.
func (b bowlLanes) Close() error { _, err := os.Stat(cmp.Or(b.Trace, ".")); return err }

// Run runs all lanes, a round of each in turn. The n-th call waits while there is a file trace.n.
func (b bowlLanes) Run(ctx context.Context, all []run.Lane, hear func(lane int, m run.Metrics) (stop bool)) error {
	if b.Trace != "" {
		if err := appended(b.Trace, fmt.Sprintf("%d\n", len(all))); err != nil {
			return err
		}
		text, err := os.ReadFile(b.Trace)
		if err != nil {
			return err
		}
		for exists(fmt.Sprintf("%s.%d", b.Trace, strings.Count(string(text), "\n"))) {
			time.Sleep(time.Millisecond)
		}
	}
	runs := make([]*bowling, len(all))
	for i, lane := range all {
		own := *b.bowl
		own.Seed, own.X, own.Trace = lane.Seed, lane.Numbers["x"], ""
		runs[i] = &bowling{bowl: &own}
	}
	for range b.Steps {
		for i, r := range runs {
			if r == nil {
				continue
			}
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			m, err := r.Step(ctx)
			if err != nil {
				return err
			}
			if hear(i, m) {
				runs[i] = nil
			}
		}
	}
	return nil
}

// bowling is a run of a bowl. Its sum depends on all rounds.
type bowling struct {
	*bowl
	step int64
	sum  float64
	eats [][]byte
}

func (b *bowling) Step(context.Context) (run.Metrics, error) {
	d, err := time.ParseDuration(b.Wait)
	if err != nil {
		return run.Metrics{}, err
	}
	time.Sleep(d)
	b.step++
	if b.Trace != "" {
		if err := appended(b.Trace, "."); err != nil {
			return run.Metrics{}, err
		}
	}
	b.sum = math.Sin(b.sum + b.X + float64(b.Seed))
	value := b.sum/100 + (b.X-.3)*(b.X-.3) + math.Abs(float64(b.Y-4)) + math.Sin(float64(b.Seed))/10 + 1/float64(b.step)
	switch b.How {
	case "nan":
		value = math.NaN()
	case "hole":
		if b.X > .5 {
			value = math.NaN()
		}
	case "panic":
		if b.step == 5 {
			panic("broken")
		}
	case "die":
		os.Exit(7)
	case "hang":
		if b.step == 5 {
			select {}
		}
	case "eat":
		b.eats = append(b.eats, make([]byte, 64<<20))
		for i := 0; i < 64<<20; i += 4096 { // each page is there once it is touched
			b.eats[len(b.eats)-1][i] = 1
		}
	}
	return run.Metrics{Step: b.step, Values: []run.Value{{Name: "loss", Number: value}, {Name: "x", Number: b.X}}}, nil
}
func (b *bowling) Snapshot(ctx context.Context) (run.Snapshot, error) {
	return run.Snapshot{Step: b.step, Arrays: map[string]*graph.Array{"sum": graph.Float64s([]float64{b.sum}, 1)}}, nil
}
func (b *bowling) Restore(ctx context.Context, s run.Snapshot) error {
	sum, err := graph.Floats(s.Arrays["sum"])
	if err != nil {
		return err
	}
	b.step, b.sum = s.Step, sum[0]
	if b.Trace != "" {
		return appended(b.Trace, "r")
	}
	return nil
}
func (b *bowling) Describe() *run.Capabilities { return &run.Capabilities{} }
func (b *bowling) Profile() run.Profile        { return run.Profile{} }
func (b *bowling) Close() error                { return nil }

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// appended adds a text to a file.
func appended(path, text string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o666)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// bowls makes bowls.
type bowls struct{}

func (bowls) Resolve(kind string, values map[string]any) (run.Experiment, error) {
	if kind != "bowl" {
		return nil, fmt.Errorf("there is no kind %q", kind)
	}
	b := &bowl{How: "well", Steps: 6, Wait: "2ms"}
	return b, settings.Values(values).Apply(b, "bowl", "")
}
func (bowls) Backend(context.Context, run.Experiment) (xlabridge.Backend, error) { return nil, nil }

// Environment variables that make the test's binary a worker, a coordinator or a worker that joins.
const asWorker, asCoordinator, asGuest = "XLARUN_TEST_WORKER", "XLARUN_TEST_COORDINATOR", "XLARUN_TEST_GUEST"

// asProgram is the variable with the command of a worker's programs.
const asProgram = "XLARUN_TEST_PROGRAM"

func TestMain(m *testing.M) {
	if args := strings.Split(os.Getenv(asWorker), "|"); len(args) == 3 {
		slot, _ := strconv.Atoi(args[2])
		if err := Worker(context.Background(), args[0], args[1], slot, "", os.Getenv(asProgram), bowls{}); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if url := os.Getenv(asGuest); url != "" {
		if err := JoinStudy(context.Background(), Join{Server: messaging.Server{
			Address: messaging.Address{URLs: []string{url}}, Token: os.Getenv(TokenVariable), Wait: 10 * time.Second,
		}, Exec: os.Getenv(asProgram)}, bowls{}); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if path := os.Getenv(asCoordinator); path != "" {
		text, err := os.ReadFile(path)
		var s *Spec
		if err == nil {
			s, err = Parse(text, nil)
		}
		if err == nil {
			err = coordinator(s).Run(context.Background())
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	ramdisk.Use()
	if err := flag.Set("test.parallel", "8"); err != nil { // tests wait more than they compute; -parallel goes before
		panic(err)
	}
	code := m.Run()
	rdbtest.Stop()
	os.Exit(code)
}

// again returns the command of this test's binary with an environment variable.
func again(name, value string) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), name+"="+value)
	return cmd
}

func coordinator(s *Spec) *Coordinator {
	c := &Coordinator{Spec: s, Command: func(slot int) *exec.Cmd {
		cmd := again(asWorker, fmt.Sprintf("%s|%s|%d", s.Storage, s.Name, slot))
		cmd.Env = append(cmd.Env, asProgram+"="+s.Exec)
		return cmd
	}}
	if s.TrialsAs == trialsVectorized {
		c.Runs = bowls{}
	}
	return c
}

const head = `
name = "bowl"
kind = "bowl"
metric = "loss"
direction = "minimize"
storage = "%s"
trials = 16
workers = 2
seeds = 2
startup = 4
report-every = 2
pruner = "median"
lease = "10s"
`

const space = `
[[param]]
name = "x"
type = "float"
low = -1.0
high = 1.0
[[param]]
name = "y"
type = "int"
low = 0
high = 9
`

// backends are the kinds of databases. at returns the address of a new database.
var backends = []struct {
	name string
	at   func(*testing.T) string
}{
	{"sqlite", func(t *testing.T) string { return "sqlite:///" + filepath.Join(t.TempDir(), "s.db") }},
	{"postgresql", func(t *testing.T) string { return here(t, rdbtest.Start(t).Database(t)) }},
}

// here removes what a study in a server's database leaves in the folder runs when the test ends.
func here(t *testing.T, at string) string {
	t.Cleanup(func() {
		beside, err := rdb.WorkPath(at)
		require.NoError(t, err)
		require.NoError(t, os.RemoveAll(beside+".work"))
		_ = os.Remove("runs") // if another test has nothing in it
	})
	return at
}

// onEach runs a test with a database of each kind; in the short form with SQLite. What differs between databases is
// tested in rdb.
func onEach(t *testing.T, test func(t *testing.T, at string)) {
	t.Helper()
	for _, b := range backends {
		if b.name != "sqlite" && !long.On() {
			continue
		}
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			test(t, b.at(t))
		})
	}
}

// written writes a spec in a folder of the test.
func written(t *testing.T, more string) (path string, s *Spec) {
	t.Helper()
	return writtenAt(t, backends[0].at(t), more)
}

// writtenAt writes a spec whose study is in the database at an address.
func writtenAt(t *testing.T, at, more string) (path string, s *Spec) {
	t.Helper()
	dir := t.TempDir()
	text := fmt.Sprintf(head, at)
	parts := strings.SplitN(more, "[", 2) // what is above the first table belongs to the head
	text = replaced(text, parts[0])
	if len(parts) == 2 {
		text += "[" + parts[1]
	}
	if !strings.Contains(more, "[[param]]") {
		text += space
	}
	path = filepath.Join(dir, "spec.toml")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o666))
	s, err := Parse([]byte(text), nil)
	require.NoError(t, err)
	require.NoError(t, s.Check(bowls{}))
	return path, s
}

// replaced returns a text in which lines "key = value" replace those with the same key.
func replaced(text, by string) string {
	for line := range strings.Lines(by) {
		key, _, ok := strings.Cut(line, " = ")
		if !ok {
			continue
		}
		var kept []string
		for old := range strings.Lines(text) {
			if !strings.HasPrefix(old, key+" = ") {
				kept = append(kept, old)
			}
		}
		text = strings.Join(kept, "") + line
	}
	return text
}

// trialsOf reads a study's trials.
func trialsOf(t *testing.T, s *Spec) []*study.FrozenTrial {
	t.Helper()
	d, err := rdb.Open(s.Storage)
	require.NoError(t, err)
	defer func() { require.NoError(t, d.Close()) }()
	st, err := study.New(s.Name, study.Options{Storage: d, Directions: s.Directions(), Sampler: study.Random{}})
	require.NoError(t, err)
	trials, err := st.Trials()
	require.NoError(t, err)
	return trials
}

// plainText returns all results of trials, to the bit: states, values, parameters, reports.
func plainText(trials []*study.FrozenTrial) string {
	text := ""
	for _, x := range trials {
		text += fmt.Sprintf("%d %s %x %v", x.Number, x.State, x.Values, x.Distributions)
		for _, name := range []string{"x", "y", "how"} {
			text += fmt.Sprintf(" %s=%x", name, math.Float64bits(x.Params[name]))
		}
		text += fmt.Sprintf(" %x %s %s\n", x.Intermediate, Reason(x), x.SystemAttrs[study.DigestAttr])
	}
	return text
}

// stderrOf returns what f writes to os.Stderr, a few lines at most. Its test must not be parallel.
func stderrOf(t *testing.T, f func()) string {
	t.Helper()
	read, write, err := os.Pipe()
	require.NoError(t, err)
	stderr := os.Stderr
	os.Stderr = write
	defer func() { os.Stderr = stderr }()
	f()
	require.NoError(t, write.Close())
	told, err := io.ReadAll(read)
	require.NoError(t, err)
	return string(told)
}
