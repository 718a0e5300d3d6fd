package bench

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"text/tabwriter"

	"xlarun/cmd/xlarun-bench/bench/bbob"
	"xlarun/cmd/xlarun/console"
	"xlarun/cmd/xlarun/machine"
)

// alpha is the probability of finding a difference anywhere in a comparison where there is none.
const alpha = .05

// comparison is a method of ours, a strategy or a sampler, beside the peer's on several problems.
type comparison struct {
	Strategy string        `json:"strategy,omitempty"`
	Sampler  string        `json:"sampler,omitempty"`
	Better   int           `json:"better"`
	Equal    int           `json:"equal"`
	Worse    int           `json:"worse"`
	Lines    []problemLine `json:"lines"`
}

// problemLine is a method on one problem. Values are the best ones of runs, which are what is left to the optimum.
type problemLine struct {
	Function string  `json:"function,omitempty"`
	Problem  string  `json:"problem,omitempty"`
	Dims     int     `json:"dims,omitempty"`
	Trials   int     `json:"trials,omitempty"`
	Ours     float64 `json:"ours"` // median of the values
	Peer     float64 `json:"peer"`
	P        float64 `json:"p"`         // of the test
	Holm     float64 `json:"corrected"` // over all lines of the comparison
	Sign     int     `json:"sign"`      // -1: ours are lower
}

// significance is a test of two samples: the probability of a difference as large by chance, and its sign.
type significance func(ours, theirs []float64) (p float64, sign int)

// fill fills a line from the values of both sides, which count as the resolution where they are below. theirs is nil
// without a peer.
func (l problemLine) fill(test significance, resolution float64, ours, theirs []float64) problemLine {
	resolved := func(values []float64) []float64 {
		return each(values, func(v float64) float64 { return max(v, resolution) })
	}
	l.Ours, l.P = machine.Median(ours), 1
	if theirs != nil {
		l.Peer = machine.Median(theirs)
		l.P, l.Sign = test(resolved(ours), resolved(theirs))
	}
	return l
}

// verdict is better, worse, or "" where the difference may be chance.
func (l problemLine) verdict() string {
	switch {
	case l.Holm > alpha || l.Sign == 0:
		return ""
	case l.Sign < 0:
		return "better"
	}
	return "worse"
}

// count corrects the probabilities for their number and counts the verdicts.
func (c comparison) count() comparison {
	for i, p := range bbob.Holm(each(c.Lines, func(l problemLine) float64 { return l.P })) {
		c.Lines[i].Holm = p
		switch c.Lines[i].verdict() {
		case "better":
			c.Better++
		case "worse":
			c.Worse++
		default:
			c.Equal++
		}
	}
	return c
}

// printComparisons prints the lines that differ, or all where there is no peer, and the counts.
func printComparisons(out io.Writer, all []comparison, peer string, peers bool) error {
	t := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	fmt.Fprintf(t, "METHOD\tPROBLEM\tDIMENSIONS\tTRIALS\tOURS\t%s\tP\tCORRECTED\t\n", peer)
	for _, c := range all {
		for _, l := range c.Lines {
			if peers && l.verdict() == "" {
				continue
			}
			fmt.Fprintf(t, "%s\t%s\t%d\t%d\t%.3g\t%.3g\t%.2g\t%.2g\t%s\n", c.Strategy+c.Sampler, l.Function+l.Problem,
				l.Dims, l.Trials, l.Ours, l.Peer, l.P, l.Holm, l.verdict())
		}
	}
	if err := t.Flush(); err != nil || !peers {
		return err
	}
	fmt.Fprintln(out)
	fmt.Fprintln(t, "METHOD\tBETTER\tEQUAL\tWORSE\tCOMPARISONS")
	for _, c := range all {
		fmt.Fprintf(t, "%s\t%d\t%d\t%d\t%d\n", c.Strategy+c.Sampler, c.Better, c.Equal, c.Worse, len(c.Lines))
	}
	return t.Flush()
}

// readKept reads what --keep names, a line of JSON for each answer. A file that is not there holds nothing.
func readKept[T any](path string) (all []T, err error) {
	if path == "" || !console.Exists(path) {
		return nil, nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	for i, line := range bytes.Split(bytes.TrimSpace(text), []byte("\n")) {
		var v T
		if err := json.Unmarshal(line, &v); err != nil {
			return nil, console.BadInput("--keep %s: line %d is no answer that was kept (%w): give another file, or "+
				"repair it", path, i+1, err)
		}
		all = append(all, v)
	}
	return all, nil
}

// keep appends a line of JSON to a file; "" keeps nothing.
func keep(path string, v any) error {
	if path == "" {
		return nil
	}
	line, err := json.Marshal(v)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(append(line, '\n')) // one write: two processes do not mix their lines
	return errors.Join(err, f.Close())
}
