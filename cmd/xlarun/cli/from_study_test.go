package cli

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestStudyArguments (case 27.102): --from-study names a file, a study of a database with several, and a trial.
func TestStudyArguments(t *testing.T) {
	odd := filepath.Join(t.TempDir(), "odd:7")
	require.NoError(t, os.WriteFile(odd, nil, 0o600))
	for text, want := range map[string]string{
		"mine.db":                      "mine.db --config - --trial -1",
		"mine.db:7":                    "mine.db --config - --trial 7",
		"mine.db:one":                  "mine.db --config - --trial -1 --study one",
		"mine.db:one:7":                "mine.db --config - --trial 7 --study one",
		"mine.db:2:7":                  "mine.db --config - --trial 7 --study 2",
		"spec.toml:0":                  "spec.toml --config - --trial 0",
		odd:                            odd + " --config - --trial -1",
		odd + ":one":                   odd + " --config - --trial -1 --study one",
		odd + ":3":                     odd + " --config - --trial 3",
		"sqlite:///a/b.db":             "sqlite:///a/b.db --config - --trial -1",
		"sqlite:///a/b.db:one:1":       "sqlite:///a/b.db --config - --trial 1 --study one",
		"postgresql://me@head:5432/db": "postgresql://me@head:5432/db --config - --trial -1",
		"postgresql://me:x@head:1/d:s": "postgresql://me:x@head:1/d --config - --trial -1 --study s",
		":7":                           ":7 --config - --trial -1",
		":":                            ": --config - --trial -1",
	} {
		assert.Equal(t, want, strings.Join(studyArguments(text), " "), text)
	}
}

// TestFromStudyIsRefused (case 27.102): what study best answers names no flag that the run does not have, and no study
// is no reason to train with the defaults.
func TestFromStudyIsRefused(t *testing.T) {
	b := newBed(t)
	var answer error
	b.output = func(context.Context, string, ...string) ([]byte, error) { return nil, answer }
	for _, c := range []struct{ study, answer, want string }{
		{"", "", "--from-study is empty: leave it out, or give it a value"},
		{"mine.db", "xlarun study best: mine.db has the studies one, two: say which by --study",
			"--from-study mine.db: mine.db has the studies one, two: say which by --from-study mine.db:STUDY"},
		{"mine.db:3", "xlarun study best: mine.db has the studies one, two: say which by --study",
			"mine.db has the studies one, two: say which by --from-study mine.db:STUDY"},
		{"mine.db:one", "xlarun study best: no trial of one is better than all others in 2 objectives: choose one of " +
			"these by --trial", "choose one of these by --from-study mine.db:one:N"},
	} {
		answer = errors.New(c.answer)
		require.Equal(t, StatusUsage, b.do("evolve", "CartPole-v1", "--from-study", c.study), c.study)
		require.Contains(t, b.err.String(), c.want)
		require.NotContains(t, b.err.String(), "--study")
		require.NotContains(t, b.err.String(), "--trial")
	}
}
