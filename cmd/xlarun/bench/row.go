package bench

import (
	"fmt"
	"io"
	"slices"
	"text/tabwriter"

	"xlarun/cmd/xlarun/console"
)

// row is one row of the result. Without a peer its fields are null.
type row struct {
	Name        string   `json:"name"`
	Ours        float64  `json:"ours_seconds"`
	Peer        *string  `json:"peer"`
	PeerSeconds *float64 `json:"peer_seconds"`
	Ratio       *float64 `json:"ratio"`
	Needed      float64  `json:"needed,omitempty"`
	Aim         float64  `json:"aim,omitempty"`

	// The most resident memory of a process of ours that compiles the programs, of one that finds them in the cache, of the
	// peer's, and of one of ours that opens the plugin alone.
	PeakBytes       *int64 `json:"ours_peak_bytes,omitempty"`
	CachedPeakBytes *int64 `json:"ours_cached_peak_bytes,omitempty"`
	PeerPeakBytes   *int64 `json:"peer_peak_bytes,omitempty"`
	PluginPeakBytes *int64 `json:"plugin_peak_bytes,omitempty"`

	MemberStep float64      `json:"member_step_seconds,omitempty"`
	Beside     []besideSize `json:"beside,omitempty"`

	note string // lines below the table
}

// besideSize is a size's time per member and step as a multiple of another's.
type besideSize struct {
	Size  string  `json:"size"`
	Times float64 `json:"times"`
}

// against puts a peer's time beside ours.
func (l row) against(peer string, seconds float64) row {
	ratio := seconds / l.Ours
	l.Peer, l.PeerSeconds, l.Ratio = &peer, &seconds, &ratio
	l.Needed, l.Aim = wantedRatios[l.Name].needed, wantedRatios[l.Name].aim
	return l
}

func (r summary) print(out io.Writer) error {
	t := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	memory := slices.ContainsFunc(r.Workloads, func(l row) bool { return l.PeerPeakBytes != nil })
	fmt.Fprint(t, "WORKLOAD\tOURS\tPEER\t\tRATIO\tNEEDED\tAIM")
	if memory {
		fmt.Fprint(t, "\tOUR PEAK MEMORY\tFROM THE CACHE\tPEER'S\tRATIO")
	}
	fmt.Fprintln(t)
	for _, l := range r.Workloads {
		peer, theirs, ratio := "-", "", 0.
		if l.Peer != nil {
			peer, theirs, ratio = console.ShortTime(*l.PeerSeconds), *l.Peer, *l.Ratio
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s", l.Name, console.ShortTime(l.Ours), peer, theirs, ratioText(ratio), ratioText(l.Needed), ratioText(l.Aim))
		if memory {
			fmt.Fprintf(t, "\t%s\t%s\t%s\t%s", bytesText(l.PeakBytes), bytesText(l.CachedPeakBytes), bytesText(l.PeerPeakBytes), ratioText(l.peakRatio()))
		}
		fmt.Fprintln(t)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, l := range r.Workloads {
		fmt.Fprint(out, l.note)
	}
	return nil
}

func ratioText(x float64) string {
	if x == 0 {
		return "-"
	}
	return fmt.Sprintf("%.3g", x)
}
