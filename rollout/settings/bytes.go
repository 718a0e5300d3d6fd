package settings

import (
	"reflect"
	"strconv"
	"strings"

	"xlarun/xlabridge/cache"
)

// Bytes is a setting in bytes: a number, then K, M, G or T for powers of 1000, or Ki, Mi, Gi or Ti for powers of 1024,
// then an optional B. The text of 0 is empty.
type Bytes int64

var bytesType = reflect.TypeFor[Bytes]()

// String returns the size in whole bytes.
func (b Bytes) String() string {
	if b == 0 {
		return ""
	}
	return strconv.FormatInt(int64(b), 10)
}

// ParseBytes reads a size. An empty text is 0.
func ParseBytes(text string) (Bytes, error) {
	if strings.TrimSpace(text) == "" {
		return 0, nil
	}
	n, err := cache.ParseSize(text)
	return Bytes(n), err
}
