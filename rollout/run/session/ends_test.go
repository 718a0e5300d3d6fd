package session

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestEndsReached(t *testing.T) {
	all := Ends{After: time.Minute, Rounds: 3, Work: 1000}
	for _, c := range []struct {
		ends     Ends
		computed time.Duration
		rounds   int64
		work     float64
		want     string
	}{
		{Ends{}, 1 << 60, 1 << 60, 1e300, ""},
		{all, 0, 0, 0, ""},
		{all, time.Minute - 1, 2, 999, ""},
		{all, time.Minute, 2, 999, "time"},
		{all, 0, 3, 999, "rounds"},
		{all, 0, 2, 1000, "total_steps"},
		{all, time.Hour, 7, 5000, "rounds"},
		{Ends{After: 1}, 1, 0, 0, "time"},
	} {
		require.Equal(t, c.want, c.ends.reached(c.computed, c.rounds, c.work), "%+v", c)
	}
	require.Equal(t, "rounds = 3", all.value("rounds"))
	require.Equal(t, "total-steps = 1000", all.value("total_steps"))
}
