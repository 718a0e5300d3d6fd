package session

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The end of a run named the best member "fame", and no file has that name.
func TestMemberName(t *testing.T) {
	require.Equal(t, "hall-of-fame-1", memberName("fame"))
	require.Equal(t, "best ever", memberName("best_ever"))
	require.Equal(t, "mean", memberName("mean"))
}
