package session

import (
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
}
