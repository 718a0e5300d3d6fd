package plugin

import (
	"context"
	"encoding/json"
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

// defaultSources lists the sources of a wheel in the order in which they are tried: the indexes of pip's configuration,
// the public index, and pip. pip cannot resume a download, so it comes last, except if pip's configuration has settings
// that only pip supports.
func (s *store) defaultSources() []fetch.Source {
	conf, err := readPipConfig(s.getenv, os.ReadFile)
	pip := fetch.Source{Name: "python3 -m pip download", Get: fromPip}
	var sources []fetch.Source
	add := func(name string, get func(ctx context.Context, a *fetch.Artifact, dst *fetch.Sink) error) {
		sources = append(sources, fetch.Source{Name: name, Get: get})
	}
	const configured = "the package index of pip's configuration"
	if err != nil {
		add(configured, func(context.Context, *fetch.Artifact, *fetch.Sink) error { return err })
	}
	if !conf.noIndex {
		for _, index := range conf.indexes {
			add(configured, func(ctx context.Context, a *fetch.Artifact, dst *fetch.Sink) error {
				return fromIndex(ctx, s.client, index, a, dst)
			})
		}
		add("the public package index", func(ctx context.Context, a *fetch.Artifact, dst *fetch.Sink) error {
			return fromPublicIndex(ctx, s.client, a, dst)
		})
	}
	if conf.pipOnly {
		return append([]fetch.Source{pip}, sources...)
	}
	return append(sources, pip)
}

// indexLimit is the largest index page that is read, in bytes.
const indexLimit = 32 << 20

// fromIndex downloads a file from a package index that speaks the simple repository API (PEP 503).
func fromIndex(ctx context.Context, client *fetch.Client, index string, a *fetch.Artifact, dst *fetch.Sink) error {
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

// projectName returns a distribution's name as index addresses spell it (PEP 503).
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

// publicIndexLimit is how long the public index may take to answer.
const publicIndexLimit = 20 * time.Second

// impossible is a name that no address can have.
const impossible = "\x7f"

// publicIndex returns the address at which go-xla's installer asks the public index for a project.
func publicIndex(name string) (string, error) {
	_, err := installer.GetPipInfo(impossible)
	return addressIn(err, name)
}

// addressIn returns the address for a project from the installer's error for the impossible name. go-xla exports the
// address nowhere else; no request is made.
func addressIn(err error, name string) (string, error) {
	if refused, ok := errors.AsType[*url.Error](err); ok {
		if before, after, found := strings.Cut(refused.URL, impossible); found {
			return before + url.PathEscape(name) + after, nil
		}
	}
	return "", fmt.Errorf("this version of go-xla does not tell the index's address in its error (%v): set index-url "+
		"in pip's configuration", err)
}

// fromPublicIndex downloads from the index of go-xla's installer.
func fromPublicIndex(ctx context.Context, client *fetch.Client, a *fetch.Artifact, dst *fetch.Sink) error {
	address, err := publicIndex(a.Name)
	if err != nil {
		return err
	}
	return fromReleases(ctx, client, address, a, dst)
}

// fromReleases downloads a file that the JSON at an address lists. A mirror may list it under a relative address, which
// is relative to the address that answered.
func fromReleases(
	ctx context.Context, client *fetch.Client, address string, a *fetch.Artifact, dst *fetch.Sink,
) error {
	limited, cancel := context.WithTimeout(ctx, publicIndexLimit)
	defer cancel()
	req, err := http.NewRequestWithContext(limited, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	resp, err := client.HTTP.Do(req)
	if err != nil {
		return fmt.Errorf("it does not answer: %w", fetch.Cause(err))
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("it answers %s for %s", resp.Status, a.Name)
	}
	var info installer.PipPackageInfo
	if err := json.NewDecoder(io.LimitReader(resp.Body, indexLimit)).Decode(&info); err != nil {
		return fmt.Errorf("its answer for %s cannot be read: %w", a.Name, err)
	}
	for _, f := range info.Releases[a.Version] {
		if f.Filename != a.File {
			continue
		}
		file, err := resp.Request.URL.Parse(f.URL)
		if err != nil {
			return err
		}
		return client.Download(ctx, file, dst)
	}
	return fmt.Errorf("it does not list %s", a.File)
}

// fromPip downloads with pip, which supports keyrings, netrc and certificates.
func fromPip(ctx context.Context, a *fetch.Artifact, dst *fetch.Sink) error {
	python, err := exec.LookPath("python3")
	if err != nil {
		if python, err = exec.LookPath("python"); err != nil {
			return errors.New("there is no python3 on this machine")
		}
	}
	return runPip(ctx, []string{python, "-m", "pip"}, a, dst)
}

// runPip downloads with the command pip, a program and its first arguments.
func runPip(ctx context.Context, pip []string, a *fetch.Artifact, dst *fetch.Sink) error {
	err := fetch.FromProgram(ctx, dst, func(dir string) (args, env []string) {
		return slices.Concat(pip, pipArguments(a, dir)), []string{"PIP_REQUIRE_VIRTUALENV=false"}
	})
	if err != nil && strings.Contains(err.Error(), "No matching distribution found") { // pip says so offline, too
		return fmt.Errorf("it reaches no index that has %s %s", a.Name, a.Version)
	}
	return err
}

// pipArguments returns arguments for pip to download the pinned wheel with any version of Python. They repeat
// the tags of the wheel's file name.
func pipArguments(a *fetch.Artifact, dir string) []string {
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
