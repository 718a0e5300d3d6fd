// Package long reports whether tests run in their long form. A slow check has two forms: a short one for `go test`,
// which still fails when the code is wrong, and a long one for XLARUN_LONG=1.
package long

import (
	"os"
	"testing"
)

// On reports whether XLARUN_LONG is set: tests run all their cases.
func On() bool { return os.Getenv("XLARUN_LONG") != "" }

// Only skips a test unless XLARUN_LONG is set.
func Only(t testing.TB) {
	t.Helper()
	if !On() {
		t.Skip("the long form only: XLARUN_LONG=1")
	}
}
