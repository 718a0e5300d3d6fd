package command

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"xlarun/cmd/internal/shelltest"
	"xlarun/cmd/xlarun/console"
	"xlarun/internal/messaging"
	"xlarun/studies"
	"xlarun/studies/study"
)

// "--threads 0" and "--workers -1" were "more than this machine's cores", and a worker could have more
// threads than there are cores.
func TestWorkerCount(t *testing.T) {
	for _, c := range []struct {
		workers, threads, cores, want int
		err                           string
	}{
		{0, 1, 8, 8, ""}, {0, 3, 8, 2, ""}, {2, 4, 8, 2, ""}, {1, 8, 8, 1, ""},
		{-1, 1, 8, 0, "--workers got -1, wants 1 or more, or 0 for as many as there are cores for"},
		{0, 0, 8, 0, "--threads got 0, wants 1 to the 8 cores that this process may use"},
		{1, 9, 8, 0, "--threads got 9, wants 1 to the 8 cores that this process may use"},
		{3, 4, 8, 0, "--workers got 3 of 4 threads each, more than the 8 cores that this process may use: " +
			"runs would wait for each other"},
		{1 << 62, 4, 8, 0, "more than the 8 cores that this process may use"},
	} {
		got, err := workerCount(c.workers, c.threads, c.cores, false)
		require.Equal(t, c.want, got)
		if c.err == "" {
			require.NoError(t, err)
		} else {
			require.ErrorContains(t, err, c.err)
		}
	}
	got, err := workerCount(16, 1, 2, true)
	require.NoError(t, err, "workers only wait for programs")
	require.Equal(t, 16, got)
}

// Work counts the trials of its workers, whose lines may arrive in parts. A line that only looks like one of a trial
// counts for none.
// A worker's warning was information here.
func TestTally(t *testing.T) {
	var out strings.Builder
	form := pflag.NewFlagSet("", pflag.ContinueOnError)
	flags := &console.LogFlags{}
	flags.Add(form)
	require.NoError(t, form.Set("log", "json"))
	require.NoError(t, form.Set("log-level", "warn"))
	log, err := flags.Logger(&out)
	require.NoError(t, err)
	all := &tally{log: log, start: time.Now()}
	a, b := all.lines(slog.LevelInfo), all.lines(slog.LevelInfo)
	line := func(w workedTrial) string {
		text, err := json.Marshal(w)
		require.NoError(t, err)
		return string(text) + "\n"
	}
	good := worked(3, study.Result{State: study.Complete, Values: []float64{1.25}}, 1500*time.Millisecond)
	require.Equal(t, "trial 3  complete  1.25  in 1.5s", good.Line)
	bad := worked(4, study.Result{State: study.Fail, Reason: "no\nmemory"}, time.Second)
	require.Equal(t, "trial 4  failed  in 1s: no memory", bad.Line)
	for _, w := range []struct {
		to   interface{ Write([]byte) (int, error) }
		text string
	}{
		{a, `{"level":"INFO","msg":"joined nats://a"}` + "\n" + line(good)[:9]},
		{b, line(bad) + `{"level":"WARN","msg":"nobody answers"}` + "\n"},
		{a, line(good)[9:]},
	} {
		n, err := w.to.Write([]byte(w.text))
		require.NoError(t, err)
		require.Equal(t, len(w.text), n)
	}
	var said []string
	for _, r := range records(t, out.String()) {
		said = append(said, fmt.Sprint(r["level"], " ", r["msg"]))
	}
	require.Equal(t, []string{"WARN " + bad.Line, "WARN nobody answers"}, said)
	require.Regexp(t, `^2 trials, 1 failed, in `, all.sum())
}

// The lines of a worker are passed on, without its last sentence. A killed worker may leave a part of a line.
func TestLastSentence(t *testing.T) {
	var out strings.Builder
	l := &lastSentence{to: &out, prefix: "xlarun: "}
	_, err := l.Write([]byte("a line\nxlarun: first\nxlarun: second\nan"))
	require.NoError(t, err)
	l.flush()
	require.Equal(t, "a line\nxlarun: first\nan\n", out.String())
	require.Equal(t, "second", l.said)
	_, err = l.Write([]byte("xlarun: third"))
	require.NoError(t, err)
	l.flush()
	require.Equal(t, "third", l.said)
	require.ErrorContains(t, noWorker(console.StatusNoServer, ""), "a worker ended with status 3")
}

// Workers end with the process that started them, also after kill -9.
func TestWorkersEndWithTheirParent(t *testing.T) {
	t.Parallel()
	server, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s := shelltest.New(t)
	p := s.Command("work", "nats://"+server.Addr().String(), "--workers", "2", "--wait", "1h")
	ended, held, err := os.Pipe()
	require.NoError(t, err)
	p.ExtraFiles = []*os.File{held} // workers inherit it
	require.NoError(t, p.Start())
	require.NoError(t, held.Close())
	for range 2 { // both workers run
		conn, err := server.Accept()
		require.NoError(t, err)
		require.NoError(t, conn.Close())
	}
	require.NoError(t, server.Close())
	require.NoError(t, p.Process.Kill())
	_, err = io.ReadAll(ended) // until the last process that has it is gone
	require.NoError(t, err)
	require.Equal(t, -1, p.Ended())
}

// Work with the file of an earlier study ended with 0 and said nothing.
func TestWorkAfterTheEnd(t *testing.T) {
	t.Parallel()
	s := shelltest.New(t)
	require.NoError(t, os.WriteFile(s.Path("server"), []byte("over\n"), 0o600))
	require.Equal(t, "1 x 1 core (--workers) join @server\n"+
		"the study was over before this worker came: server says so\n", s.Do(t, "work", "@server", "--workers", "1"))
}

// A worker that finds no server said "there is no coordinator", and that a bare nats-server would do.
func TestJoinError(t *testing.T) {
	at, err := messaging.Parse("nats://a:1")
	require.NoError(t, err)
	err = noServer(at, studies.ErrNoCoordinator)
	require.EqualError(t, err, "no study is served at nats://a:1 (it may be over): start xlarun serve SPEC.toml "+
		"there, or give its address")
	require.NoError(t, noServer(at, nil))
}
