package cache

import (
	"fmt"
	"os"
	"path/filepath"

	"xlarun/xlabridge/fetch"
)

// EnvMax is the environment variable that limits the size of the cache of compiled programs and plans. Its value
// is a size such as 500M or 2GiB, or "none".
const EnvMax = "XLARUN_CACHE_MAX"

// Limit returns the limit in bytes; 0 means none.
func Limit() (int64, error) {
	text := os.Getenv(EnvMax)
	switch text {
	case "":
		return DefaultLimit, nil
	case "none":
		return 0, nil
	}
	limit, err := ParseSize(text)
	if err != nil || limit == 0 {
		return 0, fmt.Errorf("%s got %q, wants a size such as 500M or 2G, or none for no limit", EnvMax, text)
	}
	return limit, nil
}

// DefaultDir is the default folder of compiled programs: "programs" in fetch.CacheDir.
func DefaultDir() (string, error) {
	base, err := fetch.CacheDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(base, "programs"), nil
}
