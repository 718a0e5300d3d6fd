// Package figures reads and writes docs/figures.toml, the one place of what benchmarks measured, and fills it into
// documents. In a document a figure stands between two markers:
//
//	<!-- fig evolve/rollouts-wide ratio -->7.0<!-- /fig -->
//
// A table of all rows of a suite stands between markers of its own:
//
//	<!-- figures evolve -->
//	…
//	<!-- /figures -->
package figures

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// File is what docs/figures.toml holds.
type File struct {
	Machines []Machine `toml:"machine"`
	Figures  []Figure  `toml:"figure"`
}

// Machine is a computer that figures were measured on.
type Machine struct {
	Name      string `toml:"name"`
	Processor string `toml:"processor"`
	Cores     int    `toml:"cores"`
	// Load says what else ran on it.
	Load string `toml:"load"`
}

// Figure is one row of a benchmark, or what a command took.
type Figure struct {
	// ID is SUITE/NAME of `xlarun bench SUITE NAME`. A row with a Command has a name of its own.
	ID      string `toml:"id"`
	What    string `toml:"what"`
	Command string `toml:"command,omitempty"` // "": xlarun bench SUITE NAME --peers

	// Seconds of wall time and of CPU time. 0: not known.
	Ours     float64 `toml:"ours,omitempty"`
	Other    float64 `toml:"other,omitempty"`
	OursCPU  float64 `toml:"ours_cpu,omitempty"`
	OtherCPU float64 `toml:"other_cpu,omitempty"`
	// The other program's time over ours, medians over turns, and the same of the time to trace and compile.
	Ratio        float64 `toml:"ratio,omitempty"`
	RatioCPU     float64 `toml:"ratio_cpu,omitempty"`
	RatioCompile float64 `toml:"ratio_compile,omitempty"`
	// Rate is what ours does in a second, in Unit.
	Rate float64 `toml:"rate,omitempty"`
	Unit string  `toml:"unit,omitempty"`
	// Gain is Rate over that of the row before, GainCPU the same with CPU time. GainElsewhere is what another program
	// reports of the same change.
	Gain          float64 `toml:"gain,omitempty"`
	GainCPU       float64 `toml:"gain_cpu,omitempty"`
	GainElsewhere float64 `toml:"gain_elsewhere,omitempty"`
	// Peak memory in bytes.
	Bytes      int64 `toml:"bytes,omitempty"`
	OtherBytes int64 `toml:"other_bytes,omitempty"`

	Against string         `toml:"against,omitempty"` // the other program, with its version
	Commit  string         `toml:"commit"`
	Date    toml.LocalDate `toml:"date"`
	Machine string         `toml:"machine"`
	Repeats int            `toml:"repeats"`
	Load    float64        `toml:"load,omitempty"` // average of a minute when the benchmark began
	// Note says what differs from how the benchmark runs today.
	Note string `toml:"note,omitempty"`
}

// Read reads a file of figures. One that does not exist holds nothing.
func Read(path string) (f File, err error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return f, nil
	}
	if err != nil {
		return f, err
	}
	if err := toml.NewDecoder(bytes.NewReader(text)).DisallowUnknownFields().Decode(&f); err != nil {
		return f, fmt.Errorf("%s: %w", path, err)
	}
	return f, nil
}

// Write writes the file. Comments that it had are lost, except those before the first table.
func (f File) Write(path string) error {
	old, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	head, _, _ := bytes.Cut(old, []byte("[["))
	text, err := toml.Marshal(f)
	if err != nil {
		return err
	}
	return os.WriteFile(path, slices.Concat(head, text), 0o644)
}

// Put adds a row in the place of the row with its id, or after the rows of its suite.
func (f *File) Put(row Figure) {
	suite, _, _ := strings.Cut(row.ID, "/")
	after := len(f.Figures)
	for i, x := range f.Figures {
		if x.ID == row.ID {
			f.Figures[i] = row
			return
		}
		if strings.HasPrefix(x.ID, suite+"/") {
			after = i + 1
		}
	}
	f.Figures = slices.Insert(f.Figures, after, row)
}

// Find returns the row with an id.
func (f File) Find(id string) (row Figure, err error) {
	for _, x := range f.Figures {
		if x.ID == id {
			return x, nil
		}
	}
	return row, fmt.Errorf("there is no figure %q", id)
}

// Text returns a field as documents show it. A field that is not known is an error.
func (r Figure) Text(field string) (text string, err error) {
	switch field {
	case "ours":
		text = seconds(r.Ours)
	case "other":
		text = seconds(r.Other)
	case "ours_cpu":
		text = seconds(r.OursCPU)
	case "other_cpu":
		text = seconds(r.OtherCPU)
	case "ratio":
		text = Ratio(r.Ratio)
	case "ratio_cpu":
		text = Ratio(r.RatioCPU)
	case "ratio_compile":
		text = Ratio(r.RatioCompile)
	case "rate":
		text = rate(r.Rate, r.Unit)
	case "gain":
		text = Ratio(r.Gain)
	case "gain_cpu":
		text = Ratio(r.GainCPU)
	case "memory":
		text = size(r.Bytes)
	case "other_memory":
		text = size(r.OtherBytes)
	case "against":
		text = r.Against
	default:
		return "", fmt.Errorf("the figure %s has no field %q: there are ours, other, ours_cpu, other_cpu, ratio, "+
			"ratio_cpu, ratio_compile, rate, gain, gain_cpu, memory, other_memory and against", r.ID, field)
	}
	if text == "" {
		return "", fmt.Errorf("the figure %s has no value of %s", r.ID, field)
	}
	return text, nil
}

var (
	marked  = regexp.MustCompile(`<!-- fig (\S+) (\S+) -->(?s:.*?)<!-- /fig -->`)
	tables  = regexp.MustCompile(`(?s)(<!-- figures (\S+) -->\n).*?(<!-- /figures -->)`)
	opening = regexp.MustCompile(`<!--\s*fig(?:ures)?\b`)
	first   = regexp.MustCompile(`(?m)^ *<!-- fig \S+`)
)

// Fill returns a document with the values of its markers.
func (f File) Fill(document string) (string, error) {
	if n := len(opening.FindAllString(document, -1)); n != len(marked.FindAllString(document, -1))+
		len(tables.FindAllString(document, -1)) {
		return "", errors.New("a marker of a figure is not closed, or lacks its id or its field: it is " +
			"<!-- fig SUITE/NAME FIELD -->…<!-- /fig --> on a line")
	}
	if m := first.FindString(document); m != "" {
		return "", fmt.Errorf("the marker %q begins a line, which is then HTML as a whole: put a word before it",
			m)
	}
	var wrong error
	document = marked.ReplaceAllStringFunc(document, func(s string) string {
		m := marked.FindStringSubmatch(s)
		row, err := f.Find(m[1])
		text := ""
		if err == nil {
			text, err = row.Text(m[2])
		}
		wrong = cmp.Or(wrong, err)
		return fmt.Sprintf("<!-- fig %s %s -->%s<!-- /fig -->", m[1], m[2], text)
	})
	document = tables.ReplaceAllStringFunc(document, func(s string) string {
		m := tables.FindStringSubmatch(s)
		text, err := f.table(m[2])
		wrong = cmp.Or(wrong, err)
		return m[1] + text + m[3]
	})
	return document, wrong
}

// Strip returns a document without what stands between markers.
func Strip(document string) string {
	return tables.ReplaceAllString(marked.ReplaceAllString(document, ""), "")
}

// column is a column of a table. It is left out where all of its cells are empty. One that is shared becomes a sentence
// below the table where all of its cells are equal.
type column struct {
	head   string
	shared bool
	cell   func(Figure) string
}

var columns = []column{
	{"workload", false, func(r Figure) string {
		_, name, _ := strings.Cut(r.ID, "/")
		return "`" + name + "`"
	}},
	{"what", false, func(r Figure) string { return r.What }},
	{"ours", false, func(r Figure) string { return seconds(r.Ours) }},
	{"rate", false, func(r Figure) string { return rate(r.Rate, r.Unit) }},
	{"gain", false, func(r Figure) string { return Ratio(r.Gain) }},
	{"gain, CPU", false, func(r Figure) string { return Ratio(r.GainCPU) }},
	{"gain elsewhere", false, func(r Figure) string { return Ratio(r.GainElsewhere) }},
	{"memory", false, func(r Figure) string { return size(r.Bytes) }},
	{"other", false, func(r Figure) string { return seconds(r.Other) }},
	{"its memory", false, func(r Figure) string { return size(r.OtherBytes) }},
	{"against", true, func(r Figure) string { return r.Against }},
	{"ratio, wall", false, func(r Figure) string { return Ratio(r.Ratio) }},
	{"ratio, CPU", false, func(r Figure) string { return Ratio(r.RatioCPU) }},
	{"ratio, compile", false, func(r Figure) string { return Ratio(r.RatioCompile) }},
	{"machine", true, func(r Figure) string { return r.Machine }},
	{"commit", true, func(r Figure) string { return "`" + r.Commit + "`" }},
	{"note", false, func(r Figure) string { return r.Note }},
}

// table returns the table of a suite's rows, or of all "computers".
func (f File) table(suite string) (string, error) {
	if suite == "computers" {
		lines := [][]string{{"machine", "processor", "cores", "what else ran"}}
		for _, m := range f.Machines {
			lines = append(lines, []string{m.Name, m.Processor, strconv.Itoa(m.Cores), m.Load})
		}
		return "\n" + markdown(lines) + "\n", nil
	}
	var rows []Figure
	for _, r := range f.Figures {
		if s, _, _ := strings.Cut(r.ID, "/"); s == suite {
			rows = append(rows, r)
		}
	}
	if len(rows) == 0 {
		return "", fmt.Errorf("there are no figures of the suite %q", suite)
	}
	lines, all := make([][]string, len(rows)+1), []string{}
	for _, c := range columns {
		first, same, filled := c.cell(rows[0]), true, false
		for _, r := range rows {
			same, filled = same && c.cell(r) == first, filled || c.cell(r) != ""
		}
		switch {
		case !filled:
			continue
		case same && c.shared && len(rows) > 1:
			all = append(all, c.head+" "+first)
			continue
		}
		lines[0] = append(lines[0], c.head)
		for i, r := range rows {
			lines[i+1] = append(lines[i+1], c.cell(r))
		}
	}
	text := "\n" + markdown(lines)
	if len(all) > 0 {
		text += "\nAll rows: " + strings.Join(all, ", ") + ".\n"
	}
	return text + summary(rows) + "\n", nil
}

// summary has the geometric means of ratios, of twenty rows and more.
func summary(rows []Figure) (text string) {
	const least = 20
	for _, of := range []struct {
		name  string
		ratio func(Figure) float64
	}{
		{"wall time", func(r Figure) float64 { return r.Ratio }},
		{"CPU time", func(r Figure) float64 { return r.RatioCPU }},
		{"the time to compile", func(r Figure) float64 { return r.RatioCompile }},
	} {
		sum, n, below := 0., 0, 0
		for _, r := range rows {
			if x := of.ratio(r); x > 0 {
				sum, n = sum+math.Log(x), n+1
				if x < 1 {
					below++
				}
			}
		}
		if n >= least {
			text += fmt.Sprintf("- of %s: %.2f; %d of %d are below 1\n", of.name, math.Exp(sum/float64(n)), below, n)
		}
	}
	if text == "" {
		return ""
	}
	return "\nGeometric means of the ratios:\n\n" + text
}

// markdown returns a table of lines, the first of which is its head.
func markdown(lines [][]string) string {
	var b strings.Builder
	for i, line := range lines {
		fmt.Fprintf(&b, "| %s |\n", strings.Join(line, " | "))
		if i == 0 {
			b.WriteString(strings.Repeat("| --- ", len(line)) + "|\n")
		}
	}
	return b.String()
}

// Ratio returns a ratio in words, "" for 0.
func Ratio(x float64) string {
	switch {
	case x == 0:
		return ""
	case x < 1:
		return fmt.Sprintf("%.2f", x)
	case x < 9.95:
		return fmt.Sprintf("%.1f", x)
	}
	return fmt.Sprintf("%.0f", x)
}

// seconds returns a time in words, "" for 0.
func seconds(s float64) string {
	switch {
	case s == 0:
		return ""
	case s < 1e-3:
		return number(s*1e6) + " us"
	case s < 1:
		return number(s*1e3) + " ms"
	}
	return number(s) + " s"
}

// rate returns a number of units a second in words, "" for 0.
func rate(x float64, unit string) string {
	switch {
	case x == 0:
		return ""
	case x < 1e3:
		return number(x) + " " + unit + "/s"
	case x < 1e6:
		return number(x/1e3) + " K " + unit + "/s"
	}
	return number(x/1e6) + " M " + unit + "/s"
}

// size returns a number of bytes in words, "" for 0.
func size(n int64) string {
	switch {
	case n == 0:
		return ""
	case n < 1e9:
		return number(float64(n)/1e6) + " MB"
	}
	return number(float64(n)/1e9) + " GB"
}

// number has at most three digits that are not zeros.
func number(x float64) string {
	s := strconv.FormatFloat(x, 'g', 3, 64)
	if strings.Contains(s, "e") {
		return strconv.FormatFloat(x, 'f', 0, 64)
	}
	return s
}
