package dataset

import (
	"context"
	"errors"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"xlarun/xlabridge/fetch"
)

// sources lists the sources of an npm package's archive.
func (s *store) sources() []fetch.Source {
	var sources []fetch.Source
	if registry := npmRegistry(s.getenv, os.ReadFile); registry != "" {
		const name = "the registry of npm's configuration"
		sources = append(sources, fetch.Source{Name: name, Get: func(ctx context.Context, a *fetch.Artifact,
			dst *fetch.Sink) error {
			address, err := url.Parse(registry)
			if err != nil || (address.Scheme != "http" && address.Scheme != "https") {
				return errors.New("its address is no http(s) address")
			}
			return s.client.Download(ctx, address.JoinPath(a.Name, "-", a.File), dst)
		}})
	}
	return append(sources, fetch.Source{Name: "npm pack", Get: fromNPM})
}

// npmRegistry returns the registry of npm's configuration: the environment, the project's .npmrc, or the user's. ""
// leaves it to npm.
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

// fromNPM downloads with npm, which knows its registry, tokens, proxies and client certificates.
func fromNPM(ctx context.Context, a *fetch.Artifact, dst *fetch.Sink) error {
	npm, err := exec.LookPath("npm")
	if err != nil {
		return errors.New("there is no npm on this machine")
	}
	return fetch.FromProgram(ctx, dst, func(dir string) (args, env []string) {
		return []string{npm, "pack", "--silent", "--ignore-scripts", "--pack-destination", dir, a.Name + "@" +
			a.Version}, nil
	})
}
