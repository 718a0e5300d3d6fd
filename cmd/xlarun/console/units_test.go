package console

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestShortTime(t *testing.T) {
	for s, want := range map[float64]string{0: "0 us", 1.23456e-5: "12.3 us", .001: "1 ms", .0999: "99.9 ms", 1: "1 s",
		61.27: "61.3 s", math.Inf(1): "+Inf s"} {
		require.Equal(t, want, ShortTime(s))
	}
}

func TestAgo(t *testing.T) {
	for d, want := range map[time.Duration]string{0: "just now", 59 * time.Second: "just now", time.Minute: "1 min ago",
		90 * time.Minute: "1 h ago",
		47 * time.Hour:   "47 h ago", 48 * time.Hour: "2 days ago"} {
		require.Equal(t, want, Ago(d))
	}
}
