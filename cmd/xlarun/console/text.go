package console

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"unicode/utf8"
)

// Number is a float64 that is null in JSON if it is not finite.
type Number float64

// MarshalJSON writes the number, or null.
func (n Number) MarshalJSON() ([]byte, error) {
	if math.IsNaN(float64(n)) || math.IsInf(float64(n), 0) {
		return []byte("null"), nil
	}
	return json.Marshal(float64(n))
}

// ShortText shortens a text for an error.
func ShortText(s string) string {
	const most = 200
	if len(s) <= most {
		return s
	}
	return fmt.Sprintf("%s… (%d bytes)", strings.ToValidUTF8(s[:most], ""), len(s))
}

// Fill joins words into lines of at most so many columns. A longer word has a line of its own.
func Fill(words []string, columns int) (lines []string) {
	line := ""
	for _, word := range words {
		if line != "" && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > columns {
			lines, line = append(lines, line), ""
		}
		line = strings.TrimSpace(line + " " + word)
	}
	return append(lines, line)
}

// Paragraphs breaks each line of a text, a paragraph, into lines of at most so many columns. Where an indented line is
// too long, it goes on below the column that follows its first gap of two blanks.
func Paragraphs(text string, columns int) string {
	var b strings.Builder
	for line := range strings.Lines(strings.TrimRight(text, "\n")) {
		line = strings.TrimRight(line, " \n")
		unindented := strings.TrimLeft(line, " \t")
		if unindented == line {
			fmt.Fprintln(&b, strings.Join(Fill(strings.Fields(line), columns), "\n"))
			continue
		}
		indent := line[:len(line)-len(unindented)]
		if head, tail, ok := strings.Cut(unindented, "  "); ok {
			tail := strings.TrimLeft(tail, " ")
			hang(&b, indent+head+unindented[len(head):len(unindented)-len(tail)], tail, columns)
		} else {
			hang(&b, indent, unindented, columns)
		}
	}
	return b.String()
}

// List returns a list of names and texts. The texts begin in one column and are broken into lines of at most so many
// columns.
func List(indent string, rows [][2]string, columns int) string {
	widest := 0
	for _, row := range rows {
		widest = max(widest, utf8.RuneCountInString(row[0]))
	}
	var b strings.Builder
	for _, row := range rows {
		hang(&b, fmt.Sprintf("%s%-*s  ", indent, widest, row[0]), row[1], columns)
	}
	return b.String()
}

// hang writes a text after a head. Lines after the first one begin below the text. If the head leaves little room, they
// are long.
func hang(b *strings.Builder, head, text string, columns int) {
	const least = 20
	width := utf8.RuneCountInString(head)
	for _, line := range Fill(strings.Fields(text), max(columns-width, least)) {
		fmt.Fprintln(b, strings.TrimRight(head+line, " "))
		head = strings.Repeat(" ", width)
	}
}
