package web

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"xlarun/studies"
	"xlarun/studies/rdb"
	"xlarun/studies/study"
)

// shown is a page of a study with so many trials.
func shown(t *testing.T, l studies.Listen, trials int, status func() studies.Status) *Page {
	t.Helper()
	d, err := rdb.Open(filepath.Join(t.TempDir(), "s.db"))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, d.Close()) })
	st, err := study.New("a study", study.Options{Storage: d, Directions: []study.Direction{study.Maximize},
		Sampler: study.Random{}})
	require.NoError(t, err)
	var all []*study.FrozenTrial
	for i := range trials {
		x := &study.FrozenTrial{State: study.Complete, Values: []float64{float64(i)}, Params: map[string]float64{
			"x": float64(i), "kind": float64(i % 2)}, Start: time.Now(), Complete: time.Now(),
			Distributions: map[string]study.Distribution{"x": {Kind: study.Float, High: 1e6},
				"kind": {Kind: study.Categorical, Choices: []any{nil, "a"}}}, UserAttrs: map[string]json.RawMessage{}}
		for s := range 3 {
			x.Intermediate = append(x.Intermediate, study.Reported{Step: int64(s), Value: []float64{
				1, math.NaN(), math.Inf(-1)}[s]})
		}
		switch i {
		case 1:
			x.State, x.Values, x.UserAttrs[study.ReasonAttr] = study.Fail, nil, json.RawMessage(`"it <broke>"`)
		case 2:
			x.State, x.Values = study.Pruned, nil
		case 3:
			x.Values = []float64{math.Inf(1)}
		}
		all = append(all, x)
	}
	require.NoError(t, d.Add(st.ID(), -1, all...))
	p, err := Open(l, d, st, status, reached)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	return p
}

func get(t *testing.T, c *http.Client, address string, head ...string) (status int, body string, h http.Header) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	require.NoError(t, err)
	for i := 0; i+1 < len(head); i += 2 {
		if r.Header.Set(head[i], head[i+1]); head[i] == "Host" {
			r.Host = head[i+1]
		}
	}
	answer, err := c.Do(r)
	require.NoError(t, err)
	text, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	return answer.StatusCode, string(text), answer.Header
}

// reached is the ping of a message server that answers.
func reached(context.Context) error { return nil }

var loopback = studies.Listen{Address: "127.0.0.1:0"}

// TestShowsAStudy: what the page is sent is what the study is, and only what has changed.
func TestShowsAStudy(t *testing.T) {
	p := shown(t, loopback, 12, func() studies.Status { // at the time of the look
		return studies.Status{Workers: []studies.WorkerStatus{{ID: "host:7:1", Threads: 3, Done: 2,
			LastSeen: time.Now().Add(-5500 * time.Millisecond), Leased: []int64{5, 99}},
			{ID: "host:6:1", LastSeen: time.Now()}}}
	})
	status, text, h := get(t, http.DefaultClient, p.URL()+"data")
	require.Equal(t, 200, status)
	var s struct {
		Study, Storage string
		Best           []int64
		Trials         []struct {
			N      int64
			State  string
			Values []any
			Params map[string]any
			Reason string
			Last   any
		}
		Curves      []struct{ Values []any }
		Space       []param
		Importances [][]share
	}
	require.NoError(t, json.Unmarshal([]byte(text), &s))
	require.Equal(t, "a study", s.Study)
	require.Len(t, s.Trials, 12)
	require.Equal(t, "it <broke>", s.Trials[1].Reason)
	require.Equal(t, "PRUNED", s.Trials[2].State)
	require.Equal(t, "-inf", s.Trials[2].Last)
	require.Equal(t, []any{"+inf"}, s.Trials[3].Values)
	require.Equal(t, map[string]any{"x": 4., "kind": nil}, s.Trials[4].Params)
	require.Equal(t, []any{1., nil, "-inf"}, s.Curves[0].Values)
	require.Equal(t, []param{{Name: "kind", Choices: []any{nil, "a"}}, {Name: "x", High: 1e6}}, s.Space)
	require.Len(t, s.Importances[0], 2)
	require.Equal(t, []int64{3}, s.Best)
	status, text, _ = get(t, http.DefaultClient, p.URL()+"data", "If-None-Match", h.Get("ETag"))
	require.Equal(t, 304, status)
	require.Empty(t, text)
	_, text, _ = get(t, http.DefaultClient, p.URL()+"workers")
	require.JSONEq(t, `[{"id":"host:6:1","trials":[],"threads":0,"done":0,"silent":0},
		{"id":"host:7:1","trials":[4],"threads":3,"done":2,"silent":5}]`, text)
	for file, want := range map[string]string{"": "<title>xlarun study</title>", "study.js": "poll(draw",
		"plots.js": "svgNS", "live.js": "If-None-Match", "page.css": "color-scheme"} {
		status, text, h = get(t, http.DefaultClient, p.URL()+file)
		require.Equal(t, 200, status)
		require.Contains(t, text, want)
		require.Contains(t, h.Get("Content-Security-Policy"), "default-src 'none'")
		require.NotContains(t, strings.ReplaceAll(text, svgSpace, ""), "http://", "nothing of elsewhere")
	}
	answer, err := http.Post(p.URL()+"data", "text/plain", nil)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	require.Equal(t, http.StatusMethodNotAllowed, answer.StatusCode, "it is read-only")
}

const svgSpace = "http://www.w3.org/2000/svg"

// TestManyTrials: a large study is sent with no more curves than can be looked at, and an empty one is one, too.
func TestManyTrials(t *testing.T) {
	p := shown(t, loopback, 2000, nil)
	_, text, _ := get(t, http.DefaultClient, p.URL()+"data")
	var s snapshot
	require.NoError(t, json.Unmarshal([]byte(strings.NewReplacer(`"+inf"`, "0", `"-inf"`, "0", "null", "0").Replace(
		text)), &s))
	require.Len(t, s.Trials, 2000)
	require.Len(t, s.Curves, newestCurves+1, "the best are the newest here, but for the one that is infinite")
	require.Less(t, len(text), 1<<20)
	_, text, _ = get(t, http.DefaultClient, p.URL()+"workers")
	require.Equal(t, "null\n", text)
	p = shown(t, loopback, 0, nil)
	_, text, _ = get(t, http.DefaultClient, p.URL()+"data")
	require.NoError(t, json.Unmarshal([]byte(text), &s))
	require.Contains(t, text, `"trials":[]`)
}

// TestWhoMayLook: with a token nobody without it, beyond loopback nobody without either, and no page of elsewhere by a
// name that leads here.
func TestWhoMayLook(t *testing.T) {
	p := shown(t, loopback, 1, nil)
	for host, want := range map[string]int{"localhost:1": 200, "127.0.0.1": 200, "[::1]:8": 200,
		"elsewhere.example": 403} {
		status, _, _ := get(t, http.DefaultClient, p.URL()+"data", "Host", host)
		require.Equal(t, want, status, host)
	}
	l := loopback
	l.Token = "sesame"
	p = shown(t, l, 1, nil)
	for _, path := range []string{"", "data", "workers", "study.js", "plots.js"} {
		for bearer, want := range map[string]int{"": 401, "Bearer wrong": 401, "Bearer ": 401, "Bearer sesame": 200} {
			status, text, _ := get(t, http.DefaultClient, p.URL()+path, "Authorization", bearer)
			require.Equal(t, want, status, "%s %q", path, bearer)
			require.Equal(t, status == 401, strings.Contains(text, "Token <input"))
		}
	}
	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	browser := &http.Client{Jar: jar}
	for _, token := range []string{"wrong", "sesame"} {
		answer, err := browser.PostForm(p.URL()+"token", url.Values{"token": {token}})
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		require.Equal(t, map[string]int{"wrong": 401, "sesame": 200}[token], answer.StatusCode, "it leads to the page")
	}
	at, err := url.Parse(p.URL())
	require.NoError(t, err)
	require.NotContains(t, fmt.Sprint(jar.Cookies(at)), "sesame")
	l.Token = "open"
	other := shown(t, l, 1, nil) // of the same host: a browser sends it the same cookies
	answer, err := browser.PostForm(other.URL()+"token", url.Values{"token": {"open"}})
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	for _, page := range []*Page{p, other} {
		status, _, _ := get(t, browser, page.URL()+"data")
		require.Equal(t, 200, status)
	}
	_, err = Open(studies.Listen{Address: "0.0.0.0:0"}, nil, nil, nil, nil)
	require.ErrorContains(t, err, "give a token, or TLS with a client authority")
}

// A trial that runs by the database and that nobody runs is said to be left open, and not one of another program's, nor
// one that a coordinator whose page it is looks after.
func TestTrialsThatWereLeft(t *testing.T) {
	for _, status := range []func() studies.Status{nil, func() studies.Status { return studies.Status{} }} {
		d, err := rdb.Open(filepath.Join(t.TempDir(), "a.db"))
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, d.Close()) })
		st, err := study.New("a study", study.Options{Storage: d})
		require.NoError(t, err)
		for _, own := range []bool{true, false} {
			x := &study.FrozenTrial{State: study.Running, Start: time.Now().Add(-time.Hour),
				SystemAttrs: map[string]json.RawMessage{}}
			if own {
				x.SystemAttrs[study.SeesAttr] = json.RawMessage("0")
			}
			require.NoError(t, d.Add(st.ID(), -1, x))
		}
		p, err := Open(loopback, d, st, status, reached)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, p.Close()) })
		_, text, _ := get(t, http.DefaultClient, p.URL()+"data")
		var s struct{ Trials []struct{ Left bool } }
		require.NoError(t, json.Unmarshal([]byte(text), &s))
		require.Len(t, s.Trials, 2)
		require.Equal(t, status == nil, s.Trials[0].Left)
		require.False(t, s.Trials[1].Left)
	}
}
