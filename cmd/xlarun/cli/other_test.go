package cli

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/cmd/xlarun/console"
)

// Commands of other programs get the command line as it is.
func TestOtherPrograms(t *testing.T) {
	b := newBed(t)
	for _, c := range []struct {
		program string
		args    []string
	}{
		{"xlarun-study", []string{"study"}},
		{"xlarun-study", []string{"study", "run", "spec.toml", "--json", "--trials=3"}},
		{"xlarun-bench", []string{"bench", "generation-small", "--backend", "reference"}},
		{"xlarun-study", []string{"serve", "--help"}},
		{"xlarun-study", []string{"help", "study", "run"}},
		{"xlarun-study", []string{"__complete", "study", "r"}},
		{"xlarun-study", []string{"work", "nats://head:4222", "--wait", "1s"}},
		{"xlarun-study", []string{"copy", "s3://bucket/try", "runs/try"}},
		{"xlarun-bench", []string{"bench", "generation-small", "--json", "true"}},
	} {
		b.handed = nil
		b.do(c.args...)
		require.Equal(t, append([]string{"/programs/" + c.program}, c.args...), b.handed)
	}
	b.handed = nil
	b.do("--backend", "reference", "bench", "generation-small")
	handed := []string{"/programs/xlarun-bench", "bench", "generation-small", "--backend", "reference"}
	require.Equal(t, handed, b.handed)

	b.handed = nil
	b.ok(t, "__complete stu")
	require.Contains(t, b.out.String(), "study\tSearch hyper-parameters")
	require.Nil(t, b.handed, "this program knows the names of the commands")

	b.find = func(string) (string, error) { return "", console.BadInput("it is not there") }
	b.refused(t, "xlarun study: it is not there", "study run")
	b.refused(t, "--from-study a.db: it is not there", "evolve --from-study a.db")
	b.refused(t, "--mirror s3://x/y: it is not there", "evolve --out new --mirror s3://x/y")
	b.find = func(string) (string, error) { return "", errors.New("it cannot be built") }
	require.Equal(t, StatusFailed, b.do("bench"))
}

// The other programs showed the help of xlarun, with commands that they are not for.
func TestHelpOfOtherPrograms(t *testing.T) {
	require.Equal(t, "xlarun-bench", otherProgram("/bin/xlarun-bench"))
	require.Empty(t, otherProgram("/bin/xlarun"))
	for program, of := range map[string][]string{"xlarun-bench": {"bench"},
		"xlarun-study": {"study", "serve", "work", "copy"}} {
		b := newBed(t)
		b.program = program
		b.ok(t, "--help")
		help := b.out.String()
		require.Regexp(t, `^`+program+` is a part of xlarun, which starts it: xlarun `, help)
		require.Contains(t, help, "\n  "+program+" COMMAND\n")
		_, listed, _ := strings.Cut(help, "Commands:\n")
		listed, _, _ = strings.Cut(listed, "\n\n")
		for _, c := range of {
			require.Regexp(t, `(?m)^  `+c+` `, listed)
		}
		require.NotContains(t, listed, "evolve")
	}
}
