package web

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"xlarun/internal/long"
)

// chromium returns the path of a browser. The test is skipped where there is none.
func chromium(t *testing.T) string {
	t.Helper()
	names := []string{"chromium", "chromium-browser", "google-chrome"}
	if named := os.Getenv("XLARUN_CHROMIUM"); named != "" {
		names = []string{named}
	} else if !long.On() {
		t.Skip("a browser takes seconds to start: XLARUN_LONG=1 looks for one, XLARUN_CHROMIUM names one")
	}
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Skipf("no browser: neither %s is on PATH (XLARUN_CHROMIUM names another)", strings.Join(names, " nor "))
	return ""
}

// browse returns a page as a browser draws it, after all that its scripts do at once.
func browse(t *testing.T, browser string, p *Page) *element {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	profile, err := os.MkdirTemp("", "")
	require.NoError(t, err)
	defer func() { _ = os.RemoveAll(profile) }() // processes of the browser that still end may write into it
	// The pages are of this test, and a sandbox is not to be had by root.
	c := exec.CommandContext(ctx, browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
		"--no-first-run", "--disable-background-networking", "--user-data-dir="+profile,
		"--virtual-time-budget=1000", "--dump-dom", p.URL())
	var errors strings.Builder
	c.Stderr = &errors
	c.WaitDelay = time.Second
	text, err := c.Output()
	require.NoError(t, err, errors.String())
	return parse(t, string(text))
}

// decimals are numbers of a path or another attribute.
var decimals = regexp.MustCompile(`-?\d+\.\d+`)

// plain is an element as text: what two browsers that draw the same have in common. Coordinates are rounded, because
// logarithms differ in their last digits.
func plain(e *element, indent string) string {
	text := indent + e.Tag
	for _, name := range slices.Sorted(maps.Keys(e.Attrs)) {
		value := decimals.ReplaceAllStringFunc(e.Attrs[name], func(digits string) string {
			x, err := strconv.ParseFloat(digits, 64)
			if err != nil {
				return digits
			}
			return strconv.FormatFloat(x, 'f', 1, 64)
		})
		text += fmt.Sprintf(" %s=%q", name, value)
	}
	content := ""
	for _, node := range e.Nodes {
		switch child := node.(type) {
		case *element:
			text += "\n" + plain(child, indent+" ")
		case string:
			content += strings.TrimSpace(child)
		}
	}
	return text + "\n" + indent + " " + strconv.Quote(content)
}

// TestABrowserDrawsTheSame: what the other tests look at is what a browser shows.
func TestABrowserDrawsTheSame(t *testing.T) {
	browser := chromium(t)
	for name, p := range map[string]*Page{"Optuna's": optunas(t, "all kinds"), "ours": shown(t, loopback, 30, nil),
		"islands": archipelago(t, `{"topology":"ring","islands":[{"descent":[1],"immigrants":[0]}]}`,
			generations(12)...)} {
		want, got := load(t, p).good(), browse(t, browser, p)
		for _, page := range []*element{want, got} {
			live := page.id(t, "live")
			require.Regexp(t, "^as of ", live.text(), name)
			live.Nodes = nil // the time differs
		}
		require.Equal(t, want.all("title")[0].text(), got.all("title")[0].text())
		require.Equal(t, plain(want.all("body")[0], ""), plain(got.all("body")[0], ""), name)
	}
}
