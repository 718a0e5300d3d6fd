package web

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"regexp"
	"testing"

	"github.com/dop251/goja"
	"github.com/stretchr/testify/require"
)

// window is a page whose scripts run in this process, with testdata/dom.js instead of a browser.
type window struct {
	t        *testing.T
	vm       *goja.Runtime
	statuses []int // of the server's answers
}

// load opens a page as the server serves it and runs its scripts, until they wait for the next time to ask.
func load(t *testing.T, p *Page) *window {
	t.Helper()
	w := &window{t: t, vm: goja.New()}
	_, text, _ := get(t, http.DefaultClient, p.URL())
	html := parse(t, text)
	encoded, err := json.Marshal(html)
	require.NoError(t, err)
	var page any
	require.NoError(t, json.Unmarshal(encoded, &page))
	require.NoError(t, w.vm.Set("page", func() any { return page }))
	require.NoError(t, w.vm.Set("request", func(path string, headers map[string]string) (map[string]any, error) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.URL()+path, nil)
		if err != nil {
			return nil, err
		}
		for name, value := range headers {
			r.Header.Set(name, value)
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			return nil, err
		}
		body, err := io.ReadAll(answer.Body)
		w.statuses = append(w.statuses, answer.StatusCode)
		return map[string]any{"status": answer.StatusCode, "body": string(body), "etag": answer.Header.Get("ETag")},
			errors.Join(err, answer.Body.Close())
	}))
	dom, err := os.ReadFile("testdata/dom.js")
	require.NoError(t, err)
	w.run("dom.js", string(dom))
	scripts := html.all("script")
	require.NotEmpty(t, scripts)
	for _, script := range scripts {
		status, text, _ := get(t, http.DefaultClient, p.URL()+script.Attrs["src"])
		require.Equal(t, http.StatusOK, status)
		w.run(script.Attrs["src"], text)
	}
	return w
}

// run runs a script and all that it has promised. An error of the script ends the test.
func (w *window) run(name, script string) goja.Value {
	w.t.Helper()
	value, err := w.vm.RunScript(name, script)
	require.NoError(w.t, err)
	return value
}

// noNumber is a piece of a path, or of another attribute, that should be a number and is none.
var noNumber = regexp.MustCompile(`NaN|Infinity|undefined|null|object`)

// page returns the page as it is now.
func (w *window) page() *element {
	w.t.Helper()
	e := &element{}
	require.NoError(w.t, json.Unmarshal([]byte(w.run("", "drawn()").String()), e))
	return e
}

// good returns the page as it is now. Nothing went wrong, and all that is drawn has a place.
func (w *window) good() *element {
	w.t.Helper()
	page, t := w.page(), w.t
	require.Regexp(t, `^as of `, page.id(t, "live").text())
	require.Empty(t, page.id(t, "live").Attrs["class"])
	for _, e := range page.all("") {
		require.NotContains(t, e.text(), "undefined", "%v", e)
		require.NotContains(t, e.text(), "[object", "%v", e)
		for name, value := range e.Attrs {
			require.NotRegexp(t, noNumber, value, "%s of %v", name, e)
		}
	}
	return page
}
