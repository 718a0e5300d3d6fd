// Package long reports whether tests run in their long form. A slow check has two forms: a short one for `go test`,
// which still fails when the code is wrong, and a long one. XLARUN_LONG=1 asks for all long forms, and XLARUN_LONG=3/10
// for those of the files in the third of ten parts.
package long

import (
	"fmt"
	"hash/crc32"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"testing"
)

// On reports whether tests of the caller's file run all their cases.
func On() bool { return on(2) }

// Only skips a test unless its file runs in the long form.
func Only(t testing.TB) {
	t.Helper()
	if !on(2) {
		t.Skip("the long form only: XLARUN_LONG=1")
	}
}

// All reports whether all long forms run, not a part of them: for what takes longer than a minute of one processor.
func All() bool { return os.Getenv("XLARUN_LONG") == "1" }

// OnlyAll skips a test unless all long forms run.
func OnlyAll(t testing.TB) {
	t.Helper()
	if !All() {
		t.Skip("all long forms only: XLARUN_LONG=1")
	}
}

// on is On for the file that is skip calls above.
func on(skip int) bool {
	text := os.Getenv("XLARUN_LONG")
	if text == "" || text == "1" {
		return text != ""
	}
	_, file, _, _ := runtime.Caller(skip)
	return part(text, file)
}

// part reports whether a file is in a part such as 3/10. A checkout may be anywhere, so its folder and name count.
func part(text, file string) bool {
	var n, of uint32
	_, err := fmt.Sscanf(text, "%d/%d", &n, &of)
	if err != nil || n < 1 || n > of || text != fmt.Sprintf("%d/%d", n, of) {
		panic(fmt.Sprintf("XLARUN_LONG got %q, wants 1 for all long forms or a part of them such as 3/10", text))
	}
	folder, name := filepath.Split(file)
	return crc32.ChecksumIEEE([]byte(path.Join(filepath.Base(folder), name)))%of == n-1
}
