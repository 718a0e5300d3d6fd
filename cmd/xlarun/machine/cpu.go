package machine

import (
	"crypto/sha256"
	"fmt"
	"os"
	"regexp"
	"runtime"

	"xlarun/internal/hardware"
	"xlarun/internal/quantity"
)

var modelLine = regexp.MustCompile(`(?m)^model name\s*:\s*(.*)$`)

// CPUKind names the kind of this processor: "A Fast One, 2 cores, linux/amd64, 0123abcd". The number at the end
// distinguishes kinds to which virtual machines give the same name.
func CPUKind() string {
	name := ""
	info, _ := os.ReadFile("/proc/cpuinfo") // without it, the kind has no name
	if m := modelLine.FindSubmatch(info); m != nil {
		name = string(m[1]) + ", "
	}
	return fmt.Sprintf("%s%s, %s/%s, %.4x", name, quantity.Count(runtime.NumCPU(), "core", "cores"), runtime.GOOS,
		runtime.GOARCH, sha256.Sum256([]byte(hardware.Fingerprint())))
}
