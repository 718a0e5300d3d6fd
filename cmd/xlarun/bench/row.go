package bench

import (
	"fmt"
	"io"
	"slices"
	"strings"
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

// heads are those of the table's columns; with memory, of the processes too.
func heads(memory bool) []string {
	all := []string{"WORKLOAD", "OURS", "PEER", "", "RATIO", "NEEDED", "AIM"}
	if memory {
		all = append(all, "OUR PEAK MEMORY", "FROM THE CACHE", "PEER'S", "RATIO")
	}
	return all
}

// cells are what stands below the heads.
func (l row) cells(memory bool) []string {
	peer, theirs, ratio := "-", "", 0.
	if l.Peer != nil {
		peer, theirs, ratio = console.ShortTime(*l.PeerSeconds), *l.Peer, *l.Ratio
	}
	all := []string{l.Name, console.ShortTime(l.Ours), peer, theirs, ratioText(ratio), ratioText(l.Needed), ratioText(l.Aim)}
	if memory {
		all = append(all, bytesText(l.PeakBytes), bytesText(l.CachedPeakBytes), bytesText(l.PeerPeakBytes), ratioText(l.peakRatio()))
	}
	return all
}

func (r summary) print(out io.Writer) error {
	t := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	memory := slices.ContainsFunc(r.Workloads, func(l row) bool { return l.PeerPeakBytes != nil })
	fmt.Fprintln(t, strings.Join(heads(memory), "\t"))
	for _, l := range r.Workloads {
		fmt.Fprintln(t, strings.Join(l.cells(memory), "\t"))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	r.printNotes(out)
	return nil
}

func (r summary) printNotes(out io.Writer) {
	for _, l := range r.Workloads {
		fmt.Fprint(out, l.note)
	}
}

// described is a workload that a table shows.
type described interface {
	// describe gives its name, and what it is in words.
	describe() (name, what string)
}

// roomOfCell is that of the widest text of a column whose head is short: "1.23e+03 us".
const roomOfCell = 9

// measured says what the workloads are, then measures one after the other; each one's line of the table is printed as soon as there is one. memory
// tells that the table shows that of processes.
func measured[W described](out io.Writer, workloads []W, memory bool, measure func(W) (row, error)) (s summary, err error) {
	first := 0
	for _, w := range workloads {
		name, what := w.describe()
		fmt.Fprintf(out, "%s: %s\n", name, what)
		first = max(first, len(name))
	}
	top := heads(memory)
	write := func(cells []string) {
		var line strings.Builder
		for i, cell := range cells {
			room := max(len(top[i]), roomOfCell)
			if i == 0 {
				room = max(room, first)
			}
			fmt.Fprintf(&line, "%-*s  ", room, cell)
		}
		fmt.Fprintln(out, strings.TrimRight(line.String(), " "))
	}
	write(top)
	for _, w := range workloads {
		l, err := measure(w)
		if err != nil {
			name, _ := w.describe()
			return s, fmt.Errorf("%s: %w", name, err)
		}
		write(l.cells(memory))
		s.Workloads = append(s.Workloads, l)
	}
	s.printNotes(out)
	return s, nil
}

func ratioText(x float64) string {
	if x == 0 {
		return "-"
	}
	return fmt.Sprintf("%.3g", x)
}
