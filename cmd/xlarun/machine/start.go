package machine

import "time"

// loaded is the time when the Go runtime initialized this package, a few milliseconds after the start of the process.
var loaded = time.Now()

// ProcessStart returns the time when the kernel started this process. Linux counts it in ticks of 10 ms since boot,
// rounded down, so times since then are never too short. Other systems return the time when this package was
// initialized.
func ProcessStart() time.Time {
	age, ok := processAge()
	start := time.Now().Add(-age)
	if !ok || start.After(loaded) || loaded.Sub(start) > time.Minute {
		return loaded // in a sandbox, the clock since boot may differ from the clock of process starts
	}
	return start
}
