// Package web serves a page that shows a study while it runs. The page changes nothing and loads nothing from other
// sites.
package web

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"xlarun/studies"
	"xlarun/studies/rdb"
	"xlarun/studies/study"
)

// content has the folder page, whose files are served as they are, and the folder main, with what each page shows
// inside of frame.html.
//
//go:embed page main
var content embed.FS

//go:embed frame.html
var frameText string

var frame = template.Must(template.New("frame").Parse(frameText))

// render returns a page: of a study, a run or islands.
func render(of string) ([]byte, error) {
	main, err := content.ReadFile("main/" + of + ".html")
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = frame.Execute(&b, struct {
		Of   string
		Main template.HTML
	}{of, template.HTML(main)})
	return b.Bytes(), err
}

// Page is the page of a study.
type Page struct {
	db      *rdb.DB
	study   *study.Study
	spec    *studies.Spec
	metrics []string
	status  func() studies.Status
	ping    func(context.Context) error
	health  *health // nil: nothing asks
	token   string
	server  *http.Server
	address string
	scheme  string

	mu      sync.Mutex
	made    time.Time
	body    []byte
	etag    string
	numbers map[int64]int64 // of the trials, by ID
	see     func() (any, error)
	of      string // what the page is of: "study"
	folder  string // of a run
}

// fresh is the time for which data are served without reading the storage again.
const fresh = 500 * time.Millisecond

// Open serves the page of a study at the address of l until Close is called. As in
// studies.Listen.Check, an address that others can reach needs a token or certificates. If there is a token, requests
// from this machine need it too. status is that of the study's coordinator, in this process; nil: it is elsewhere. With
// it there are /healthz, /readyz and /metrics, which need ping, too: Coordinator.Ping. The caller closes d after the
// page.
func Open(l studies.Listen, d *rdb.DB, st *study.Study, status func() studies.Status,
	ping func(context.Context) error) (*Page, error) {
	p := &Page{db: d, study: st, status: status, ping: ping, numbers: map[int64]int64{}, of: "study"}
	if p.see = p.trials; status != nil {
		p.health = &health{alive: p.answers, ready: p.ready, add: p.metricsOf}
	}
	if err := p.open(l); err != nil {
		return nil, err
	}
	return p, nil
}

// open serves the page.
func (p *Page) open(l studies.Listen) error {
	if err := l.Check(); err != nil {
		return err
	}
	if p.study != nil {
		p.spec, _ = studies.SpecOf(p.db, p.study.ID()) // another program's studies have none
		p.metrics = studies.MetricNames(p.db, p.study)
	}
	p.token, p.scheme = l.Token, "http"
	listener, err := net.Listen("tcp", l.Address)
	if err != nil {
		return fmt.Errorf("the page cannot listen on %s: %w", l.Address, err)
	}
	p.address = listener.Addr().String()
	if l.TLS != nil {
		c := l.TLS.Clone()
		if c.ClientCAs != nil {
			c.ClientAuth = tls.RequireAndVerifyClientCert
		}
		listener, p.scheme = tls.NewListener(listener, c), "https"
	}
	p.server = &http.Server{Handler: p.handler(), ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second,
		WriteTimeout: 60 * time.Second, IdleTimeout: 2 * time.Minute,
		MaxHeaderBytes: 1 << 14}
	go func() { _ = p.server.Serve(listener) }()
	return nil
}

// URL returns the address of the page.
func (p *Page) URL() string {
	at, _ := studies.Reachable(p.address)
	return p.scheme + "://" + at + "/"
}

// farewell is how long Close waits for open requests. Browsers keep unused connections open, and waiting for those
// would take too long.
const farewell = 200 * time.Millisecond

// Close ends the page.
func (p *Page) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), farewell)
	defer cancel()
	if err := p.server.Shutdown(ctx); err != nil {
		return p.server.Close()
	}
	return nil
}

func (p *Page) handler() http.Handler {
	mux := http.NewServeMux()
	page, err := fs.Sub(content, "page")
	if err != nil {
		panic(err) // it is in the program
	}
	files := http.FileServerFS(page)
	mux.Handle("GET /page.css", files) // the form for the token has it
	mux.HandleFunc("POST /token", p.enter)
	if p.see != nil {
		mux.Handle("GET /", files)
		p.show(mux)
	}
	if p.health == nil {
		return p.guard(mux)
	}
	return p.health.serve(mux, p.guard(mux))
}

// show adds what people look at.
func (p *Page) show(mux *http.ServeMux) {
	whole, err := render(p.of)
	if err != nil {
		panic(err) // it is in the program
	}
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		http.ServeContent(w, r, p.of+".html", time.Time{}, bytes.NewReader(whole))
	})
	mux.HandleFunc("GET /data", p.data)
	mux.HandleFunc("GET /workers", p.working)
	if p.folder != "" {
		servePictures(mux, p.folder)
	}
}

// guard checks who may see the page.
func (p *Page) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; connect-src "+
			"'self'; img-src 'self' data:; form-action 'self'; frame-ancestors 'none'; base-uri 'none'")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cache-Control", "no-cache")
		switch {
		case r.URL.Path == "/token" || r.URL.Path == "/page.css":
		case p.token == "" && p.scheme == "http" && !local(r.Host):
			// a page of elsewhere whose name was made to mean this machine
			http.Error(w, "this page is for this machine: open it by 127.0.0.1 or localhost", http.StatusForbidden)
			return
		case !p.knows(r):
			h.Set("WWW-Authenticate", `Bearer realm="study"`)
			if r.URL.Path == "/metrics" { // a program reads it, and there may be no study
				http.Error(w, "give the token as bearer token", http.StatusUnauthorized)
				return
			}
			h.Set("Content-Type", "text/html; charset=utf-8")
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = w.Write([]byte(askForToken))
			return
		}
		next.ServeHTTP(w, r)
	})
}

const askForToken = `<!doctype html><html lang="en"><meta charset="utf-8">
<meta name="viewport" content="width=device-width"><title>xlarun</title>
<link rel="stylesheet" href="/page.css">
<main class="ask"><h1>xlarun</h1><p>Give the token to see this page.</p>
<form method="post" action="/token"><label>Token <input type="password" name="token" autofocus
autocomplete="current-password"></label><button>Show</button></form></main></html>
`

func local(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	ip := net.ParseIP(strings.Trim(host, "[]"))
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// cookie returns the name of the cookie, which depends on the token: browsers send the cookies of a host to all its
// ports, and pages of one machine must not overwrite each other's.
func (p *Page) cookie() string {
	sum := sha256.Sum256([]byte("cookie of a page of a study\x00" + p.token))
	return "xlarun-study-" + hex.EncodeToString(sum[:4])
}

// pass returns the content of the cookie: a hash of the token.
func (p *Page) pass() string {
	sum := sha256.Sum256([]byte("page of a study\x00" + p.token))
	return hex.EncodeToString(sum[:])
}

func same(a, b string) bool {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b)) // of one length
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1
}

// knows reports whether a request has the token.
func (p *Page) knows(r *http.Request) bool {
	if p.token == "" {
		return true
	}
	if given, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok {
		return same(given, p.token)
	}
	c, err := r.Cookie(p.cookie())
	return err == nil && same(c.Value, p.pass())
}

// enter reads the token from the form.
func (p *Page) enter(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, 1<<12)
	if p.token != "" && same(strings.TrimSpace(r.PostFormValue("token")), p.token) {
		http.SetCookie(w, &http.Cookie{Name: p.cookie(), Value: p.pass(), Path: "/", HttpOnly: true, Secure: p.scheme ==
			"https", SameSite: http.SameSiteStrictMode})
	} else {
		time.Sleep(300 * time.Millisecond) // who guesses waits
	}
	http.Redirect(w, r, "/", http.StatusSeeOther)
}

// data sends the study as it is now, or 304 if the page has it.
func (p *Page) data(w http.ResponseWriter, r *http.Request) {
	body, etag, err := p.look()
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("ETag", etag)
	if r.Header.Get("If-None-Match") == etag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	_, _ = w.Write(body)
}

// working sends the workers, which change while the study does not; null if they are not known.
func (p *Page) working(w http.ResponseWriter, _ *http.Request) {
	var all []worker
	if p.status != nil {
		seen := p.status().Workers
		p.mu.Lock()
		all = at(time.Now(), seen, p.numbers)
		p.mu.Unlock()
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(all) // who asked is gone, else
}

// trials returns the study as it is now.
func (p *Page) trials() (any, error) {
	trials, err := p.study.Trials()
	if err != nil {
		return nil, err
	}
	for _, t := range trials {
		p.numbers[t.ID] = t.Number
	}
	s := picture(p.study, p.db.String(), p.spec, p.metrics, trials)
	if p.status == nil { // nor is this page the coordinator's
		attended, err := studies.IsRunning(p.db, p.study, trials)
		if err != nil {
			return nil, err
		}
		for i, t := range trials {
			s.Trials[i].Left = !attended && t.State == study.Running && !s.Trials[i].Foreign
		}
	}
	return s, nil
}

// look reads the study, unless it was read just now.
func (p *Page) look() ([]byte, string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if time.Since(p.made) < fresh {
		return p.body, p.etag, nil
	}
	s, err := p.see()
	if err != nil {
		return nil, "", err
	}
	body, err := json.Marshal(s)
	if err != nil {
		return nil, "", errors.Join(errors.New("the study cannot be shown"), err)
	}
	sum := sha256.Sum256(body)
	p.body, p.etag, p.made = body, `"`+hex.EncodeToString(sum[:12])+`"`, time.Now()
	return p.body, p.etag, nil
}
