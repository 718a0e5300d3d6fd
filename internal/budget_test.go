package internal_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/internal/budget"
	"xlarun/internal/programs"
)

func TestCheck(t *testing.T) {
	check := func(got int) error {
		return budget.Check("graph has %d lines", got, 100, 2000, "budget.toml", "go test")
	}
	require.NoError(t, check(2000))
	require.NoError(t, check(1701), "rounded up it is nine tenths")
	require.EqualError(t, check(2001), "graph has 2001 lines, its budget is 2000: make room, or raise it in "+
		"budget.toml and say why in the commit")
	require.EqualError(t, check(1700), "graph has 1700 lines, less than nine tenths of its budget, which is 2000: "+
		"lower it, which `go test` does")
}

func TestCountedLeavesRoom(t *testing.T) {
	require.Equal(t, [2]int{5, 500}, budget.Counted(programs.Total{Programs: 1, Bytes: 2000}))
	require.Equal(t, [2]int{125, 22_500}, budget.Counted(programs.Total{Programs: 114, Bytes: 21_000_000}))
}

// TestPrograms: a binary without a row has no budget, so it may have no programs.
func TestPrograms(t *testing.T) {
	t.Setenv("XLARUN_LONG", "")
	t.Setenv("XLARUN_TEST_BACKEND", "")
	require.NoError(t, budget.Programs(programs.Total{}))
	require.EqualError(t, budget.Programs(programs.Total{Programs: 1}), "the tests of internal have 1 different XLA "+
		"programs, their budget is 0: use programs that other tests have, or smaller ones, or raise it in "+
		"internal/budget/programs.toml and say why in the commit")
	t.Setenv("XLARUN_LONG", "1")
	require.NoError(t, budget.Programs(programs.Total{Programs: 1}))
}
