package evolve

import (
	"bytes"
	"context"
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	natsserver "github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	_ "xlarun/envs/classic"
	"xlarun/graph/safetensors"
	"xlarun/internal/long"
	"xlarun/internal/messaging"
	"xlarun/rollout/evolve/hosts"
	"xlarun/rollout/run"
	"xlarun/rollout/run/runfolder"
	"xlarun/rollout/run/session"
	"xlarun/rollout/settings"
	"xlarun/xlabridge"
	"xlarun/xlabridge/xlatest"
)

// messageServer starts a NATS server on this machine and returns its address.
func messageServer(t *testing.T, token string) string {
	return startServer(t, &natsserver.Options{Authorization: token})
}

// keepingServer starts one that keeps what hosts leave there.
func keepingServer(t *testing.T) string {
	return startServer(t, &natsserver.Options{JetStream: true, StoreDir: t.TempDir()})
}

func startServer(t *testing.T, o *natsserver.Options) string {
	_, address := runServer(t, o)
	return address
}

func runServer(t *testing.T, o *natsserver.Options) (*natsserver.Server, string) {
	o.Host, o.Port, o.NoLog, o.NoSigs = "127.0.0.1", -1, true, true
	s, err := natsserver.NewServer(o)
	require.NoError(t, err)
	s.Start()
	t.Cleanup(s.Shutdown)
	require.True(t, s.ReadyForConnections(10*time.Second))
	return s, "nats://" + s.Addr().String()
}

// smallRun is a search of a few short generations, of several tiles. What hosts say to each other does not depend on
// what computes a chunk, so tests interpret it unless the number of devices matters.
func smallRun(change func(c *Config)) Config {
	c := DefaultConfig()
	c.Population, c.Tile, c.Steps, c.Generations, c.Target, c.EvalEpisodes = 64, 8, 10, 6, "0", 4
	c.Policy, c.EvalEvery, c.EvalEnvs = "linear", 2, 10
	if change != nil {
		change(&c)
	}
	return c
}

// metricsOf runs a search in a session on some devices, 0 for the interpreter, and returns its metrics.jsonl.
func metricsOf(t *testing.T, c Config, devices int, wait func(step int64)) (string, error) {
	kind, _ := run.Lookup("evolve")
	dir := filepath.Join(t.TempDir(), "run")
	folder, err := runfolder.Create(dir, runfolder.Options{})
	if err != nil {
		return "", err
	}
	var e run.Experiment = &c
	if wait != nil {
		e = slowed{&c, wait}
	}
	_, err = session.Run(context.Background(), session.Options{Kind: kind, Experiment: e, Folder: folder,
		Open: func(context.Context, run.Progress) (xlabridge.Backend, error) {
			if devices == 0 {
				return &xlabridge.Reference{}, nil
			}
			return xlatest.Open(t, devices), nil
		}})
	if err != nil {
		return "", err
	}
	rows, err := os.ReadFile(filepath.Join(dir, "metrics.jsonl"))
	return string(rows), err
}

// slowed is a search that calls wait before each generation.
type slowed struct {
	*Config
	wait func(step int64)
}

func (s slowed) Job() *run.Job {
	job := s.Config.Job()
	start := job.Start
	job.Start = func(ctx context.Context, b xlabridge.Backend) (run.Run, error) {
		r, err := start(ctx, b)
		if err != nil {
			return nil, err
		}
		return waiting{r, s.wait}, nil
	}
	return job
}

type waiting struct {
	run.Run
	wait func(step int64)
}

func (w waiting) Step(ctx context.Context) (run.Metrics, error) {
	m, err := w.Run.Step(ctx)
	if err == nil {
		w.wait(m.Step)
	}
	return m, err
}

// interrupted is an experiment that is interrupted in its first step, or in its start.
type interrupted struct {
	*Config
	interrupt func()
	early     bool
}

func (i interrupted) Job() *run.Job {
	job := i.Config.Job()
	start := job.Start
	job.Start = func(ctx context.Context, b xlabridge.Backend) (run.Run, error) {
		if i.early {
			i.interrupt()
		}
		r, err := start(ctx, b)
		return interruptedRun{r, i.interrupt}, err
	}
	return job
}

type interruptedRun struct {
	run.Run
	interrupt func()
}

func (i interruptedRun) Step(ctx context.Context) (run.Metrics, error) {
	i.interrupt()
	return i.Run.Step(ctx)
}

// closing is a backend that says when it is closed.
type closing struct {
	*xlabridge.Reference
	closed chan struct{}
}

// A host says what it waits for, and what it has joined, before it has computed anything.
func TestAHostSaysThatItWaits(t *testing.T) {
	t.Parallel()
	c := smallRun(nil)
	c.Join, c.Hosts = messageServer(t, "")+"/wait", 2
	ctx, interrupt := context.WithCancel(t.Context())
	line := make(chan string, 1)
	c.caller = &run.Job{Notice: func(text string) { line <- text; interrupt() }}
	r, err := New(t.Context(), &xlabridge.Reference{}, c)
	require.NoError(t, err)
	_, err = r.Step(ctx)
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, "waiting for hosts: 1 of 2, for 10m0s at most (--wait)", <-line)
	require.NotContains(t, r.Ending(run.Metrics{}), "chunk", "it computed none")
	require.NoError(t, r.Close())

	c.Hosts, c.caller = 0, &run.Job{Phase: func(text string) { line <- text }}
	r, err = New(t.Context(), &xlabridge.Reference{}, c)
	require.NoError(t, err)
	m, err := r.Step(t.Context())
	require.NoError(t, err)
	require.Regexp(t, "^joined "+c.Join+" as host .+: generation 0, 1 host$", <-line)
	require.Regexp(t, `; this host computed \d+ chunks?$`, r.Ending(m), "it named the 0 that others computed too")
	require.NoError(t, r.Close())
}

func (c closing) Close() error { close(c.closed); return c.Reference.Close() }

// A host that joins others, or waits for them, is interrupted: it leaves the call, and everything is closed.
func TestAHostThatWaitsIsInterrupted(t *testing.T) {
	t.Parallel()
	c := smallRun(nil)
	c.Join, c.Hosts = messageServer(t, "")+"/alone", 2
	kind, _ := run.Lookup("evolve")
	for _, early := range []bool{true, false} {
		ctx, interrupt := context.WithCancel(t.Context())
		b := closing{&xlabridge.Reference{}, make(chan struct{})}
		_, err := session.Run(ctx, session.Options{Kind: kind, Experiment: interrupted{&c, interrupt, early},
			Grace: func() time.Duration { return time.Hour },
			Open:  func(context.Context, run.Progress) (xlabridge.Backend, error) { return b, nil }})
		require.ErrorAs(t, err, new(session.InterruptedError))
		require.EqualError(t, err, "interrupted before the first generation was done; nothing was written")
		<-b.closed
	}
}

// The metrics of several hosts are the bytes of one host's, whatever the search, the number of hosts and the
// number of their devices. The short form compiles the run that has all at once, and interprets the others.
func TestHostsAreOneRun(t *testing.T) {
	t.Parallel()
	server := messageServer(t, "")
	for _, x := range []struct {
		name     string
		compiled bool
		change   func(c *Config)
	}{
		{name: "openes", change: func(*Config) {}},
		{name: "eggroll", compiled: true, change: func(c *Config) {
			small := *c
			*c = broad() // its program is that of TestDeterminismMatrix
			c.Generations, c.Target, c.EvalEpisodes = small.Generations, small.Target, small.EvalEpisodes
			c.Tune = "off" // the others measure
		}},
		{name: "population", change: func(c *Config) { c.Strategy, c.Episodes = "simplega", 2 }},
		{name: "restarts", change: func(c *Config) {
			c.Strategy, c.Restarts, c.Population, c.MaxPopulation, c.Generations = "sepcmaes", "ipop", 16, 32, 30
			c.Steps = 1 // every member has the same return: a search has converged after its window
			c.Policy = "linear"
		}},
		{name: "validation", change: func(c *Config) { // on each host; a pole of one kind never passes
			c.Target, c.ValidationTarget, c.ValidationEpisodes, c.ValidationSteps = "2", 400, 3, 400
		}},
	} {
		t.Run(x.name, func(t *testing.T) {
			one, each, devices := 0, 0, [2]int{1, 1}
			if x.compiled || long.On() {
				one, each, devices = 1, 8, [2]int{8, 8} // as in TestDeterminismMatrix
			}
			if long.On() {
				each, devices = 2, [2]int{1, 2}
			}
			want, err := metricsOf(t, smallRun(x.change), one, nil)
			require.NoError(t, err)
			require.NotEmpty(t, want)
			c := smallRun(x.change)
			c.Join, c.Hosts = server+"/"+x.name, 2
			got, errs := [2]string{}, [2]error{}
			var both sync.WaitGroup
			for i := range 2 {
				own := c
				own.Devices = devices[i]
				both.Go(func() { got[i], errs[i] = metricsOf(t, own, each, nil) })
			}
			both.Wait()
			for i := range 2 {
				assert.NoError(t, errs[i])
				assert.Equal(t, want, got[i])
			}
		})
	}
}

// A host that joins late has the metrics of all generations.
func TestAHostJoinsLate(t *testing.T) {
	t.Parallel()
	c := smallRun(func(c *Config) { c.Generations = 12 })
	want, err := metricsOf(t, c, 0, nil)
	require.NoError(t, err)
	c.Join, c.Devices = messageServer(t, "")+"/late", 1
	late, arrived := make(chan struct{}), make(chan struct{})
	var both sync.WaitGroup
	var got [2]string
	var errs [2]error
	both.Go(func() {
		got[0], errs[0] = metricsOf(t, c, 0, func(step int64) {
			switch {
			case step == 7: // more generations than a host keeps rows of
				close(late)
			case step > 7: // until the other one has the state, which this one sends in its next generation
				select {
				case <-arrived:
				case <-time.After(100 * time.Millisecond):
				}
			}
		})
	})
	<-late
	both.Go(func() {
		arrive := sync.OnceFunc(func() { close(arrived) })
		got[1], errs[1] = metricsOf(t, c, 0, func(int64) { arrive() })
	})
	both.Wait()
	for i := range 2 {
		require.NoError(t, errs[i])
		require.Equal(t, want, got[i])
	}
}

// A host whose server is away for too long saves its state and ends, and goes on where a server is: it went on alone
// for ever. With 0s it waits for --wait, and says so: the error named --alone-for.
func TestAHostWithoutItsServerStops(t *testing.T) {
	t.Parallel()
	kind, _ := run.Lookup("evolve")
	c := smallRun(func(c *Config) { c.Generations = 12 })
	want, err := metricsOf(t, c, 0, nil)
	require.NoError(t, err)
	for alone, wait := range map[string]string{"1ns": "1m", "0s": "1ms"} {
		server, address := runServer(t, &natsserver.Options{})
		c.Join, c.AloneFor, c.Wait = address+"/alone", alone, wait
		dir := filepath.Join(t.TempDir(), "run")
		folder, err := runfolder.Create(dir, runfolder.Options{Keep: 1})
		require.NoError(t, err)
		o := session.Options{Kind: kind, Folder: folder, Experiment: slowed{&c, func(step int64) {
			if step == 3 {
				server.Shutdown()
			}
			if step >= 3 { // the client sees it
				time.Sleep(50 * time.Millisecond)
			}
		}}, Open: func(context.Context, run.Progress) (xlabridge.Backend, error) { return &xlabridge.Reference{}, nil },
			Config: func(settings.Values, bool) (string, error) { return "", nil }}
		outcome, err := session.Run(t.Context(), o)
		require.ErrorContains(t, err, "the server has not answered for ")
		require.ErrorContains(t, err, "at "+address+": "+map[string]string{"1ns": "--alone-for says how long a host " +
			"goes on without its server", "0s": "with --alone-for 0s it waits for --wait, which is 1ms"}[alone]+
			"; the state of generation ")
		require.ErrorContains(t, err, ": go on by --resume "+dir)
		away, ok := errors.AsType[*hosts.AwayError](err)
		require.True(t, ok)
		require.Equal(t, messaging.CodeNoServer, away.ErrorCode())
		require.NotNil(t, outcome)

		o.Folder, err = runfolder.Open(dir, runfolder.Options{Keep: 1})
		require.NoError(t, err)
		newest, _, err := o.Folder.Newest()
		require.NoError(t, err)
		rows, err := os.ReadFile(filepath.Join(dir, "metrics.jsonl"))
		require.NoError(t, err)
		require.Equal(t, int64(strings.Count(string(rows), "\n")), newest.Step, "the state is the last one")
		require.Less(t, newest.Step, int64(12))
		server, address = runServer(t, &natsserver.Options{})
		c.Join, o.Resume = address+"/alone", &newest
		again := o
		again.Experiment = interrupted{&c, func() { server.Shutdown(); time.Sleep(50 * time.Millisecond) }, false}
		_, err = session.Run(t.Context(), again)
		require.ErrorContains(t, err, fmt.Sprintf("; the run in %s goes on from generation %d: go on by --resume %s",
			dir, newest.Step, dir))
		o.Folder, err = runfolder.Open(dir, runfolder.Options{Keep: 1})
		require.NoError(t, err)
		c.Join = messageServer(t, "") + "/alone"
		_, err = session.Run(t.Context(), o)
		require.NoError(t, err)
		rows, err = os.ReadFile(filepath.Join(dir, "metrics.jsonl"))
		require.NoError(t, err)
		require.Equal(t, want, string(rows))

		o.Folder, o.Resume = nil, nil
		server, address = runServer(t, &natsserver.Options{})
		c.Join = address + "/alone"
		_, err = session.Run(t.Context(), o)
		require.ErrorContains(t, err, "the server has not answered for ")
		require.NotContains(t, err.Error(), "state", "it has no folder")
	}
}

// Hosts that were stopped at different generations go on together, and each has all rows: the one behind lacked those
// between.
func TestHostsThatGoOnHaveAllRows(t *testing.T) {
	t.Parallel()
	kind, _ := run.Lookup("evolve")
	c := smallRun(func(c *Config) { c.Generations = 24 })
	want, err := metricsOf(t, c, 0, nil)
	require.NoError(t, err)
	server := messageServer(t, "")
	options := func(e run.Experiment) session.Options {
		return session.Options{Kind: kind, Experiment: e,
			Config: func(settings.Values, bool) (string, error) { return "", nil },
			Open: func(context.Context, run.Progress) (xlabridge.Backend, error) {
				return &xlabridge.Reference{}, nil
			}}
	}
	dirs := [2]string{filepath.Join(t.TempDir(), "ahead"), filepath.Join(t.TempDir(), "behind")}
	for i, rounds := range []int64{17, 3} {
		c.Join = fmt.Sprintf("%s/apart%d", server, i)
		o := options(&c)
		o.Ends.Rounds = rounds
		o.Folder, err = runfolder.Create(dirs[i], runfolder.Options{Keep: 1})
		require.NoError(t, err)
		_, err = session.Run(t.Context(), o)
		require.NoError(t, err)
	}
	c.Join = server + "/together"
	arrived := make(chan struct{})
	arrive := sync.OnceFunc(func() { close(arrived) })
	var both sync.WaitGroup
	var errs [2]error
	for i := range 2 {
		wait := func(int64) { arrive() }
		if i == 0 {
			wait = func(int64) { // until the other one has the state
				select {
				case <-arrived:
				case <-time.After(100 * time.Millisecond):
				}
			}
		}
		own := c
		o := options(slowed{&own, wait})
		o.Folder, err = runfolder.Open(dirs[i], runfolder.Options{Keep: 1})
		require.NoError(t, err)
		newest, _, err := o.Folder.Newest()
		require.NoError(t, err)
		o.Resume = &newest
		both.Go(func() { _, errs[i] = session.Run(t.Context(), o) })
	}
	both.Wait()
	for i, dir := range dirs {
		require.NoError(t, errs[i])
		rows, err := os.ReadFile(filepath.Join(dir, "metrics.jsonl"))
		require.NoError(t, err)
		require.Equal(t, want, string(rows), dir)
	}
}

// The history of a host that was resumed has the rows that its folder keeps: 4096, 4104, 4112 of a long run. The host
// that gets it counts the generations between, on which it depends what its own folder keeps: it counted rows.
func TestHistoryWithGaps(t *testing.T) {
	c := smallRun(nil)
	r, err := c.Start(t.Context(), &xlabridge.Reference{})
	require.NoError(t, err)
	defer func() { require.NoError(t, r.Close()) }()
	state, err := r.Snapshot(t.Context())
	require.NoError(t, err)
	var arrays, data bytes.Buffer
	require.NoError(t, safetensors.Write(&arrays, state.Arrays, nil))
	require.NoError(t, gob.NewEncoder(&data).Encode(checkpoint{arrays.Bytes(),
		[]roundMetrics{{Step: 4096}, {Step: 4104}, {Step: 4112}, {Step: 4113}}}))
	h := &hosted{run: r.(*Evolution)}
	rounds, err := h.restore(t.Context(), &hosts.Checkpoint{Generation: 4113, Data: data.Bytes()})
	require.NoError(t, err)
	var skipped []int64
	for _, m := range rounds {
		skipped = append(skipped, m.Skipped)
	}
	require.Equal(t, []int64{4095, 7, 7, 0}, skipped)
}

// A host with other settings, or without the server's token, is refused in one sentence.
func TestHostsThatAreRefused(t *testing.T) {
	const token = "a-token-of-16-or-more"
	server := messageServer(t, token)
	t.Setenv("XLARUN_TOKEN", token)
	c := smallRun(nil)
	c.Join, c.Hosts, c.Devices = server+"/refused", 2, 1
	c.caller = &run.Job{Version: "0.1.0"}
	first, err := c.Start(t.Context(), &xlabridge.Reference{})
	require.NoError(t, err)
	defer func() { require.NoError(t, first.Close()) }()
	for want, change := range map[string]func(c *Config){
		"computes another run: seed is 0 there, 3 here":             func(c *Config) { c.Seed = 3 },
		"computes another run: strategy is openes there, snes here": func(c *Config) { c.Strategy = "snes" },
		"strategy.sigma is":          func(c *Config) { *c = c.With("strategy.sigma", .3) },
		"want nats://HOST:PORT/NAME": func(c *Config) { c.Join = "http://here/x" },
		"a name after the server":    func(c *Config) { c.Join = server + "/a.b" },
		"alone-for: got \"never\"":   func(c *Config) { c.AloneFor = "never" },
		"wait: got \"long\"":         func(c *Config) { c.Wait = "long" },
		"without a password":         func(c *Config) { c.Join = "nats://me:secret@here:1/x" },
		"no --join with it": func(c *Config) {
			c.Island, c.MigrationDir = "a", t.TempDir()
		},
		"no --hosts and --chunks": func(c *Config) { c.Island = "a" },
	} {
		other := c
		change(&other)
		r, err := other.Start(t.Context(), &xlabridge.Reference{})
		if r != nil && err == nil {
			_ = r.Close()
		}
		require.ErrorContains(t, err, want)
	}
	c.caller = &run.Job{Version: "0.2.0"}
	_, err = c.Start(t.Context(), &xlabridge.Reference{})
	require.ErrorContains(t, err, "is another version (0.1.0 there, 0.2.0 here): install the same version")
	t.Setenv("XLARUN_TOKEN", "")
	_, err = c.Start(t.Context(), &xlabridge.Reference{})
	require.EqualError(t, err, "the server at "+server+" wants a token: give it by --token-file or the variable "+
		"XLARUN_TOKEN")
	c.TokenFile = filepath.Join(t.TempDir(), "token2")
	require.NoError(t, os.WriteFile(c.TokenFile, []byte("another-token-of-16-or-more\n"), 0o600))
	_, err = c.Start(t.Context(), &xlabridge.Reference{})
	require.EqualError(t, err, "the server at "+server+" refuses the token of --token-file "+c.TokenFile+
		": give the one that the server was started with", "it cannot be reached")
	c.TokenFile = ""
	c.Join, c.Wait = "nats://127.0.0.1:1/x", "0s"
	_, err = c.Start(t.Context(), &xlabridge.Reference{})
	require.ErrorContains(t, err, "nats://127.0.0.1:1 cannot be reached")
	unreached, ok := errors.AsType[*messaging.ConnectError](err)
	require.True(t, ok)
	require.Equal(t, messaging.CodeNoServer, unreached.ErrorCode(), "it was failed")
}

// The error of a chunk with two results names the member.
func TestTheMemberThatDiffers(t *testing.T) {
	t.Parallel()
	c := smallRun(nil)
	c.Join, c.Devices = messageServer(t, "")+"/differs", 1
	r, err := c.Start(t.Context(), &xlabridge.Reference{})
	require.NoError(t, err)
	defer func() { require.NoError(t, r.Close()) }()
	e := r.(*Evolution)
	rows, err := e.chunk.compute([]int{2}, 1)
	require.NoError(t, err)
	seen := map[int]int{}
	for offset := 0; offset < len(rows[0]); offset += 4 {
		seen[e.chunk.member(2, offset, e.search)]++
	}
	// Tile 2 has groups 8 to 11: members 8 to 11 and their twins.
	want := map[int]int{}
	for _, m := range []int{8, 9, 10, 11, 40, 41, 42, 43} {
		want[m] = len(rows[0]) / 4 / 8
	}
	require.Equal(t, want, seen, fmt.Sprint(len(rows[0])))
}

// Notices name hosts that join and leave, if they are few.
func TestChangesOfHosts(t *testing.T) {
	for _, c := range []struct{ before, now, want string }{
		{"", "a", ""},
		{"a", "a", ""},
		{"b", "a b", "host a has joined; hosts now: 2"},
		{"a c", "a b d", "hosts b, d have joined; hosts now: 3 | host c has left; hosts now: 3"},
		{"a", "a b c d e", "4 hosts have joined; hosts now: 5"},
	} {
		before := strings.Fields(c.before)
		if c.before == "" {
			before = nil
		}
		require.Equal(t, c.want, strings.Join(changes(before, strings.Fields(c.now)), " | "))
	}
}

// Hosts that share the server's outage have not left, however long it was; those that are gone after it have.
func TestNoticesOfAnOutage(t *testing.T) {
	const server = "nats://here"
	now := time.Time{}.Add(time.Hour)
	var a attendance
	for i, c := range []struct {
		seen  string
		alone bool
		early bool // Presence.Settled is false
		want  string
	}{
		{seen: "a b c"},
		{seen: "a", alone: true, early: true, want: "the server nats://here does not answer: this host goes on " +
			"alone, and shares the population again when it is back"},
		{seen: "a", alone: true, early: true},
		{seen: "a", early: true, want: "the server nats://here is back after 20s: this host shares the population " +
			"again"},
		{seen: "a b", early: true},
		{seen: "a b", want: "host c has left; hosts now: 2"},
		{seen: "a b c", want: "host c has joined; hosts now: 3"},
		{seen: "a", early: true}, // an outage between two generations
		{seen: "a b c"},
	} {
		now = now.Add(10 * time.Second)
		p := hosts.Presence{Hosts: strings.Fields(c.seen), Connected: !c.alone, Settled: !c.early}
		alone := hosted{alone: math.MaxInt64}
		require.Equal(t, c.want, strings.Join(a.update(p, server, alone.away(), now), " | "), i)
	}
	waits := hosted{server: messaging.Server{Wait: time.Minute}} // it said that it goes on alone
	require.Equal(t, "this host waits for it before the next generation, for 1m0s at most (--wait)", waits.away())
	limited := hosted{alone: 10 * time.Minute}
	require.Equal(t, "this host goes on alone for 10m0s at most (--alone-for), and shares the population again when "+
		"it is back", limited.away())
}

// A host says once that the server has gone, and once that it is back. The number of hosts that are
// alive has a name of its own. The display has the mean share of the newest generations.
func TestTheServerGoes(t *testing.T) {
	t.Parallel()
	o := &natsserver.Options{Host: "127.0.0.1", Port: -1, NoLog: true, NoSigs: true}
	serve := func() *natsserver.Server {
		s, err := natsserver.NewServer(o)
		require.NoError(t, err)
		s.Start()
		require.True(t, s.ReadyForConnections(10*time.Second))
		return s
	}
	s := serve()
	c := smallRun(func(c *Config) { c.Generations = 1000 })
	c.Join, c.Devices = s.ClientURL()+"/goes", 1
	o.Port = s.Addr().(*net.TCPAddr).Port // it comes back at the same address
	r, err := c.Start(t.Context(), &xlabridge.Reference{})
	require.NoError(t, err)
	defer func() { require.NoError(t, r.Close()) }()
	h := featureOf[*hosted](r.(*Evolution))
	var notices []string
	generations := func(n int) (m run.Metrics) {
		for range n {
			m, err = r.Step(t.Context())
			require.NoError(t, err)
			notices = append(notices, m.Notices...)
		}
		return m
	}
	generations(2)
	require.Empty(t, notices)
	s.Shutdown()
	require.Eventually(t, func() bool { return !h.process.Presence().Connected }, time.Minute, 10*time.Millisecond)
	generations(2)
	require.Len(t, notices, 1)
	require.Contains(t, notices[0], "does not answer: this host goes on alone")
	s = serve()
	defer s.Shutdown()
	require.Eventually(t, func() bool { return h.process.Presence().Connected }, time.Minute, 10*time.Millisecond)
	m := generations(2)
	require.Len(t, notices, 2)
	require.Regexp(t, `is back after \d+s: this host shares`, notices[1])
	timings := map[string]float64{}
	for _, v := range m.Timings {
		timings[v.Name] = v.Number
	}
	require.EqualValues(t, 1, timings["hosts_alive"])
	require.NotContains(t, timings, "hosts")
	require.InDelta(t, 1, timings["mean_share"], 1e-12)
	h.shares = []float64{0, .5}
	h.report(&m)
	require.InDelta(t, .5/3, m.Timings[len(m.Timings)-4].Number, 1e-12, "no chunk since")

	s.Shutdown()
	require.Eventually(t, func() bool { return !h.process.Presence().Connected }, time.Minute, 10*time.Millisecond)
	h.alone = 0
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	m, err = r.Step(ctx)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.Positive(t, m.Waited, "it counted as time for members and files")
}

// Islands of two processes exchange members by a message server. There each one leaves a note that it has begun, and at
// its end that it is done: a server that ends by itself took islands for nobody.
func TestIslandsByAMessageServer(t *testing.T) {
	t.Parallel()
	server := keepingServer(t)
	var a run.Run
	var both sync.WaitGroup
	var reached atomic.Int32 // by members of the other island
	for _, island := range []string{"a", "b"} {
		c := smallRun(func(c *Config) {
			c.Strategy, c.Devices, c.Generations = "simplega", 1, 150
			c.Island, c.Join, c.MigrateEvery, c.Migrants = island, server+"/try", 2, 2
		})
		c.Population = 16
		var err error
		r, err := c.Start(t.Context(), &xlabridge.Reference{})
		require.NoError(t, err)
		defer func() { require.NoError(t, r.Close()) }()
		if island == "a" {
			a = r
		}
		both.Go(func() {
			counted := false
			for range c.Generations - 1 { // an island that is ready goes on for the other one
				m, err := r.Step(t.Context())
				if !assert.NoError(t, err) {
					return
				}
				if n, _ := m.Get("arrived"); n > 0 && !counted {
					counted = true
					reached.Add(1)
				}
				if reached.Load() == 2 {
					return
				}
				time.Sleep(20 * time.Millisecond)
			}
			assert.Fail(t, "nobody arrives", island)
		})
	}
	both.Wait()
	conn, err := nats.Connect(server)
	require.NoError(t, err)
	defer conn.Close()
	js, err := conn.JetStream()
	require.NoError(t, err)
	notes, err := messaging.Bucket(js, nats.KeyValueConfig{Bucket: messaging.Runs})
	require.NoError(t, err)
	wrote := func(key string, done bool) {
		require.Eventually(t, func() bool {
			var n hosts.Note
			entry, err := notes.Get("try.islands." + key)
			return err == nil && json.Unmarshal(entry.Value(), &n) == nil && n.Done == done
		}, time.Minute, 20*time.Millisecond)
	}
	wrote("i61", false) // a
	wrote("i62", false)
	for m := (run.Metrics{}); m.Step < 150; {
		m, err = a.Step(t.Context())
		require.NoError(t, err)
	}
	wrote("i61", true)
	wrote("i62", false)
}

// TestDefaultsAreTheSameRun: a host that was resumed has all settings in its config, and one that joins
// with the same flags has defaults. They refused each other.
func TestDefaultsAreTheSameRun(t *testing.T) {
	c := DefaultConfig()
	given := DefaultConfig()
	given.Parted = settings.Values{"policy.activation": "tanh", "strategy.sigma": .1}
	require.Equal(t, c.identity(), given.identity())
	given.Parted = settings.Values{"strategy.sigma": .2}
	require.NotEqual(t, c.identity(), given.identity())
}

// A host that comes after the others are done ends with a sentence, also one that would wait for others: it computed
// all of it again. One with another goal does not.
func TestHostsThatAreDone(t *testing.T) {
	server := keepingServer(t)
	c := smallRun(nil)
	c.Join = server + "/done"
	want, err := metricsOf(t, c, 0, nil)
	require.NoError(t, err)
	require.NotEmpty(t, want)
	for c.Hosts = range 3 {
		_, err = metricsOf(t, c, 0, nil)
		over, ok := errors.AsType[*hosts.OverError](err)
		require.True(t, ok, err)
		require.Equal(t, "over", over.ErrorCode())
		require.ErrorContains(t, err, "the other hosts were done ")
		require.ErrorContains(t, err, "after generation 6, and no more hosts join: give another name after the server")
	}
	c.Wait = "1ms"
	own := smallRun(nil) // a run that is resumed goes on, alone after --wait
	r, err := own.Start(t.Context(), &xlabridge.Reference{})
	require.NoError(t, err)
	_, err = r.Step(t.Context())
	require.NoError(t, err)
	state, err := r.Snapshot(t.Context())
	require.NoError(t, errors.Join(err, r.Close()))
	r, err = c.Start(t.Context(), &xlabridge.Reference{})
	require.NoError(t, err)
	require.NoError(t, r.Restore(t.Context(), state))
	m, err := r.Step(t.Context())
	require.NoError(t, errors.Join(err, r.Close()))
	require.EqualValues(t, 2, m.Step)
	c.Hosts, c.Generations, c.Wait = 2, 7, "1m" // both wait until the other one is there
	var both sync.WaitGroup
	errs := [2]error{}
	for i := range 2 {
		both.Go(func() { _, errs[i] = metricsOf(t, c, 0, nil) })
	}
	both.Wait()
	require.NoError(t, errors.Join(errs[:]...))
}

// A host keeps the metrics of the newest rounds only.
func TestKeptRounds(t *testing.T) {
	var rounds []roundMetrics
	for i := range 25 {
		rounds = kept(append(rounds, roundMetrics{Step: int64(i)}), 4)
		require.Less(t, len(rounds), 8)
		require.GreaterOrEqual(t, len(rounds), min(i+1, 4))
		require.Equal(t, int64(i), rounds[len(rounds)-1].Step)
	}
}

// A host that waits for its server ends once the address file says that the run is over, with its state saved: it
// waited, and failed.
func TestAHostMissesTheEnd(t *testing.T) {
	t.Parallel()
	server, address := runServer(t, &natsserver.Options{})
	file := filepath.Join(t.TempDir(), "server")
	require.NoError(t, os.WriteFile(file, []byte(address), 0o600))
	c := smallRun(func(c *Config) { c.Join, c.AloneFor, c.Wait = "@"+file, "0s", "1h" })
	kind, _ := run.Lookup("evolve")
	dir := filepath.Join(t.TempDir(), "run")
	folder, err := runfolder.Create(dir, runfolder.Options{Keep: 1})
	require.NoError(t, err)
	_, err = session.Run(t.Context(), session.Options{Kind: kind, Folder: folder,
		Experiment: slowed{&c, func(step int64) {
			if step == 3 {
				require.NoError(t, os.WriteFile(file, []byte(messaging.Over), 0o600))
				server.Shutdown()
			}
			if step >= 3 { // the client sees it
				time.Sleep(50 * time.Millisecond)
			}
		}}, Open: func(context.Context, run.Progress) (xlabridge.Backend, error) { return &xlabridge.Reference{}, nil },
		Config: func(settings.Values, bool) (string, error) { return "", nil }})
	over, ok := errors.AsType[*hosts.OverError](err)
	require.True(t, ok, "%v", err)
	require.Equal(t, messaging.CodeOver, over.ErrorCode())
	folder, err = runfolder.Open(dir, runfolder.Options{Keep: 1})
	require.NoError(t, err)
	newest, _, err := folder.Newest()
	require.NoError(t, err)
	require.GreaterOrEqual(t, newest.Step, int64(3))
}
