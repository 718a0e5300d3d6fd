package settings

import (
	"reflect"
	"strconv"
	"strings"
)

// Bytes is a setting that is a size in bytes: a number, then K, M, G or T for powers of 1000, Ki, Mi, Gi or Ti for powers of
// 1024, and B or nothing. 0 is written as nothing.
type Bytes int64

var bytesType = reflect.TypeFor[Bytes]()

// String is the size as it is read, in whole bytes.
func (b Bytes) String() string {
	if b == 0 {
		return ""
	}
	return strconv.FormatInt(int64(b), 10)
}

// ParseBytes reads a size.
func ParseBytes(text string) (Bytes, error) {
	s := strings.TrimSuffix(strings.ToUpper(strings.TrimSpace(text)), "B")
	if s == "" && strings.TrimSpace(text) == "" {
		return 0, nil
	}
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

func checkedBytes(x float64, err error) (Bytes, error) {
	if err != nil {
		return 0, err
	}
	if !(x >= 0 && x < 1<<62) {
		return 0, strconv.ErrRange
	}
	return Bytes(x), nil
}
