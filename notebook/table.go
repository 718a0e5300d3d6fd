package notebook

import (
	"fmt"
	"strings"
)

// Table shows rows under the names of their columns. A float has four digits; other values are written as fmt writes
// them. A row may be shorter than the names.
func Table(columns []string, rows ...[]any) {
	if !Active() {
		return
	}
	cells := make([][]string, len(rows))
	for i, row := range rows {
		for _, v := range row {
			cells[i] = append(cells[i], cell(v))
		}
	}
	HTML(tableHTML(columns, cells), tableText(columns, cells))
}

func cell(v any) string {
	switch v := v.(type) {
	case float64:
		return number(v)
	case float32:
		return number(float64(v))
	}
	return fmt.Sprint(v)
}

// number writes a number with four digits.
func number(x float64) string { return fmt.Sprintf("%.4g", x) }

const cellStyle = ` style="text-align:right;padding:1px 8px;border:0"`

func tableHTML(columns []string, rows [][]string) string {
	var b strings.Builder
	b.WriteString(`<table style="border-collapse:collapse;margin:0;border:0;font-variant-numeric:tabular-nums">`)
	if len(columns) > 0 {
		b.WriteString(`<tr style="background:none;border-bottom:1px solid">`)
		for _, name := range columns {
			fmt.Fprintf(&b, "<th%s>%s</th>", cellStyle, escape(name))
		}
		b.WriteString("</tr>")
	}
	for _, row := range rows {
		b.WriteString(`<tr style="background:none">`)
		for _, text := range row {
			fmt.Fprintf(&b, "<td%s>%s</td>", cellStyle, escape(text))
		}
		b.WriteString("</tr>")
	}
	b.WriteString("</table>")
	return b.String()
}

func tableText(columns []string, rows [][]string) string {
	var lines []string
	if len(columns) > 0 {
		lines = append(lines, strings.Join(columns, "\t"))
	}
	for _, row := range rows {
		lines = append(lines, strings.Join(row, "\t"))
	}
	return strings.Join(lines, "\n")
}
