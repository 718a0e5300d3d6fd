package web

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/VictoriaMetrics/metrics"

	"xlarun/studies"
	"xlarun/studies/study"
)

// health is what a server says of itself to an engine and to Prometheus.
type health struct {
	alive func(context.Context) error // reports whether what the server is made of answers
	ready func(context.Context) error // reports whether it takes others in
	add   func(*metrics.Set) error    // adds its metrics
	about string                      // what is served; "": a page says it
}

// answerTime is how long alive and ready may take. Tests shorten it.
var answerTime = 2 * time.Second

// OpenMessages serves /healthz, /readyz and /metrics of a message server without a study, like Open.
func OpenMessages(l studies.Listen, r *studies.Hosted) (*Page, error) {
	p := &Page{health: &health{alive: r.Ping, ready: r.Ping, add: func(s *metrics.Set) error {
		for _, x := range r.Now() {
			s.NewGauge(fmt.Sprintf("xlarun_hosts{run=%q}", x.Name), nil).Set(float64(x.Hosts))
			s.NewGauge(fmt.Sprintf("xlarun_generation{run=%q}", x.Name), nil).Set(float64(x.Generation))
		}
		return nil
	}, about: "Here is the message server of hosts and islands, which join by --join. /metrics says which runs there " +
		"are, and /healthz and /readyz whether the server answers.\n"}}
	if err := p.open(l); err != nil {
		return nil, err
	}
	return p, nil
}

// answers asks what knows the workers, the message server, and then the database.
func (p *Page) answers(ctx context.Context) error {
	p.status()
	if err := p.ping(ctx); err != nil {
		return err
	}
	err := p.db.Ping(ctx)
	if err == nil {
		err = p.db.Exists(p.study.ID())
	}
	if err != nil {
		return errors.New("the database does not answer") // who asks has no token
	}
	return nil
}

// ready reports whether workers can join.
func (p *Page) ready(ctx context.Context) error {
	err := p.ping(ctx)
	if err == nil && !p.status().Ready {
		err = errors.New("not ready")
	}
	return err
}

// metricsOf adds the metrics of a study.
func (p *Page) metricsOf(s *metrics.Set) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	trials, err := p.study.Trials()
	if err != nil {
		return err
	}
	count := map[study.State]int{study.Running: 0, study.Waiting: 0, study.Complete: 0, study.Pruned: 0, study.Fail: 0}
	for _, t := range trials {
		count[t.State]++
	}
	for state, n := range count {
		s.NewGauge(fmt.Sprintf("xlarun_trials{study=%q,state=%q}", p.study.Name, strings.ToLower(string(state))),
			nil).Set(float64(n))
	}
	of := fmt.Sprintf("{study=%q}", p.study.Name)
	now := p.status()
	s.NewGauge("xlarun_workers"+of, nil).Set(float64(now.Working))
	s.NewCounter("xlarun_worker_deaths_total" + of).Set(uint64(now.Deaths))
	if d := p.study.Directions(); len(d) == 1 {
		if best := study.Best(trials, d); len(best) > 0 {
			s.NewGauge("xlarun_best"+of, nil).Set(best[0].Values[0])
		}
	}
	return nil
}

// serve answers the requests for the health, which need no token, and adds the page of the metrics to mux.
func (h *health) serve(mux *http.ServeMux, guarded http.Handler) http.Handler {
	metrics.ExposeMetadata(true) // # TYPE, as Prometheus' own clients write it
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) {
		var text bytes.Buffer
		s := metrics.NewSet()
		if err := h.add(s); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		s.WritePrometheus(&text)
		metrics.WriteProcessMetrics(&text)
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		_, _ = w.Write(text.Bytes())
	})
	if h.about != "" {
		mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(h.about)) // net/http finds that it is text
		})
	}
	open := http.NewServeMux()
	open.Handle("/", guarded)
	open.HandleFunc("GET /healthz", probe(h.alive))
	open.HandleFunc("GET /readyz", probe(h.ready))
	return open
}

// probe answers what check finds within answerTime. It checks once at a time: one that hangs is one goroutine.
func probe(check func(context.Context) error) http.HandlerFunc {
	turn := make(chan struct{}, 1)
	return func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), answerTime)
		defer cancel()
		answer := make(chan error, 1)
		select {
		case turn <- struct{}{}:
			go func() {
				within, done := context.WithTimeout(ctx, answerTime*3/4) // check says what did not answer
				defer done()
				answer <- check(within)
				<-turn
			}()
		case <-ctx.Done():
		}
		select {
		case err := <-answer:
			say(w, err)
		case <-ctx.Done():
			say(w, fmt.Errorf("no answer within %v", answerTime))
		}
	}
}

// say answers 200, or 503 with an error.
func say(w http.ResponseWriter, err error) {
	w.Header().Set("Cache-Control", "no-store")
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	_, _ = w.Write([]byte("ok\n"))
}
