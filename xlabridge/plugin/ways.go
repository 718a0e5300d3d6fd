package plugin

import (
	"context"
	"errors"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/gomlx/go-xla/installer"

	"xlarun/xlabridge/fetch"
)

// defaultWays lists the ways of download in the order in which they are tried. pip is the last one, since it neither
// resumes nor exists everywhere. It is the first one where pip's configuration has settings that only pip follows.
func (s *store) defaultWays() []fetch.Way {
	conf, err := readPipConfig(s.getenv, os.ReadFile)
	client := fetch.NewClient(fetch.NewTransport())
	if s.waits != nil {
		client.Waits = s.waits
	}
	var ways []fetch.Way
	if err != nil {
		ways = append(ways, fetch.Way{
			Name: "the package index of pip's configuration",
			Get:  func(context.Context, *fetch.Artefact, *fetch.Sink) error { return err },
		})
	}
	if !conf.noIndex {
		for _, index := range conf.indexes {
			ways = append(ways, fetch.Way{
				Name: "the package index of pip's configuration",
				Get: func(ctx context.Context, a *fetch.Artefact, dst *fetch.Sink) error {
					return fromIndex(ctx, client, index, a, dst)
				},
			})
		}
		ways = append(ways, fetch.Way{
			Name: "the public package index",
			Get: func(ctx context.Context, a *fetch.Artefact, dst *fetch.Sink) error {
				return fromPublicIndex(ctx, client, a, dst)
			},
		})
	}
	pip := fetch.Way{Name: "python3 -m pip download", Get: fromPip}
	if conf.pipOnly {
		return append([]fetch.Way{pip}, ways...)
	}
	return append(ways, pip)
}

// indexLimit bounds an index page, in bytes.
const indexLimit = 32 << 20

// fromIndex downloads a file from a package index that speaks the simple repository API (PEP 503).
func fromIndex(ctx context.Context, client *fetch.Client, index string, a *fetch.Artefact, dst *fetch.Sink) error {
	page, err := url.Parse(index)
	if err != nil || (page.Scheme != "http" && page.Scheme != "https") {
		return errors.New("its address is no http(s) address")
	}
	page = page.JoinPath(projectName(a.Name), "/")
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, page.String(), nil)
	if err != nil {
		return err
	}
	req.Header.Set("Accept", "text/html")
	resp, err := client.HTTP.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("it answers %s for %s", resp.Status, a.Name)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, indexLimit))
	if err != nil {
		return err
	}
	link := linkTo(a.File, body)
	if link == nil {
		return fmt.Errorf("its answer for %s does not list %s", a.Name, a.File)
	}
	address := resp.Request.URL.ResolveReference(link)
	if address.Host == page.Host && address.User == nil {
		address.User = page.User
	}
	return client.Download(ctx, address, dst)
}

var separators = regexp.MustCompile(`[-_.]+`)

// projectName is a distribution's name as index addresses spell it.
func projectName(name string) string { return strings.ToLower(separators.ReplaceAllString(name, "-")) }

var anchor = regexp.MustCompile(`(?is)<a\s[^>]*?href\s*=\s*(?:"([^"]*)"|'([^']*)')`)

// linkTo finds the link to a file in an index page. It returns nil if there is none.
func linkTo(file string, page []byte) *url.URL {
	for _, m := range anchor.FindAllSubmatch(page, -1) {
		link, err := url.Parse(html.UnescapeString(string(m[1]) + string(m[2])))
		if err == nil && path.Base(link.Path) == file {
			link.Fragment = ""
			return link
		}
	}
	return nil
}

// publicIndexLimit is how long go-xla's installer may take for its answer.
const publicIndexLimit = 20 * time.Second

// fromPublicIndex downloads from the index that go-xla's installer knows. Mirrors of it may answer with relative
// addresses, which cannot be followed without the mirror's own address.
func fromPublicIndex(ctx context.Context, client *fetch.Client, a *fetch.Artefact, dst *fetch.Sink) error {
	var info *installer.PipPackageInfo
	var err error
	answered := make(chan struct{})
	go func() { // the call takes no context and is abandoned when ctx ends
		defer close(answered)
		info, err = installer.GetPipInfo(a.Name)
	}()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(publicIndexLimit):
		return errors.New("it does not answer")
	case <-answered:
	}
	if err != nil {
		return fmt.Errorf("it does not answer: %w", fetch.Cause(err))
	}
	for _, f := range info.Releases[a.Version] {
		if f.Filename != a.File {
			continue
		}
		address, err := url.Parse(f.URL)
		if err != nil || !address.IsAbs() {
			return errors.New("it lists the file under a relative address")
		}
		return client.Download(ctx, address, dst)
	}
	return fmt.Errorf("it does not list %s", a.File)
}

// fromPip downloads with pip, which knows ways (keyrings, netrc, certificates) that the others do not.
func fromPip(ctx context.Context, a *fetch.Artefact, dst *fetch.Sink) error {
	python, err := exec.LookPath("python3")
	if err != nil {
		if python, err = exec.LookPath("python"); err != nil {
			return errors.New("there is no python3 on this machine")
		}
	}
	return runPip(ctx, []string{python, "-m", "pip"}, a, dst)
}

// runPip runs the command pip (its program and first arguments).
func runPip(ctx context.Context, pip []string, a *fetch.Artefact, dst *fetch.Sink) error {
	return fetch.FromProgram(ctx, dst, func(dir string) (args, env []string) {
		return slices.Concat(pip, pipArguments(a, dir)), []string{"PIP_REQUIRE_VIRTUALENV=false"}
	})
}

// pipArguments asks for exactly the pinned wheel, whatever Python runs pip. The tags are those of the file's name.
func pipArguments(a *fetch.Artefact, dir string) []string {
	args := []string{"download", "--quiet", "--no-deps", "--no-input", "--disable-pip-version-check",
		"--retries", "2", "--only-binary=:all:", "--dest", dir}
	tags := strings.Split(strings.TrimSuffix(a.File, ".whl"), "-")
	if len(tags) >= 5 {
		python, abi, platforms := tags[len(tags)-3], tags[len(tags)-2], tags[len(tags)-1]
		for p := range strings.SplitSeq(platforms, ".") {
			args = append(args, "--platform", p)
		}
		if version, ok := strings.CutPrefix(python, "cp"); ok {
			args = append(args, "--implementation", "cp", "--python-version", version, "--abi", abi)
		}
	}
	return append(args, a.Name+"=="+a.Version)
}
