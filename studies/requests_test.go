package studies

import (
	"context"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"xlarun/internal/messaging"
	"xlarun/rollout/run"
	"xlarun/studies/internal/decision"
	"xlarun/studies/study"
	"xlarun/xlabridge"
)

// testServer is a server with one open trial. Its clock stands still.
type testServer struct {
	*server
	t     *testing.T
	c     *Coordinator
	bus   *bus
	trial *study.FrozenTrial
	clock time.Time
	last  decision.Decision
}

func newTestServer(t *testing.T, more string) *testServer {
	t.Helper()
	_, s := written(t, more)
	x := &testServer{t: t, c: coordinator(s), clock: time.Now()}
	x.c.Version = "2"
	require.NoError(t, x.c.Open())
	var err error
	x.bus, err = openBus(Listen{}, "")
	require.NoError(t, err)
	t.Cleanup(func() {
		x.bus.close()
		require.NoError(t, x.c.Close())
	})
	_, err = x.c.study.AskSpace(s.Space, 0)
	require.NoError(t, err)
	x.begin(true)
	return x
}

// begin starts a server, in the place of the one before, if there is one.
func (x *testServer) begin(orphans bool) {
	x.t.Helper()
	if x.server != nil {
		x.places[0].Close()
	}
	trials, err := x.c.study.Trials()
	require.NoError(x.t, err)
	x.trial = trials[0]
	x.server, err = newServer(x.t.Context(), x.c, x.bus)
	require.NoError(x.t, err)
	x.now, x.began, x.observe = func() time.Time { return x.clock }, x.clock, func(d decision.Decision) { x.last = d }
	require.NoError(x.t, x.update(trials, orphans))
}

// pass lets time pass, in which the server looks after its leases.
func (x *testServer) pass(d time.Duration) {
	x.t.Helper()
	for end := x.clock.Add(d); x.clock.Before(end); {
		x.mu.Lock()
		x.clock = x.clock.Add(min(time.Second, end.Sub(x.clock)))
		x.mu.Unlock()
		require.NoError(x.t, x.recordDeaths())
	}
}

// asks has a worker ask about the trial.
func (x *testServer) asks(answer func(request) (reply, error), q request) reply {
	x.t.Helper()
	q.Trial = x.trial.ID
	r, err := answer(q)
	require.NoError(x.t, err)
	return r
}

// worker returns a worker that asks the server.
func (x *testServer) worker(id string) *worker {
	conn, err := x.bus.connect("")
	require.NoError(x.t, err)
	x.t.Cleanup(conn.Close)
	return &worker{conn: conn, id: id, version: "2", start: time.Now(), wait: time.Minute,
		dial: messaging.NewDialer(time.Second, time.Second), reconnection: make(chan struct{}),
		free: make(chan struct{}, 1), end: func(error) {}, runs: bowls{}}
}

// Who has a trial, and what a worker that has lost it may still do.
func TestWhoHasATrial(t *testing.T) {
	t.Parallel()
	x := newTestServer(t, "lease = \"15s\"\n")
	a, b := request{Worker: "a"}, request{Worker: "b"}
	require.Equal(t, x.trial.ID, x.asks(x.next, a).Job.ID)
	require.Equal(t, decision.Decision{Kind: nextKind, Trial: x.trial.ID, Worker: "a", Granted: true,
		Instant: x.clock}, x.last)
	require.NotNil(t, x.asks(x.next, a).Job, "an answer that was lost is given again")
	require.Positive(t, x.asks(x.next, b).Busy)
	file := withDigest([]byte("one"))
	kept := request{Worker: "a", File: trialFile(x.trial.ID), Part: part{Of: 1, Digest: file[:8], Data: file}}
	require.Equal(t, reply{}, x.asks(x.keep, kept))
	x.pass(14 * time.Second)
	require.Positive(t, x.asks(x.next, b).Busy)
	x.pass(time.Second) // a is stopped
	got := x.asks(x.next, b)
	require.True(t, got.Job.Stored, "b goes on from a's checkpoint")
	x.c.server.Store(x.server)
	now := x.c.Status()
	require.Equal(t, []any{true, 2, 1}, []any{now.Ready, now.Working, now.Deaths})
	require.Equal(t, file, x.asks(x.fetch, request{Worker: "b", File: trialFile(x.trial.ID)}).Part.Data)

	for i, answer := range []func(request) (reply, error){x.beat, x.report, x.keep} {
		require.Equal(t, reply{Lost: true}, x.asks(answer, kept), i)
		require.False(t, x.last.Granted, i)
	}
	slow := request{Worker: "a", Limited: true, Result: study.Result{State: study.Fail, Reason: "it took long"}}
	require.True(t, x.asks(x.result, slow).Lost, "of another machine than b's")
	require.False(t, x.last.Granted)
	x.asks(x.release, a)
	require.False(t, x.asks(x.beat, b).Lost, "a had nothing to give back")

	a.Result = study.Result{State: study.Complete, Values: []float64{1}}
	require.Equal(t, reply{}, x.asks(x.result, a), "b would compute the same")
	require.True(t, x.asks(x.beat, b).Lost)
	b.Result = a.Result
	require.Equal(t, reply{}, x.asks(x.result, b), "late, and equal to the bit")
	b.Result.Values = []float64{2}
	require.Contains(t, x.asks(x.result, b).Note, "came to two results")
	require.Positive(t, x.asks(x.next, b).Busy)
	x.end()
	require.True(t, x.asks(x.next, b).Over)
}

// What a report costs does not grow with those before it.
func TestManyReports(t *testing.T) {
	for _, pruner := range []string{"none", "median"} {
		x := newTestServer(t, "lease = \"15s\"\npruner = \""+pruner+"\"\n")
		x.asks(x.next, request{Worker: "a"})
		step := int64(0)
		report := func() { step++; x.asks(x.report, request{Worker: "a", Step: step, Value: float64(step), Last: 1e9}) }
		for range 2000 {
			report()
		}
		require.Less(t, testing.AllocsPerRun(20, report), 2000., "it reads earlier ones again")
	}
}

// A server that is to end waits for a worker that gives its trial back, and gives it to nobody. The next coordinator
// does: it kept the trial back for a lease.
func TestAServerLeaves(t *testing.T) {
	t.Parallel()
	x := newTestServer(t, "lease = \"15s\"\n")
	a, b := request{Worker: "a"}, request{Worker: "b"}
	x.asks(x.next, a)
	require.NoError(t, x.c.db.Beat(x.running()...))
	x.giveNone()
	left := make(chan struct{})
	go func() {
		x.leave(time.Minute)
		close(left)
	}()
	require.Positive(t, x.asks(x.next, b).Busy)
	select {
	case <-left:
		require.FailNow(t, "a has a trial")
	default:
	}
	x.asks(x.release, a)
	<-left
	require.Positive(t, x.asks(x.next, b).Busy)
	x.begin(true)
	require.NotNil(t, x.asks(x.next, b).Job)
}

// A coordinator that comes after another one keeps trials with a recent heartbeat back for a lease. The worker that
// runs one has it with its next beat. Deaths are in the database.
func TestNextCoordinator(t *testing.T) {
	t.Parallel()
	x := newTestServer(t, "lease = \"15s\"\nattempts = 3\n")
	a, b := request{Worker: "a"}, request{Worker: "b"}
	x.asks(x.next, a)
	x.workerDied("a")
	require.NoError(t, x.recordDeaths())
	require.NotNil(t, x.asks(x.next, b).Job)
	require.NoError(t, x.c.db.Beat(x.running()...))

	x.begin(true)
	require.Positive(t, x.asks(x.next, a).Busy)
	require.False(t, x.asks(x.beat, b).Lost)
	require.Equal(t, []int64{x.trial.ID}, x.running())
	x.begin(true)
	x.pass(14 * time.Second)
	require.Positive(t, x.asks(x.next, request{Worker: "c"}).Busy)
	x.pass(time.Second)
	require.NotNil(t, x.asks(x.next, request{Worker: "c"}).Job)
	x.workerDied("c")
	require.NoError(t, x.recordDeaths())

	x.begin(false) // no worker can have lived
	require.NotNil(t, x.asks(x.next, request{Worker: "d"}).Job)
	x.workerDied("d")
	x.pass(time.Second)
	trials, err := x.c.study.Trials()
	require.NoError(t, err)
	require.Equal(t, "3 workers died while running it: see the logs", Reason(trials[0]))
}

// A worker process that finds its slot taken, as after the coordinator has started again, ends at once. The worker that
// holds the slot has lost its trial with that, and got no other one. It has not died while its lock is held, nor where
// the lock cannot be read.
func TestWorkersOfASlot(t *testing.T) {
	t.Parallel()
	x := newTestServer(t, "workers = 1\n")
	x.c.pool = x.c.newPool()
	x.c.server.Store(x.server)
	slot, a := x.c.workdir.slot(x.c.Spec.Name, 0), request{Worker: "a"}
	lock, ok, err := tryLock(slot)
	require.NoError(t, err)
	require.True(t, ok)
	require.NoError(t, os.WriteFile(slot+".id", []byte("a"), 0o600))
	require.NotNil(t, x.asks(x.next, a).Job)
	x.c.pool.Died(0, nil)
	require.False(t, x.asks(x.beat, a).Lost)
	require.NotNil(t, x.asks(x.next, a).Job)

	require.NoError(t, lock.Unlock())
	require.NoError(t, os.Remove(slot))
	require.NoError(t, os.Mkdir(slot, 0o700))
	require.Empty(t, x.c.deadWorkers())
	require.NoError(t, os.Remove(slot))
	require.Equal(t, []string{"a"}, x.c.deadWorkers())
	x.c.pool.Died(0, nil)
	require.NotNil(t, x.asks(x.next, request{Worker: "b"}).Job, "the trial is free at once")
}

// The coordinator's connection ends with its study. It tried to connect to a bus that had ended, for ever.
func TestConnectionOfACoordinatorEnds(t *testing.T) {
	t.Parallel()
	x := newTestServer(t, "")
	x.c.pool = x.c.newPool()
	e := &workerExecutor{c: x.c, bus: x.bus, server: x.server, check: time.NewTicker(time.Hour),
		beat: time.NewTicker(time.Hour)}
	require.NoError(t, e.close(t.Context(), nil))
	require.True(t, x.places[0].IsClosed())
}

// A server that could not answer requests, because its connection had ended, never did.
func TestServerAnswersAfterAnError(t *testing.T) {
	t.Parallel()
	x := newTestServer(t, "")
	var err error
	x.places[0].Close()
	x.server, err = newServer(t.Context(), x.c, x.bus)
	require.NoError(t, err)
	x.places[0].Close()
	require.ErrorIs(t, x.update(nil, false), nats.ErrConnectionClosed)
	x.places[0].Conn, err = x.bus.connect("")
	require.NoError(t, err)
	require.NoError(t, x.update(nil, false))
	ctx, cancel := context.WithTimeout(t.Context(), answerTimeout)
	defer cancel()
	for _, kind := range []string{nextKind, beatKind, reportKind, keepKind, fetchKind, releaseKind, resultKind} {
		_, err := x.places[0].RequestWithContext(ctx, subject(kind, ""), nil)
		require.NoError(t, err, kind)
	}
}

// A worker of another version or protocol is refused, and one that comes after the end learns that it was the end.
func TestWorkersThatDoNotWork(t *testing.T) {
	t.Parallel()
	x := newTestServer(t, "lease = \"8s\"\n")
	w := x.worker("a")
	w.version = "1"
	err := w.work(t.Context())
	require.ErrorIs(t, err, ErrRefused)
	require.EqualError(t, err, "the worker is refused: this worker is xlarun 1, the study is served by 2: install the "+
		"same on both")
	data, err := encoded(request{Worker: "a", Version: "2", Protocol: protocol + 1})
	require.NoError(t, err)
	m, err := w.conn.Request(subject(nextKind, ""), data, time.Minute)
	require.NoError(t, err)
	var r reply
	require.NoError(t, decoded(m.Data, &r))
	require.Equal(t, reply{Study: x.id, Refused: fmt.Sprintf("2 (protocol %d)", protocol)}, r)
	require.Empty(t, x.running())
	x.end()
	require.ErrorIs(t, x.worker("b").work(t.Context()), ErrOver)
}

// Processors of several kinds are said once. The first worker of each machine says what it has.
func TestProcessors(t *testing.T) {
	t.Parallel()
	x := newTestServer(t, "")
	notices := ""
	x.notice = func(format string, args ...any) { notices += fmt.Sprintf(format, args...) + "\n" }
	for _, processor := range []string{"one", "one", "", "two", "one", "three"} {
		x.asks(x.next, request{Worker: "on " + processor, Processor: processor})
	}
	require.Equal(t, 1, strings.Count(notices, "\n"))
	require.Contains(t, notices, "processors of several kinds, such as that of on two")
}

// A result whose answer was lost is sent again, perhaps late: it counted twice among those of its worker, which then
// seemed to have no trial.
func TestResultThatIsSentAgain(t *testing.T) {
	t.Parallel()
	x := newTestServer(t, "lease = \"8s\"\n")
	_, err := x.c.study.AskSpace(x.c.Spec.Space, 0)
	require.NoError(t, err)
	trials, err := x.c.study.Trials()
	require.NoError(t, err)
	require.NoError(t, x.update(trials, false))
	a := request{Worker: "a", Result: study.Result{State: study.Complete, Values: []float64{1}}}
	x.asks(x.next, a)
	x.asks(x.result, a)
	x.asks(x.result, a)
	require.Equal(t, trials[1].ID, x.asks(x.next, a).Job.ID)
	x.asks(x.result, a)
	workers := x.workerStatus()
	require.Len(t, workers, 1)
	require.Equal(t, 1, workers[0].Done)
	require.Equal(t, trials[1].Number, workers[0].Trial)
}

// Workers that were not heard for two leases do not count.
func TestWorkersThatAreHeard(t *testing.T) {
	t.Parallel()
	x := newTestServer(t, "lease = \"8s\"\n")
	x.asks(x.next, request{Worker: "a"})
	x.asks(x.next, request{Worker: "b"})
	require.Equal(t, 2, x.working())
	runs := map[string]int64{}
	for _, w := range x.workerStatus() {
		runs[w.ID] = w.Trial
	}
	require.Equal(t, map[string]int64{"a": 0, "b": -1}, runs)
	x.pass(16 * time.Second)
	require.Zero(t, x.working())
	x.asks(x.next, request{Worker: "b"})
	require.Equal(t, 1, x.working())
}

// A worker that is connected again asks again: the coordinator that it has asked may be gone.
func TestRequestsAfterAReconnection(t *testing.T) {
	t.Parallel()
	x := newTestServer(t, "")
	x.places[0].Close()
	w, asked := x.worker("a"), 0
	conn, err := x.bus.connect("")
	require.NoError(t, err)
	t.Cleanup(conn.Close)
	_, err = conn.Subscribe(subject(fetchKind, ""), func(m *nats.Msg) {
		if asked++; asked == 1 {
			w.reconnected()
			return
		}
		data, err := encoded(reply{Failed: "an answer"})
		require.NoError(t, err)
		require.NoError(t, m.Respond(data))
	})
	require.NoError(t, err)
	require.NoError(t, conn.Flush())
	ctx, cancel := context.WithTimeout(t.Context(), answerTimeout/2)
	defer cancel()
	_, err = (&attempt{worker: w}).fetch(ctx, "end-7")
	require.EqualError(t, err, "an answer")
	require.Equal(t, 2, asked)
}

// slowBowls are bowls of a worker that stands still before a trial's first round.
type slowBowls struct {
	bowls
	still func()
}

func (s slowBowls) Backend(ctx context.Context, e run.Experiment) (xlabridge.Backend, error) {
	s.still()
	return s.bowls.Backend(ctx, e)
}

// A worker stands still for longer than a lease, and another one gets its trial. The first one says so when its next
// report is refused.
func TestLostTrialIsTold(t *testing.T) {
	x := newTestServer(t, "lease = \"15s\"\n")
	w := x.worker("a")
	w.runs = slowBowls{still: func() {
		x.pass(15 * time.Second)
		require.NotNil(t, x.asks(x.next, request{Worker: "b"}).Job)
	}}
	r := x.asks(x.next, request{Worker: "a"})
	told := stderrOf(t, func() { require.NoError(t, w.runTrial(t.Context(), r)) })
	require.Equal(t, fmt.Sprintf("trial %d was given to another worker, since the study had not heard of this one for "+
		"as long as a lease: this worker takes the next trial\n", x.trial.ID), told)
}

// A worker whose trial was lost while the run was inside a long call ended with status 1, a failure. It waits for the
// end of the call and takes the next trial.
func TestLostTrialInACall(t *testing.T) {
	defer func(d time.Duration) { graceTime = d }(graceTime)
	graceTime = time.Millisecond
	x := newTestServer(t, "lease = \"200ms\"\n")
	w := x.worker("a")
	w.runs = slowBowls{still: sync.OnceFunc(func() { // of the first seed
		x.asks(x.release, request{Worker: "a"})
		require.NotNil(t, x.asks(x.next, request{Worker: "b"}).Job)
		var report decision.Decision
		for began := time.Now(); report.Kind != beatKind && time.Since(began) < 30*time.Second; {
			time.Sleep(10 * time.Millisecond) // far longer than the grace, in the end
			x.mu.Lock()
			report = x.last // that of b, until a reports
			x.mu.Unlock()
		}
		// FailNow is for the test's own goroutine.
		if report.Worker != "a" || report.Kind != beatKind || report.Granted {
			t.Error("a worker whose trial another one has is not told so when it reports")
		}
	})}
	r := x.asks(x.next, request{Worker: "a"})
	told := stderrOf(t, func() { require.NoError(t, w.runTrial(t.Context(), r)) })
	require.Contains(t, told, "this worker takes the next trial\n")
}

// Checkpoints come in parts, which may be doubled, late, damaged or of several senders. A file is the newest complete
// one.
func TestCheckpointFiles(t *testing.T) {
	c := checkpoints{filepath.Join(t.TempDir(), "made")}
	parts := func(data string) (all []part) {
		file := withDigest([]byte(data))
		for i := 0; i < len(file); i += partSize {
			all = append(all, part{Number: len(all), Of: (len(file) + partSize - 1) / partSize, Digest: file[:8],
				Data: file[i:min(i+partSize, len(file))]})
		}
		return all
	}
	fetched := func() string {
		var file []byte
		for number, of := 0, 1; number < of; number++ {
			p, err := c.fetch("7", number)
			require.NoError(t, err)
			file, of = append(file, p.Data...), p.Of
		}
		data, err := withoutDigest(file)
		require.NoError(t, err)
		return string(data)
	}
	none, err := c.fetch("7", 0)
	require.NoError(t, err)
	require.Zero(t, none.Of)
	one, two := parts(strings.Repeat("one ", partSize)), parts(strings.Repeat("two.", partSize))
	require.Len(t, one, 5)
	for i := range 4 { // both at a time, each part twice
		for _, p := range []part{one[i], two[i], one[i]} {
			require.NoError(t, c.keep("7", p))
		}
	}
	require.False(t, c.has("7"))
	require.NoError(t, c.keep("7", one[4]))
	require.Equal(t, strings.Repeat("one ", partSize), fetched())
	for _, late := range []part{one[4], one[0]} { // the last part was "damaged", and the other one left a file
		require.NoError(t, c.keep("7", late), "it comes once more")
	}
	require.NoFileExists(t, c.path("7")+"."+hex.EncodeToString(one[0].Digest))
	require.NoError(t, c.keep("7", two[4]))
	require.Equal(t, strings.Repeat("two.", partSize), fetched())
	require.ErrorIs(t, c.keep("7", one[4]), errDamaged, "it comes without the others")
	short := parts("three")
	require.NoError(t, c.keep("7", short[0]))
	require.Equal(t, "three", fetched())
	require.NoError(t, os.WriteFile(c.path("7"), append(short[0].Data[:33:33], "other"...), 0o600)) // on the disk
	require.NoError(t, c.keep("7", short[0]))
	require.Equal(t, "three", fetched(), "a damaged file is stored again")
	require.NoError(t, c.keep("7", one[0]))
	require.NoError(t, c.keep("70", short[0]))
	c.remove("7")
	left, err := os.ReadDir(c.dir)
	require.NoError(t, err)
	require.Len(t, left, 1)
	require.Equal(t, "70", left[0].Name())
	short[0].Data[36] ^= 1
	require.ErrorIs(t, c.keep("7", short[0]), errDamaged)
	require.False(t, c.has("7"))
}
