package xlabridge

import (
	"fmt"
	"os"
	"path/filepath"

	"xlarun/xlabridge/cache"
	"xlarun/xlabridge/fetch"
)

// EnvCacheMax is the environment variable that limits the size of the cache of compiled programs and plans. Its value
// is a size such as 500M or 2GiB, or "none".
const EnvCacheMax = "XLARUN_CACHE_MAX"

// cacheLimit returns the limit in bytes; 0 means none.
func cacheLimit() (int64, error) {
	text := os.Getenv(EnvCacheMax)
	switch text {
	case "":
		return cache.DefaultLimit, nil
	case "none":
		return 0, nil
	}
	limit, err := cache.ParseSize(text)
	if err != nil || limit == 0 {
		return 0, fmt.Errorf("%s got %q, wants a size such as 500M or 2G, or none for no limit", EnvCacheMax, text)
	}
	return limit, nil
}

// DefaultCacheDir is the default folder of compiled programs: "programs" in fetch.CacheDir.
func DefaultCacheDir() (string, error) {
	base, err := fetch.CacheDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(base, "programs"), nil
}
