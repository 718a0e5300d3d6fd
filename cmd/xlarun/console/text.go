package console

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
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

// Fill joins words into lines of at most so many columns.
func Fill(words []string, columns int) (lines []string) {
	line := ""
	for _, word := range words {
		if line != "" && len(line)+1+len(word) > columns {
			lines, line = append(lines, line), ""
		}
		line = strings.TrimSpace(line + " " + word)
	}
	return append(lines, line)
}
