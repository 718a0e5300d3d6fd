package machine

import "time"

// loaded is the time when the Go runtime initialised this package: after the start of the process by what the kernel
// and the runtime needed, a few milliseconds.
var loaded = time.Now()

// ProcessStart is when the kernel started this process. Linux tells it in ticks of 10 ms since boot, rounded down, so
// that times counted from it are never too short; elsewhere it is the time when this package was initialised.
func ProcessStart() time.Time {
	age, ok := processAge()
	start := time.Now().Add(-age)
	if !ok || start.After(loaded) || loaded.Sub(start) > time.Minute {
		return loaded // a sandbox whose clock since boot is not the one that processes are stamped with
	}
	return start
}
