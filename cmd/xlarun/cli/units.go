package cli

import (
	"fmt"
	"time"

	"xlarun/xlabridge/cache"
)

// parseBytes reads a size such as 500M or 2GiB, in bytes.
func parseBytes(text string) (int64, error) { return cache.ParseSize(text) }

// ago is a time that passed, in its largest unit.
func ago(d time.Duration) string {
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

// count is "1 program", "3 programs".
func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
