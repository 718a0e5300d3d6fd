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

// TestStudyArguments: --from-study names a file, a study of a database with several, and a trial.
func TestStudyArguments(t *testing.T) {
	odd := filepath.Join(t.TempDir(), "odd:7")
	require.NoError(t, os.WriteFile(odd, nil, 0o600))
	for text, want := range map[string]string{
		"mine.db":                      "mine.db --json --config -",
		"mine.db:7":                    "mine.db --json --config - --trial 7",
		"mine.db:one":                  "mine.db --json --config - --study one",
		"mine.db:one:7":                "mine.db --json --config - --trial 7 --study one",
		"mine.db:2:7":                  "mine.db --json --config - --trial 7 --study 2",
		"spec.toml:0":                  "spec.toml --json --config - --trial 0",
		odd:                            odd + " --json --config -",
		odd + ":one":                   odd + " --json --config - --study one",
		odd + ":3":                     odd + " --json --config - --trial 3",
		"sqlite:///a/b.db":             "sqlite:///a/b.db --json --config -",
		"sqlite:///a/b.db:one:1":       "sqlite:///a/b.db --json --config - --trial 1 --study one",
		"postgresql://me@head:5432/db": "postgresql://me@head:5432/db --json --config -",
		"postgresql://me:x@head:1/d:s": "postgresql://me:x@head:1/d --json --config - --study s",
		":7":                           ":7 --json --config -",
		":":                            ": --json --config -",
	} {
		assert.Equal(t, want, strings.Join(studyArguments(text), " "), text)
	}
}

// TestFromStudyIsRefused: what study best answers names no flag that the run does not have, and
// no study is no reason to train with the defaults.
func TestFromStudyIsRefused(t *testing.T) {
	b := newBed(t)
	var answer string
	b.output = func(context.Context, string, ...string) ([]byte, error) {
		return []byte(answer), errors.New("the sentence on stderr")
	}
	for _, c := range []struct{ study, answer, want string }{
		{"", "", "--from-study is empty: leave it out, or give it a value"},
		{"mine.db", `{"error":"bad_input","message":"xlarun study best: m","reason":"it has two","choose":"study"}`,
			"--from-study mine.db: it has two: say which by --from-study mine.db:STUDY\n"},
		{"mine.db:3", `{"error":"bad_input","message":"xlarun study best: m","reason":"it has two","choose":"study"}`,
			"--from-study mine.db:3: it has two: say which by --from-study mine.db:STUDY:3\n"},
		{"mine.db:one", `{"error":"bad_input","message":"xlarun study best: m","reason":"none is best",` +
			`"choose":"trial"}`,
			"--from-study mine.db:one: none is best: say which by --from-study mine.db:one:N\n"},
		{"mine.db", `{"error":"bad_input","message":"xlarun study best: m is a folder","status":2}`,
			"--from-study mine.db: m is a folder\n"},
		{"mine.db", "", "--from-study mine.db: the sentence on stderr\n"},
		{"mine.db", "panic", "--from-study mine.db: the sentence on stderr\n"},
	} {
		answer = c.answer
		b.refused(t, c.want, "evolve", "CartPole-v1", "--from-study", c.study)
		require.NotContains(t, b.err.String(), "--study")
		require.NotContains(t, b.err.String(), "--trial")
	}
}
