package plugin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"mime"
	"net/http"
	"net/url"
	"path"
	"regexp"
	"strings"
	"time"

	"github.com/gomlx/go-xla/installer"

	"xlarun/third_party/fetch"
)

const (
	simpleJSON = "application/vnd.pypi.simple.v1+json"
	// indexLimit bounds an index page, in bytes.
	indexLimit = 32 << 20
	// publicIndexLimit is how long go-xla's installer may take for its answer.
	publicIndexLimit = 20 * time.Second
)

// fromIndex looks a up in a package index that speaks the simple repository API
// and downloads it.
func fromIndex(ctx context.Context, client *fetch.Client, index string, a *fetch.Artefact, dst *fetch.Sink) error {
	address, err := lookUp(ctx, client, index, a)
	if err != nil {
		return err
	}
	return client.Download(ctx, address, dst)
}

var runs = regexp.MustCompile(`[-_.]+`)

// projectName is a distribution's name as index addresses spell it.
func projectName(name string) string { return strings.ToLower(runs.ReplaceAllString(name, "-")) }

// lookUp returns the address of a's file in an index. Addresses in the answer
// may be relative to the page that was answered with.
func lookUp(ctx context.Context, client *fetch.Client, index string, a *fetch.Artefact) (*url.URL, error) {
	page, err := url.Parse(index)
	if err != nil || (page.Scheme != "http" && page.Scheme != "https") {
		return nil, errors.New("its address is no http(s) address")
	}
	page = page.JoinPath(projectName(a.Name), "/")
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, page.String(), nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", simpleJSON+", text/html;q=0.1")
	resp, err := client.HTTP.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("it answers %s for %s", resp.Status, a.Name)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, indexLimit))
	if err != nil {
		return nil, err
	}
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	var href string
	if strings.HasSuffix(kind, "json") {
		href, err = hrefInJSON(body, a)
	} else {
		href, err = hrefInHTML(body, a)
	}
	if err != nil {
		return nil, err
	}
	ref, err := url.Parse(href)
	if err != nil {
		return nil, errors.New("it lists the file under an address that cannot be read")
	}
	address := resp.Request.URL.ResolveReference(ref)
	if address.Host == page.Host && address.User == nil {
		address.User = page.User
	}
	return address, nil
}

func hrefInJSON(body []byte, a *fetch.Artefact) (string, error) {
	var project struct {
		Files []struct {
			Filename string            `json:"filename"`
			URL      string            `json:"url"`
			Hashes   map[string]string `json:"hashes"`
		} `json:"files"`
	}
	if err := json.Unmarshal(body, &project); err != nil {
		return "", fmt.Errorf("its answer for %s is no JSON of the simple API", a.Name)
	}
	for _, f := range project.Files {
		if f.Filename != a.File {
			continue
		}
		if sum := f.Hashes["sha256"]; sum != "" && !strings.EqualFold(sum, a.SHA256) {
			return "", fmt.Errorf("it lists %s with sha256 %s, pinned is %s", a.File, sum, a.SHA256)
		}
		return f.URL, nil
	}
	return "", fmt.Errorf("it does not list %s", a.File)
}

var anchor = regexp.MustCompile(`(?is)<a\s[^>]*?href\s*=\s*(?:"([^"]*)"|'([^']*)')`)

// hrefInHTML finds the file in the older form of the simple API, a page of
// links, which many indexes answer with whatever was asked for.
func hrefInHTML(body []byte, a *fetch.Artefact) (string, error) {
	for _, m := range anchor.FindAllSubmatch(body, -1) {
		href := html.UnescapeString(string(m[1]) + string(m[2]))
		ref, err := url.Parse(href)
		if err == nil && path.Base(ref.Path) == a.File {
			ref.Fragment = ""
			return ref.String(), nil
		}
	}
	return "", fmt.Errorf("its answer for %s is a web page that does not list %s", a.Name, a.File)
}

// fromPublicIndex asks the index that go-xla's installer knows. Some mirrors
// that stand in for it answer with relative addresses, which cannot be followed
// without the mirror's own.
func fromPublicIndex(ctx context.Context, client *fetch.Client, a *fetch.Artefact, dst *fetch.Sink) error {
	type answer struct {
		info *installer.PipPackageInfo
		err  error
	}
	// The call takes no context; it is left behind when ctx ends.
	c := make(chan answer, 1)
	go func() {
		info, err := installer.GetPipInfo(a.Name)
		c <- answer{info, err}
	}()
	var got answer
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(publicIndexLimit):
		return errors.New("it does not answer")
	case got = <-c:
	}
	if got.err != nil {
		return fmt.Errorf("it does not answer: %w", fetch.Cause(got.err))
	}
	for _, f := range got.info.Releases[a.Version] {
		if f.Filename != a.File {
			continue
		}
		if sum := f.Digests["sha256"]; sum != "" && !strings.EqualFold(sum, a.SHA256) {
			return fmt.Errorf("it lists %s with sha256 %s, pinned is %s", a.File, sum, a.SHA256)
		}
		address, err := url.Parse(f.URL)
		if err != nil || !address.IsAbs() {
			return errors.New("it lists the file under a relative address")
		}
		return client.Download(ctx, address, dst)
	}
	return fmt.Errorf("it does not list %s", a.File)
}
