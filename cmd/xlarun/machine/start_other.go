//go:build !linux

package machine

import "time"

func processAge() (time.Duration, bool) { return 0, false }
