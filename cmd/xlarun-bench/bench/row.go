package bench

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"text/tabwriter"

	"xlarun/cmd/xlarun/console"
	"xlarun/cmd/xlarun/display"
	"xlarun/cmd/xlarun/machine"
)

// row is one row of a table: a workload beside one peer. A ratio is the peer's time divided by ours, the median over
// turns. Without a peer, or if it failed, the peer's numbers are null.
type row struct {
	Name        string   `json:"name"`
	What        string   `json:"what,omitempty"`
	Ours        float64  `json:"ours_seconds"`
	Peer        *string  `json:"peer"`
	PeerSeconds *float64 `json:"peer_seconds"`
	Ratio       *float64 `json:"ratio"`
	// P99 is the time within which 99 of 100 of our runs end, in the unit of Ours, which is the median. 0: there are
	// too few runs.
	P99  float64 `json:"ours_seconds_p99,omitempty"`
	Rate float64 `json:"rate,omitempty"` // units of work in a second
	Unit string  `json:"unit,omitempty"`
	// ProcessorRatio is the ratio of CPU times, which other work on the machine disturbs less.
	ProcessorRatio float64 `json:"processor_ratio,omitempty"`
	Processor      float64 `json:"ours_processor_seconds,omitempty"`
	Compile        float64 `json:"ours_compile_seconds,omitempty"`
	PeerProcessor  float64 `json:"peer_processor_seconds,omitempty"`
	PeerCompile    float64 `json:"peer_compile_seconds,omitempty"`
	CompileRatio   float64 `json:"compile_ratio,omitempty"`
	PeakBytes      int64   `json:"ours_peak_bytes,omitempty"`
	PeerPeakBytes  int64   `json:"peer_peak_bytes,omitempty"`
	Result         float64 `json:"result"`
	PeerResult     float64 `json:"peer_result,omitempty"`
	Plan           string  `json:"plan,omitempty"`
	// Gain is the rate over that of the workload before, GainCPU the same with the CPU time of both; There and
	// GainThere are those that another program reports.
	Gain      float64 `json:"gain,omitempty"`
	GainCPU   float64 `json:"processor_gain,omitempty"`
	There     float64 `json:"there,omitempty"`
	GainThere float64 `json:"gain_there,omitempty"`
	// Short: the budget left time for fewer or shorter turns than were asked for.
	Short bool `json:"cut_short,omitempty"`
	// Below names what does not reach the goal: ratio, CPU, compiling or seconds.
	Goal
	Below []string `json:"below,omitempty"`
	// Share is how much of a limit's speed ours reaches, and Limit its name. A row of the limit has the same as Ratio.
	Limit string  `json:"limit,omitempty"`
	Share float64 `json:"limit_share,omitempty"`
	// Failed says why the peer has no time.
	Failed  string `json:"peer_failed,omitempty"`
	against string // the peer with its versions
}

// rows returns a row for each peer, or one row if there is no peer.
func rows(w Workload, ours *side, peers []*side) (all []row) {
	r := row{Name: w.Name, What: w.What, Ours: machine.Median(ours.seconds), Unit: w.Unit,
		Compile: machine.Median(ours.compile), PeakBytes: ours.last.Peak, Result: ours.last.Result,
		Plan: ours.ready.Plan}
	r.P99 = p99(ours.all)
	if len(ours.processor) > 0 {
		r.Processor = machine.Median(ours.processor)
	}
	if w.Work > 0 {
		r.Rate = w.Work / r.Ours
	}
	for _, s := range peers {
		l := r
		l.Peer, l.against = &s.peer.Name, s.peer.versioned()
		l.Name = w.row(*s.peer, len(peers))
		if s.err != nil {
			l.Failed = s.err.Error()
			all = append(all, l)
			continue
		}
		seconds, ratio := machine.Median(s.seconds), ratioOf(s.seconds, ours.seconds)
		l.PeerSeconds, l.Ratio = &seconds, &ratio
		l.ProcessorRatio = ratioOf(s.processor, ours.processor)
		if len(s.processor) > 0 {
			l.PeerProcessor = machine.Median(s.processor)
		}
		l.PeerCompile, l.PeerPeakBytes, l.PeerResult = machine.Median(s.compile), s.last.Peak, s.last.Result
		if l.Compile > 0 {
			l.CompileRatio = l.PeerCompile / l.Compile
		}
		all = append(all, l)
	}
	if len(all) == 0 {
		return []row{r}
	}
	for i, s := range peers { // the tightest limit
		if s.peer.Limit && all[i].Ratio != nil && (all[0].Limit == "" || *all[i].Ratio < all[0].Share) {
			for j := range all {
				all[j].Limit, all[j].Share = s.peer.Name, *all[i].Ratio
			}
		}
	}
	return all
}

// row is the name of a workload's row beside one of so many peers.
func (w Workload) row(p Peer, peers int) string {
	if peers > 1 {
		return w.Name + "-" + p.Name
	}
	return w.Name
}

// rowNames are the names of all rows of a workload.
func (w Workload) rowNames() []string {
	if len(w.Peers) == 0 {
		return []string{w.Name}
	}
	return each(w.Peers, func(p Peer) string { return w.row(p, len(w.Peers)) })
}

// p99 returns the 99th of a hundred of times in order, or 0 for fewer than a hundred.
func p99(seconds []float64) float64 {
	const least = 100
	if len(seconds) < least {
		return 0
	}
	return slices.Sorted(slices.Values(seconds))[(99*len(seconds)-1)/100]
}

// ratioOf returns the median of the ratios of turns, 0 if there are none. A machine that is busy for a while changes it
// less than the ratio of the medians.
func ratioOf(theirs, ours []float64) float64 {
	var all []float64
	for i := range min(len(theirs), len(ours)) {
		if ours[i] > 0 && theirs[i] > 0 {
			all = append(all, theirs[i]/ours[i])
		}
	}
	if len(all) == 0 {
		return 0
	}
	return machine.Median(all)
}

// column is one column of the table.
type column struct {
	head string
	cell func(row) string
}

var columns = []column{
	{"WORKLOAD", func(r row) string { return r.Name }},
	{"OURS", func(r row) string { return console.ShortTime(r.Ours) }},
	{"GOAL", func(r row) string { return r.marked(timeText(r.Seconds), "seconds") }},
	{"P99", func(r row) string { return timeText(r.P99) }},
	{"A SECOND", func(r row) string {
		if r.Rate == 0 {
			return ""
		}
		return fmt.Sprintf("%.3g %s", r.Rate, r.Unit)
	}},
	{"GAIN", func(r row) string { return ratioText(r.Gain) }},
	{"IN CPU TIME", func(r row) string { return ratioText(r.GainCPU) }},
	{"THERE", func(r row) string { return ratioText(r.There) }},
	{"GAIN THERE", func(r row) string { return ratioText(r.GainThere) }},
	{"PEER", func(r row) string {
		switch {
		case r.Peer == nil:
			return ""
		case r.Failed != "":
			return *r.Peer + " failed"
		}
		return *r.Peer + " " + console.ShortTime(*r.PeerSeconds)
	}},
	{"RATIO", func(r row) string {
		if r.Ratio == nil {
			return ""
		}
		return ratioText(*r.Ratio)
	}},
	{"GOAL", func(r row) string { return r.marked(ratioText(r.Goal.Ratio), "ratio") }},
	{"RATIO OF CPU TIME", func(r row) string { return ratioText(r.ProcessorRatio) }},
	{"GOAL", func(r row) string { return r.marked(ratioText(r.CPU), "CPU") }},
	{"SHARE OF LIMIT", func(r row) string {
		if r.Limit == "" {
			return ""
		}
		return ratioText(r.Share) + " of " + r.Limit
	}},
	{"COMPILE", func(r row) string { return timeText(r.Compile) }},
	{"PEER'S", func(r row) string { return timeText(r.PeerCompile) }},
	{"RATIO", func(r row) string { return ratioText(r.CompileRatio) }},
	{"GOAL", func(r row) string { return r.marked(ratioText(r.Goal.Compile), "compiling") }},
	{"PEAK MEMORY", func(r row) string { return bytesText(r.PeakBytes) }},
	{"PEER'S", func(r row) string { return bytesText(r.PeerPeakBytes) }},
	{"PLAN", func(r row) string { return r.Plan }},
}

// printRows prints the table without empty columns.
func printRows(out io.Writer, all []row) error {
	if len(all) == 0 {
		return nil
	}
	t := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	lines := make([][]string, len(all)+1)
	for _, c := range columns {
		empty := true
		for _, r := range all {
			empty = empty && c.cell(r) == ""
		}
		if empty {
			continue
		}
		lines[0] = append(lines[0], c.head)
		for i, r := range all {
			lines[i+1] = append(lines[i+1], c.cell(r))
		}
	}
	for _, line := range lines {
		fmt.Fprintln(t, strings.Join(line, "\t"))
	}
	return t.Flush()
}

// meansOf is a line with the geometric means of the ratios of a suite's rows, if there are two or more, and a line that
// counts the rows below their goals, if there are goals.
func meansOf(suite string, all []row) string {
	var time, compile []float64
	goals, below := 0, 0
	for _, r := range all {
		if r.Ratio != nil && *r.Ratio > 0 {
			time = append(time, *r.Ratio)
		}
		if r.Ratio != nil && r.CompileRatio > 0 {
			compile = append(compile, r.CompileRatio)
		}
		if r.Goal != (Goal{}) && r.Ratio != nil {
			goals++
		}
		if len(r.Below) > 0 {
			below++
		}
	}
	var text strings.Builder
	if len(time) > 1 {
		mean := geometricMean(time)
		fmt.Fprintf(&text, "%s: geometric means of the ratios of %d rows: time %.2f", suite, len(time), mean)
		if goal := meanGoals[suite]; goal > 0 {
			fmt.Fprintf(&text, " (goal %.3g", goal)
			if mean < goal {
				text.WriteString(", below")
			}
			text.WriteString(")")
		}
		if len(compile) > 0 {
			fmt.Fprintf(&text, ", compiling %.2f", geometricMean(compile))
		}
		fmt.Fprintln(&text)
	}
	if goals > 0 {
		fmt.Fprintf(&text, "%s: %d of %d rows with a goal are below it\n", suite, below, goals)
	}
	return text.String()
}

// geometricMean returns 1 for no numbers.
func geometricMean(all []float64) float64 {
	sum := 0.
	for _, x := range all {
		sum += math.Log(x)
	}
	return math.Exp(sum / float64(max(len(all), 1)))
}

func ratioText(x float64) string {
	if x == 0 {
		return ""
	}
	return fmt.Sprintf("%.3g", x)
}

func timeText(x float64) string {
	if x == 0 {
		return ""
	}
	return console.ShortTime(x)
}

func bytesText(n int64) string {
	if n == 0 {
		return ""
	}
	return display.Bytes(n)
}
