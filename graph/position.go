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

// stackDepth is the number of return addresses that can tell stacks apart. Ops in the nested loops of a body's step are
// more than 32 addresses away from the user's line; searching each time took half of the time of tracing them.
const stackDepth = 128

// stack is what may decide the position of a node: the nearest return addresses, the innermost first, and the frames
// that do not count.
type stack struct {
	skip int
	at   [stackDepth]uintptr
}

// stacks remembers positions by stacks, with as few return addresses as decide them. What decodes a stack takes far
// longer than what tells it apart. A stack is a path of steps of some addresses each, the innermost first: a short key
// is hashed in a fraction of the time that a whole stack takes.
var stacks = struct {
	sync.RWMutex
	known map[step]known
}{known: map[step]known{}}

// step is the next addresses of a stack, after the step with a number (0: none).
type step struct {
	skip, after int
	at          [stepSize]uintptr
}

// known is what stacks that begin with some steps have in common: their position, or unknown where those do not decide
// it.
type known struct {
	position
	number int // of the last step
}

// mostStacks bounds the memory of stacks: steps that are known. stepSize is the number of addresses of a step.
const mostStacks, stepSize = 1 << 16, 4

// step is the addresses of s from one on.
func (s *stack) step(after, from int) step {
	return step{s.skip, after, [stepSize]uintptr(s.at[from:])}
}

// capture is the position of the caller's caller, skip frames further out.
//
//go:noinline
func capture(skip int) position {
	s := stack{skip: skip}
	returnAddresses(&s.at)
	p, seen := s.recall()
	if p != unknown {
		return p
	}
	p = search(skip + 1)
	if !seen {
		s.remember(p, s.reach(p))
	}
	return p
}

// recall returns the position of a stack, and whether it was seen before; unknown if it has to be searched.
func (s *stack) recall() (p position, seen bool) {
	var k known
	stacks.RLock()
	for from := 0; from < stackDepth; from += stepSize {
		if k, seen = stacks.known[s.step(k.number, from)]; k.position != unknown || !seen {
			break
		}
	}
	stacks.RUnlock()
	return k.position, seen
}

// remember keeps the position of a stack, of which reach return addresses decide it; 0: none do.
func (s *stack) remember(p position, reach int) {
	stacks.Lock()
	defer stacks.Unlock()
	if len(stacks.known) > mostStacks {
		clear(stacks.known)
	}
	number := 0
	for from := 0; from < stackDepth; from += stepSize {
		at := s.step(number, from)
		if reach > 0 && from+stepSize >= reach {
			stacks.known[at] = known{position: p}
			return
		}
		if _, seen := stacks.known[at]; !seen {
			stacks.known[at] = known{number: len(stacks.known) + 1}
		}
		number = stacks.known[at].number
	}
}

// reach returns the number of return addresses of s that decide its position p; 0 if they do not. Frames as Go prints
// them are compared with them: each is at a return address, or it is the function into which the frame before was
// inlined. Return addresses in between belong to functions that Go made and does not print.
func (s *stack) reach(p position) int {
	var pcs [4 * stackDepth]uintptr
	left, within := s.at[:], uintptr(0)
	for i, pc := range pcs[:runtime.Callers(3, pcs[:])] {
		function := runtime.FuncForPC(pc - 1).Entry() // of the outermost one at an address
		if k := slices.Index(left, pc); k >= 0 {
			left, within = left[k+1:], function
		} else if function != within {
			return 0
		}
		if i >= s.skip && position(pc) == p {
			return stackDepth - len(left)
		}
	}
	return 0
}

// search finds the position of the caller's caller, skip frames further out, in the stack as Go prints it. The user's
// frame is mostly near: the walk goes on only where it is not.
func search(skip int) position {
	var pcs [64]uintptr
	for from, n := 0, 8; ; from, n = from+n, min(2*n, len(pcs)) {
		found := pcs[:runtime.Callers(skip+2+from, pcs[:n])]
		for _, pc := range found {
			if isUsers(pc) {
				return position(pc)
			}
		}
		if len(found) < n {
			return nowhere
		}
	}
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
	return capture(1).String()
}

// users remembers of return addresses whether they are the user's.
var users = struct {
	sync.RWMutex
	known map[uintptr]bool
}{known: map[uintptr]bool{}}

// isUsers reports whether a return address, as runtime.Callers gives it, lies outside of the library.
func isUsers(pc uintptr) bool {
	users.RLock()
	is, known := users.known[pc]
	users.RUnlock()
	if !known {
		f, _ := runtime.CallersFrames([]uintptr{pc}).Next()
		is = outside(f)
		users.Lock()
		users.known[pc] = is
		users.Unlock()
	}
	return is
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
