package plugin

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"xlarun/third_party/fetch"
)

// defaultWays lists the ways of download in the order in which they are tried.
func (s *store) defaultWays() []fetch.Way {
	conf, err := readPipConfig(s.getenv, os.ReadFile)
	client, clientErr := conf.client()
	if err == nil {
		err = clientErr
	}
	if client != nil && s.waits != nil {
		client.Waits = s.waits
	}
	// What is wrong with pip's settings is said by each way that needs them.
	by := func(get func(ctx context.Context, a *fetch.Artefact, dst *fetch.Sink) error) func(context.Context, *fetch.Artefact, *fetch.Sink) error {
		return func(ctx context.Context, a *fetch.Artefact, dst *fetch.Sink) error {
			if err != nil {
				return err
			}
			return get(ctx, a, dst)
		}
	}
	ways := []fetch.Way{{
		Name: "pip's find-links",
		Has:  func(a *fetch.Artefact) bool { return inFindLinks(conf.findLinks, a) != "" },
		Get: func(ctx context.Context, a *fetch.Artefact, dst *fetch.Sink) error {
			return dst.CopyFile(ctx, inFindLinks(conf.findLinks, a))
		},
	}}
	if !conf.noIndex {
		for _, index := range conf.indexes {
			ways = append(ways, fetch.Way{
				Name: "the package index of pip's configuration",
				Get: by(func(ctx context.Context, a *fetch.Artefact, dst *fetch.Sink) error {
					return fromIndex(ctx, client, index, a, dst)
				}),
			})
		}
		ways = append(ways, fetch.Way{
			Name: "the public package index",
			Get: by(func(ctx context.Context, a *fetch.Artefact, dst *fetch.Sink) error {
				return fromPublicIndex(ctx, client, a, dst)
			}),
		})
	}
	return append(ways, fetch.Way{Name: "python3 -m pip download", Get: fromPip})
}

// inFindLinks is the path of the wheel in the first folder that holds it, or "".
func inFindLinks(links []string, a *fetch.Artefact) string {
	for _, link := range links {
		path := filepath.Join(strings.TrimPrefix(link, "file://"), a.File)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return path
		}
	}
	return ""
}
