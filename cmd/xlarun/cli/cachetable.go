package cli

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"xlarun/cmd/xlarun/console"
	"xlarun/cmd/xlarun/display"
)

// cacheTable is the table of the cache's entries. Its first row is the header.
type cacheTable struct {
	rows  [][]string // cells of a row, without what the entry is for
	fors  []string   // what the entry of a row is for; "": not known
	style display.Style
}

// The columns of a cacheTable.
const (
	cacheKind = iota
	cacheName
	cacheSize
	cacheTook
	cacheMade
	cacheUsed
	cacheKey
)

// newCacheTable returns the table of entries.
func newCacheTable(entries []cacheEntry, style display.Style) cacheTable {
	t := cacheTable{[][]string{{"KIND", "NAME", "SIZE", "TOOK", "MADE", "LAST USED", "KEY"}}, []string{"FOR"}, style}
	for _, e := range entries {
		name, took, made := e.Meta.Name, console.ShortTime(e.Meta.CompileSeconds), console.Ago(e.Age())
		purpose := shortWords(e.Meta.Purpose)
		if device := e.Meta.Device(); device != "" {
			purpose = strings.TrimPrefix(purpose+"; on "+device, "; ")
		}
		if e.Defect != "" {
			name, purpose, took, made = "(damaged)", e.Defect, "-", "-"
		}
		if e.Foreign {
			name, purpose, took, made = "(another user's)", "not run here", "-", "-"
		}
		t.rows = append(t.rows, []string{e.Kind, name, display.Bytes(e.Bytes), took, made,
			console.Ago(time.Since(e.LastUsed)), fmt.Sprintf("%.12s", e.Key)})
		t.fors = append(t.fors, purpose)
	}
	return t
}

// lines returns the table in so many columns; 0: any number. Where they are few, keys and times are left out and names
// are cut, and what an entry is for stands beside it in several lines, or below it.
func (t cacheTable) lines(columns int) (lines []string) {
	const widestName, leastFor = 28, 40
	shown := []int{cacheKind, cacheName, cacheSize, cacheTook, cacheMade, cacheUsed, cacheKey}
	widths := make([]int, len(shown))
	for _, row := range t.rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	used := func() (sum int) {
		for _, i := range shown {
			sum += widths[i] + 2
		}
		return sum
	}
	longest := 0
	for _, text := range t.fors {
		longest = max(longest, utf8.RuneCountInString(text))
	}
	if columns > 0 && used()+longest > columns {
		widths[cacheName] = min(widths[cacheName], widestName)
		for _, unneeded := range []int{cacheKey, cacheMade, cacheTook} {
			if used()-2 > columns {
				shown = slices.DeleteFunc(shown, func(column int) bool { return column == unneeded })
			}
		}
	} else {
		columns = used() + longest
	}
	below := columns-used() < min(leastFor, longest)
	for i, row := range t.rows {
		var b strings.Builder
		for _, c := range shown {
			fmt.Fprintf(&b, "%-*s  ", widths[c], display.Cut(row[c], widths[c], t.style))
		}
		line, indent := b.String(), used()
		if below {
			lines, indent = append(lines, strings.TrimRight(line, " ")), widths[cacheKind]+2
			line = strings.Repeat(" ", indent)
		}
		if t.fors[i] == "" {
			if !below {
				lines = append(lines, line+"-")
			}
			continue
		}
		for _, text := range console.Fill(strings.Fields(t.fors[i]), columns-indent) {
			lines = append(lines, line+text)
			line = strings.Repeat(" ", indent)
		}
	}
	return lines
}

// shortWords shortens the words of a text that no reader wants whole, such as a program that is a setting.
func shortWords(text string) string {
	const most, kept = 60, 20
	words := strings.Fields(text)
	for i, word := range words {
		if len(word) > most {
			words[i] = strings.ToValidUTF8(word[:kept], "") + "…"
		}
	}
	return strings.Join(words, " ")
}
