package web

import (
	"context"
	"errors"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"xlarun/internal/messaging"
	"xlarun/rollout/evolve/hosts"
	"xlarun/studies"
)

// numbers returns the lines of xlarun in what a Prometheus server reads at /metrics.
func numbers(t *testing.T, p *Page, head ...string) (lines []string) {
	t.Helper()
	status, text, h := get(t, http.DefaultClient, p.URL()+"metrics", head...)
	require.Equal(t, 200, status, text)
	require.Equal(t, "text/plain; version=0.0.4; charset=utf-8", h.Get("Content-Type"))
	require.Contains(t, text, "\nprocess_resident_memory_bytes ")
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "xlarun_") || strings.HasPrefix(line, "# TYPE xlarun_") {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return lines
}

// probed returns the status and the text of a page that needs no token.
func probed(t *testing.T, p *Page, page string) (status int, text string) {
	t.Helper()
	status, text, _ = get(t, http.DefaultClient, p.URL()+page, "Host", "10.0.0.7:8080") // as a kubelet asks
	return status, text
}

// The metrics of a study are those of its trials and workers, and need the token. Whether it is healthy and ready does
// not.
func TestHealthOfAStudy(t *testing.T) {
	var isReady atomic.Bool
	l := loopback
	l.Token = "sesame"
	p := shown(t, l, 12, func() studies.Status {
		return studies.Status{Working: 2, Deaths: 3, Ready: isReady.Load()}
	})
	require.Equal(t, []string{
		"# TYPE xlarun_best gauge",
		`xlarun_best{study="a study"} +Inf`,
		"# TYPE xlarun_trials gauge",
		`xlarun_trials{study="a study",state="complete"} 10`,
		`xlarun_trials{study="a study",state="fail"} 1`,
		`xlarun_trials{study="a study",state="pruned"} 1`,
		`xlarun_trials{study="a study",state="running"} 0`,
		`xlarun_trials{study="a study",state="waiting"} 0`,
		"# TYPE xlarun_worker_deaths_total counter",
		`xlarun_worker_deaths_total{study="a study"} 3`,
		"# TYPE xlarun_workers gauge",
		`xlarun_workers{study="a study"} 2`,
	}, numbers(t, p, "Authorization", "Bearer sesame"))
	status, text, h := get(t, http.DefaultClient, p.URL()+"metrics")
	require.Equal(t, 401, status)
	require.Equal(t, "give the token as bearer token\n", text, "it was the page that asks for a study's token")
	require.Equal(t, "text/plain; charset=utf-8", h.Get("Content-Type"))
	for _, ready := range []bool{false, true} {
		isReady.Store(ready)
		status, text = probed(t, p, "readyz")
		require.Equal(t, map[bool]int{true: 200, false: 503}[ready], status, text)
		status, text = probed(t, p, "healthz")
		require.Equal(t, 200, status)
		require.Equal(t, "ok\n", text)
	}

	p.ping = func(context.Context) error { return errors.New("the message server is away") }
	for _, page := range []string{"healthz", "readyz"} { // both were 200
		status, text = probed(t, p, page)
		require.Equal(t, 503, status)
		require.Equal(t, "the message server is away\n", text)
	}

	// Another study of the same name, in another database, has numbers of its own; an empty one has no best trial.
	other := shown(t, loopback, 0, func() studies.Status { return studies.Status{} })
	require.Contains(t, numbers(t, other), `xlarun_trials{study="a study",state="complete"} 0`)
	require.NotContains(t, strings.Join(numbers(t, other), "\n"), "xlarun_best")

	// A page beside the study's process does not know how that is.
	status, _, _ = get(t, http.DefaultClient, shown(t, loopback, 0, nil).URL()+"healthz")
	require.Equal(t, 404, status)

	// The database is gone.
	require.NoError(t, os.Remove(strings.TrimPrefix(other.db.String(), "sqlite:///")))
	status, text = probed(t, other, "healthz")
	require.Equal(t, 503, status)
	require.Equal(t, "the database does not answer\n", text)
}

// A desk that hangs is unhealthy after a time.
func TestADeskThatHangs(t *testing.T) {
	defer func(before time.Duration) { answerTime = before }(answerTime)
	answerTime = 50 * time.Millisecond
	hangs, asked := make(chan struct{}), atomic.Int64{}
	p := shown(t, loopback, 0, func() studies.Status { asked.Add(1); <-hangs; return studies.Status{} })
	defer close(hangs)
	for _, page := range []string{"healthz", "readyz", "healthz", "readyz"} {
		status, text := probed(t, p, page)
		require.Equal(t, 503, status)
		require.Equal(t, "no answer within 50ms\n", text)
	}
	require.EqualValues(t, 2, asked.Load(), "one question of each page hangs")
}

// A message server without a study says which hosts compute which run, and how far they are.
func TestHealthOfAMessageServer(t *testing.T) {
	seen := &studies.Hosted{}
	p, err := OpenMessages(loopback, seen)
	require.NoError(t, err)
	defer func() { require.NoError(t, p.Close()) }()
	for _, page := range []string{"healthz", "readyz"} {
		status, text := probed(t, p, page)
		require.Equal(t, 503, status, text)
	}
	at, end := make(chan string, 1), make(chan error, 1)
	ctx, stop := context.WithCancel(t.Context())
	go func() {
		end <- studies.Messages{Listen: loopback, Hosted: seen, Listening: func(address string) {
			at <- address
		}}.Serve(ctx)
	}()
	address, err := messaging.Parse("nats://" + <-at)
	require.NoError(t, err)
	join := func(name, host, run string) hosts.Bus {
		address.Name = name
		bus, err := hosts.On(messaging.Server{Address: address})(t.Context(), host, func(hosts.Message) {})
		require.NoError(t, err)
		bus.Send(hosts.Message{Kind: hosts.Hello, From: host, Run: run})
		return bus
	}
	a, b, stranger, island := join("try", "a", "run"), join("try", "b", "run"), join("try", "c", "another"),
		join("try.islands", "d", "run")
	defer stranger.Close()
	defer island.Close()
	a.Send(hosts.Message{Kind: hosts.Begin, From: "a", Run: "run", Generation: 7})
	b.Send(hosts.Message{Kind: hosts.Beat, From: "b", Run: "run", Generation: 6})
	want := func(lines ...string) {
		t.Helper()
		require.Eventually(t, func() bool {
			return strings.Join(lines, "\n") == strings.Join(numbers(t, p), "\n")
		}, time.Minute, 10*time.Millisecond, numbers(t, p))
	}
	want("# TYPE xlarun_generation gauge", `xlarun_generation{run="try"} 7`, "# TYPE xlarun_hosts gauge",
		`xlarun_hosts{run="try"} 2`)
	for _, page := range []string{"healthz", "readyz"} {
		status, text := probed(t, p, page)
		require.Equal(t, 200, status, text)
	}
	status, text, _ := get(t, http.DefaultClient, p.URL())
	require.Equal(t, 200, status)
	require.Contains(t, text, "/metrics says which runs there are")
	status, _, _ = get(t, http.DefaultClient, p.URL()+"study.js")
	require.Equal(t, 404, status)
	a.Send(hosts.Message{Kind: hosts.Leave, From: "a", Run: "run", Generation: 8})
	a.Close()
	want("# TYPE xlarun_generation gauge", `xlarun_generation{run="try"} 8`, "# TYPE xlarun_hosts gauge",
		`xlarun_hosts{run="try"} 1`)
	b.Close()
	stop()
	require.NoError(t, <-end)
}
