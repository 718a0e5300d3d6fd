package cli

import (
	"errors"
	"io/fs"
	"os"

	"xlarun/rollout/evolve"
	"xlarun/xlabridge"
)

// newEngine is evolve.New as an engine.
func newEngine(b xlabridge.Backend, c evolve.Config) (engine, error) {
	e, err := evolve.New(b, c)
	if err != nil {
		return nil, err
	}
	return e, nil
}

// cause is an error without the operation and the path, for sentences that name the file.
func cause(err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err
	}
	return err
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
