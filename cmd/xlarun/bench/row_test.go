package bench

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

type namedWork struct{ name, what string }

func (w namedWork) describe() (name, what string) { return w.name, w.what }

func TestRowsArePrintedAsTheyAreMeasured(t *testing.T) {
	work := []namedWork{{"first", "the one"}, {"a-longer-name", "the other"}, {"broken", "what fails"}}
	mb := func(n int64) *int64 { n *= 1_000_000; return &n }
	var out strings.Builder
	var seen []string // as each measurement began
	s, err := measured(&out, work, true, func(w namedWork) (row, error) {
		seen = append(seen, out.String())
		l := row{Name: w.name, Ours: .004, note: w.name + ": a note\n"}
		switch w.name {
		case "broken":
			return l, errors.New("no luck")
		case "first":
			l = l.against("jax", .03)
			l.PeakBytes, l.PeerPeakBytes = mb(300), mb(450)
		}
		return l, nil
	})
	require.EqualError(t, err, "broken: no luck")
	require.Len(t, s.Workloads, 2)
	require.Len(t, seen, 3)
	head := `first: the one
a-longer-name: the other
broken: what fails
WORKLOAD       OURS       PEER                  RATIO      NEEDED     AIM        OUR PEAK MEMORY  FROM THE CACHE  PEER'S     RATIO
`
	first := "first          4 ms       30 ms      jax        7.5        -          -          300 MB           -               450 MB     1.5\n"
	second := "a-longer-name  4 ms       -                     -          -          -          -                -               -          -\n"
	require.Equal(t, head, seen[0])
	require.Equal(t, head+first, seen[1])
	require.Equal(t, head+first+second, seen[2])

	out.Reset()
	_, err = measured(&out, work[:1], false, func(w namedWork) (row, error) { return row{Name: w.name, Ours: 2, note: "first: a note\n"}, nil })
	require.NoError(t, err)
	require.Equal(t, `first: the one
WORKLOAD   OURS       PEER                  RATIO      NEEDED     AIM
first      2 s        -                     -          -          -
first: a note
`, out.String())
}
