package main

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"xlarun/cmd/internal/shelltest"
)

// A nil that a method of a strategy returns is reported with the line of the method. Some nils were panics inside of
// xlarun, others errors that named no line of the user.
func TestNilsOfStrategiesNameTheMethod(t *testing.T) {
	s := shelltest.New(t)
	s.Program = s.Path("faulty")
	out, err := exec.Command("go", "build", "-o", s.Program, "./testdata/faulty").CombinedOutput()
	require.NoError(t, err, "%s", out)
	for _, method := range []string{"Init", "Sample", "Member", "Tell", "Centre"} {
		p := s.Command("evolve", "CartPole-v1", "--pop", "8", "--steps", "5", "--generations", "1", "--out", "none",
			"--backend", "reference", "--strategy", "faulty", "--strategy.fault", method+": nil")
		require.NoError(t, p.Start())
		assert.Equal(t, 1, p.Ended(), method)
		assert.Regexp(t, `^xlarun evolve: strategy\.go:\d+: the strategy's `+method+
			`: got nil, want a tree of arrays\n$`, p.Err.String())
	}
}

// A panic in a method of a policy, a strategy or a kind of run is one line with the file and the line, and status 1. It
// ended the program with a stack of many lines and status 2.
func TestPanicsOfPartsAreOneLine(t *testing.T) {
	s := shelltest.New(t)
	s.Program = s.Path("faulty")
	out, err := exec.Command("go", "build", "-o", s.Program, "./testdata/faulty").CombinedOutput()
	require.NoError(t, err, "%s", out)
	evolve := []string{"evolve", "CartPole-v1", "--pop", "8", "--steps", "5", "--generations", "1", "--out", "none",
		"--backend", "reference"}
	for _, c := range []struct {
		args    []string
		methods []string
	}{
		{append(evolve, "--policy", "faulty", "--policy.fault"), []string{"Make", "Init", "Start", "Act"}},
		{append(evolve, "--strategy", "faulty", "--strategy.fault"), []string{"GroupSize", "Init", "Sample", "Member",
			"Tell", "Centre"}},
		{[]string{"faulty", "--out", "none", "--backend", "reference", "--fault"}, []string{"Board", "Start", "round",
			"Step"}},
	} {
		for _, method := range c.methods {
			for mistake, want := range map[string]string{"index": "panic: runtime error: index out of range",
				"nil argument": "add: got a nil *Array"} {
				p := s.Command(append(c.args, method+": "+mistake)...)
				require.NoError(t, p.Start())
				assert.Equal(t, 1, p.Ended(), "%v %s: %s", c.args, method, mistake)
				text := p.Err.String()
				assert.Equal(t, 1, strings.Count(text, "\n"), text)
				assert.Regexp(t, `: main\.go:\d+: `, text, "%v %s", c.args, method)
				assert.Contains(t, text, want)
			}
		}
	}
}
