package session

import (
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/rollout/run"
)

// The best member is named as its file is: of the hall of fame, that is the first.
func TestMemberName(t *testing.T) {
	require.Equal(t, "hall-of-fame-1", memberName(run.HallOfFame))
	require.Equal(t, "best ever", memberName("best_ever"))
	require.Equal(t, "mean", memberName("mean"))
}
