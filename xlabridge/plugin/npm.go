package plugin

import (
	"bytes"
	"context"
	"errors"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// npmWays lists the ways to an npm package's archive.
func (s *store) npmWays() []way {
	var ways []way
	if registry := npmRegistry(s.getenv, os.ReadFile); registry != "" {
		ways = append(ways, way{name: "the registry of npm's configuration", get: func(ctx context.Context, w *wheel, dst *sink) error {
			address, err := url.Parse(registry)
			if err != nil || (address.Scheme != "http" && address.Scheme != "https") {
				return errors.New("its address is no http(s) address")
			}
			client, err := (&pipConfig{}).client()
			if err != nil {
				return err
			}
			return download(ctx, client, address.JoinPath(w.Name, "-", w.File), dst)
		}})
	}
	return append(ways, way{name: "npm pack", get: fromNPM})
}

// npmRegistry is the registry that npm's configuration names: the environment, then the project's .npmrc, then the
// user's. "" leaves it to npm itself.
func npmRegistry(getenv func(string) string, readFile func(string) ([]byte, error)) string {
	for _, name := range []string{"npm_config_registry", "NPM_CONFIG_REGISTRY"} {
		if v := getenv(name); v != "" {
			return v
		}
	}
	files := []string{".npmrc"}
	user := getenv("NPM_CONFIG_USERCONFIG")
	if user == "" {
		user = getenv("npm_config_userconfig")
	}
	if user == "" && getenv("HOME") != "" {
		user = filepath.Join(getenv("HOME"), ".npmrc")
	}
	if user != "" {
		files = append(files, user)
	}
	for _, file := range files {
		text, err := readFile(file)
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(text)) {
			key, value, ok := strings.Cut(strings.TrimSpace(line), "=")
			if ok && strings.TrimSpace(key) == "registry" {
				return os.Expand(strings.Trim(strings.TrimSpace(value), `"'`), getenv)
			}
		}
	}
	return ""
}

// fromNPM leaves the download to npm, which knows its own registry and ways (tokens, proxies, client certificates) that
// the other way does not.
func fromNPM(ctx context.Context, w *wheel, dst *sink) error {
	npm, err := exec.LookPath("npm")
	if err != nil {
		return errors.New("there is no npm on this machine")
	}
	dir, err := os.MkdirTemp(filepath.Dir(dst.f.Name()), "npm-")
	if err != nil {
		return writeError{err}
	}
	defer func() { _ = os.RemoveAll(dir) }()
	cmd := exec.CommandContext(ctx, npm, "pack", "--silent", "--ignore-scripts", "--pack-destination", dir, w.Name+"@"+w.Version)
	ownGroup(cmd)
	cmd.WaitDelay = time.Second
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	err = cmd.Run()
	return brought(ctx, err, output.String(), filepath.Join(dir, w.File), dst)
}
