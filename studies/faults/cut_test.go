package faults

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"xlarun/internal/long"
	"xlarun/internal/network"
)

// Workers whose links were cut, for longer than a lease too, are heard within half a lease after the cut. The
// kernel alone would send again after up to as long as the cut lasted: 1.2 s and 3.2 s after cuts of 2.1 s and 3.5 s.
func TestCutLinks(t *testing.T) {
	long.Only(t)
	const healed = 8 * time.Second
	var cuts []fault
	for i, cut := range []time.Duration{2100 * time.Millisecond, 3500 * time.Millisecond, 6500 * time.Millisecond} {
		cuts = append(cuts, fault{Kind: partition, At: healed - cut, For: cut, Node: coordinator, To: firstWorker + i,
			Link: network.Link{Cut: true}})
	}
	slices.SortFunc(cuts, func(a, b fault) int { return int(a.At - b.At) })
	h := &history{bench: newBench(t), t: t, z: longForm, dir: t.TempDir(), links: map[[2]int][]network.Link{},
		met: map[fault]int{}}
	h.open(false, variants[0])
	defer h.close()
	h.play(cuts)
	for i, w := range h.record.Workers {
		first := slices.IndexFunc(h.record.Events, func(e event) bool {
			return e.At > h.record.Healed && strings.Contains(e.Worker, w)
		})
		require.GreaterOrEqual(t, first, 0, "worker %d", i)
		require.Less(t, h.record.Events[first].At-h.record.Healed, h.z.lease/2, "worker %d", i)
	}
}
