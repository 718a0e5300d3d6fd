package console

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// ParseBytes reads a size: a number, then K, M, G or T for powers of 1000, Ki, Mi, Gi or Ti for powers of 1024, and B
// or nothing.
func ParseBytes(text string) (int64, error) {
	s := strings.TrimSuffix(strings.ToUpper(strings.TrimSpace(text)), "B")
	base := 1000.
	if strings.HasSuffix(s, "I") {
		base, s = 1024, s[:len(s)-1]
		if s == "" || !strings.ContainsAny(s[len(s)-1:], "KMGT") {
			return 0, strconv.ErrSyntax
		}
	}
	unit := 1.
	for _, letter := range "KMGT" {
		unit *= base
		if rest, ok := strings.CutSuffix(s, string(letter)); ok {
			x, err := strconv.ParseFloat(rest, 64)
			return checkedBytes(x*unit, err)
		}
	}
	x, err := strconv.ParseFloat(s, 64)
	return checkedBytes(x, err)
}

func checkedBytes(x float64, err error) (int64, error) {
	if err != nil {
		return 0, err
	}
	if !(x >= 0 && x < 1<<62) {
		return 0, strconv.ErrRange
	}
	return int64(x), nil
}

// Ago is a time that passed, in its largest unit.
func Ago(d time.Duration) string {
	switch {
	case d < time.Minute:
		return "just now"
	case d < time.Hour:
		return fmt.Sprintf("%d min ago", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h ago", int(d.Hours()))
	}
	return fmt.Sprintf("%d days ago", int(d.Hours()/24))
}

// Count is "1 program", "3 programs".
func Count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// ShortTime writes seconds with three digits.
func ShortTime(s float64) string {
	switch {
	case s < 1e-3:
		return fmt.Sprintf("%.3g us", s*1e6)
	case s < 1:
		return fmt.Sprintf("%.3g ms", s*1e3)
	}
	return fmt.Sprintf("%.3g s", s)
}
