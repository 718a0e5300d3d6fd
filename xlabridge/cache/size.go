package cache

import (
	"strconv"
	"strings"
)

// ParseSize reads a size: a number, then K, M, G or T for powers of 1000, Ki, Mi, Gi or Ti for powers of 1024, and B
// or nothing.
func ParseSize(text string) (int64, error) {
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
			return checkedSize(x*unit, err)
		}
	}
	x, err := strconv.ParseFloat(s, 64)
	return checkedSize(x, err)
}

func checkedSize(x float64, err error) (int64, error) {
	if err != nil {
		return 0, err
	}
	if !(x == 0 || x >= 1 && x < 1<<62) {
		return 0, strconv.ErrRange
	}
	return int64(x), nil
}
