package session

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"xlarun/rollout/run"
)

// A run whose training is in the cache may wait for the program that judges its members. It says so.
func TestUntrainedNamesCompiling(t *testing.T) {
	s := &session{Options: Options{Kind: run.Kind{Round: "step"}}, rounds: 1, first: 1, firstEnd: 2 * time.Second,
		awaited: 5.5}
	text := "90 % of 10.0 s without training: 1.0 s until the first step, 8.0 s for members and files"
	require.Equal(t, text+", of which 5.5 s to compile their evaluation", s.untrained(10*time.Second))
	s.awaited = .01
	require.Equal(t, text, s.untrained(10*time.Second))
	s.waited = 6 // it counted as the members' time
	require.Equal(t, strings.Replace(text, "8.0 s for members and files", "2.0 s for members and files, and 6.0 s of "+
		"waiting for the server", 1), s.untrained(10*time.Second))
}
