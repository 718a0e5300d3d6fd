package display

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// sofar is a generation with some tiles done, out of total; left is 0 if it is not known.
func sofar(done, total int64, taken, left time.Duration) Progress {
	return Progress{Round: "generation 12", Done: done, Total: total, Parts: "tiles", Taken: taken, Left: left}
}

func TestProgressText(t *testing.T) {
	const second = time.Second
	for _, c := range []struct {
		name string
		p    Progress
		want string
	}{
		{"tiles and time", sofar(37, 128, 9*second, 21*second), "generation 12: 37 of 128 tiles, 0:21 left"},
		{"none done, none expected", sofar(0, 128, 9*second, 0), "generation 12: 0 of 128 tiles, 0:09 so far"},
		{"none done, some expected", sofar(0, 128, 9*second, 61*second),
			"generation 12: 0 of 128 tiles, 0:09 so far, about 1:01 left"},
		{"the next tile is late", sofar(1, 2, 90*second, 0), "generation 12: 1 of 2 tiles, 1:30 so far"},
		{"nothing is counted", sofar(0, 0, 12*second, 0), "generation 12: 0:12 so far"},
		{"as the last generation", sofar(0, 0, 12*second, 2*time.Hour),
			"generation 12: 0:12 so far, about 2:00:00 left"},
	} {
		require.Equal(t, c.want, c.p.text(), c.name)
	}
}

// Without a terminal a line says how far a round is after half a minute, and in a round of many hours more rarely.
func TestPlainProgress(t *testing.T) {
	for _, c := range []struct {
		name         string
		left         time.Duration
		lines, every int
	}{{"a line in half a minute", 2 * time.Minute, 3, 30}, {"a line in a hundredth", 10 * time.Hour, 1, 400}} {
		var out bytes.Buffer
		clock := newClock()
		l := newLog(&out, generations(), clock.now)
		l.Phase("the first generation")
		out.Reset()
		for s := range c.lines * c.every {
			clock.pass(time.Second)
			l.Progress(sofar(int64(s), 1000, time.Duration(s)*time.Second, c.left))
		}
		require.Equal(t, c.lines, strings.Count(out.String(), "\n"), "%s: %s", c.name, out.String())
	}
}

// On a terminal the line of what happens now says how far a round is, until the news of the round.
func TestLiveProgress(t *testing.T) {
	l := newLive(nil, generations(), newClock().now)
	l.Progress(sofar(37, 128, 9*time.Second, 21*time.Second))
	require.Equal(t, "generation 12: 37 of 128 tiles, 0:21 left", l.phase)
	l.Report(generation(12, 490, 484))
	require.Empty(t, l.phase)
}
