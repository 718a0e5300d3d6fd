package graph

import (
	"fmt"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
)

// position is where a node was made: the return address into the innermost frame outside of the library, whose line is
// looked up only when somebody asks.
type position uintptr

const (
	unknown position = 0 // not known yet
	nowhere position = 1 // no frame is the user's
)

// stackDepth is the number of return addresses that are looked at before the stack is searched. Ops in the nested loops
// of a body's step are more than 32 addresses away from the user's line; searching each time took half of the time of
// tracing them.
const stackDepth = 128

// places remembers of return addresses which of the functions that are inlined there is the user's innermost one;
// nowhere: none is. To expand a stack takes far longer than to look its addresses up.
var places = struct {
	sync.RWMutex
	known map[uintptr]position
}{known: map[uintptr]position{}}

// capture is the position of the code that called into the library.
//
//go:noinline
func capture() position {
	var at [stackDepth]uintptr
	returnAddresses(&at)
	places.RLock()
	for i, pc := range at {
		if p := places.known[pc]; p != nowhere {
			places.RUnlock()
			if p == unknown {
				p = search(&at, i)
			}
			return p
		}
	}
	places.RUnlock()
	return search(&at, stackDepth)
}

// search finds the position of the caller's caller in the stack as Go prints it, and remembers those of its return
// addresses at, of which the first ones are nowhere. The user's frame is mostly near: the walk goes on only where it is
// not. Each frame that Go prints is at a return address, or it is the function into which the frame before was inlined.
// Return addresses in between belong to functions that Go made and does not print.
func search(at *[stackDepth]uintptr, first int) position {
	var pcs [64]uintptr
	seen := 0 // return addresses up to that of the frame at hand; -1: frames and addresses do not go together
	for from, n := 0, 8; ; from, n = from+n, min(2*n, len(pcs)) {
		found := pcs[:runtime.Callers(3+from, pcs[:n])]
		for _, pc := range found {
			if seen >= 0 {
				if k := slices.Index(at[seen:], pc); k >= 0 {
					remember(nowhere, at[max(0, seen-1):seen+k]...)
					seen += k + 1
				} else if seen == 0 || function(pc) != function(at[seen-1]) {
					seen = -1
				}
			}
			if (seen < 0 || seen > first) && isUsers(pc) {
				if seen > 0 {
					remember(position(pc), at[seen-1])
				}
				return position(pc)
			}
		}
		if len(found) < n {
			return nowhere
		}
	}
}

// function is the entry of the function that others were inlined into at a return address.
func function(pc uintptr) uintptr { return runtime.FuncForPC(pc - 1).Entry() }

// remember keeps the position of return addresses.
func remember(p position, at ...uintptr) {
	places.Lock()
	for _, pc := range at {
		places.known[pc] = p
	}
	places.Unlock()
}

// String is the user's "file:line", or "".
func (p position) String() string {
	if p == unknown || p == nowhere {
		return ""
	}
	f, _ := runtime.CallersFrames([]uintptr{uintptr(p)}).Next()
	return fmt.Sprintf("%s:%d", filepath.Base(f.File), f.Line)
}

// userLine is the user's line of what happens now: that of the node at hand while a transform walks a program, else the
// one that called into the library.
func userLine() string {
	if t := currentTrace(); t != nil {
		if line := t.pos.String(); line != "" {
			return line
		}
	}
	return capture().String()
}

// isUsers reports whether a return address, as runtime.Callers gives it, lies outside of the library.
func isUsers(pc uintptr) bool {
	f, _ := runtime.CallersFrames([]uintptr{pc}).Next()
	return outside(f)
}

// libraryFolders hold the code that is not the user's.
var libraryFolders = func() []string {
	_, file, _, _ := runtime.Caller(0)
	root := path.Dir(path.Dir(file))
	return []string{root + "/graph/", root + "/xlabridge/"}
}()

// outside reports whether a frame is the user's. It compares files: functions that Go makes of a generic one have the
// name of the package that calls it.
func outside(f runtime.Frame) bool {
	library := slices.ContainsFunc(libraryFolders, func(folder string) bool {
		return strings.HasPrefix(f.File, folder)
	}) && !strings.HasSuffix(f.File, "_test.go")
	pkg, _, _ := strings.Cut(f.Function, ".")
	return f.File != "" && !library && !slices.Contains([]string{"runtime", "reflect", "slices", "sync"}, pkg)
}
