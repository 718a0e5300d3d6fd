package graph

import (
	"fmt"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// Error is a mistake found while a function is traced, transformed or interpreted: where (the user's source line),
// in which op, what it got and what it wants.
type Error struct {
	Where string // file:line of the user's code, empty where it is not known
	Op    string // the op or function that refused
	Msg   string // what it got, what it wants, what to do
}

// Error implements error: "cartpole.go:42: Add: ...".
func (e *Error) Error() string {
	s := e.Msg
	if e.Op != "" {
		s = e.Op + ": " + s
	}
	if e.Where != "" {
		s = e.Where + ": " + s
	}
	return s
}

// throw leaves the op at hand with an *Error. Every public entry point that returns an error turns it back into one
// (see catch); op functions themselves have no error result, so that formulas read as formulas.
func throw(op, format string, args ...any) { throwAt("", op, format, args...) }

// throwAt is throw with the user's line, where it is known better than by the stack.
func throwAt(where, op, format string, args ...any) {
	if where == "" {
		where = userLine()
	}
	panic(&Error{Where: where, Op: op, Msg: fmt.Sprintf(format, args...)})
}

// Throw is for packages that add functions in the style of graph's own (layers, environments): it leaves the traced
// function with an error that names the user's source line. Trace, Eval and Jit return it as an error.
func Throw(op, format string, args ...any) { throwAt("", op, format, args...) }

// Try runs f and returns the *Error that it was left with, if any. Use it around op calls outside of any trace;
// Trace, Eval and Jit already do.
func Try(f func()) (err error) {
	defer catch(&err)
	f()
	return nil
}

// catch turns a thrown *Error into the caller's error. Any other panic, such as one of the user's own, goes on as it is;
// Go prints it with the stack of where it began.
func catch(err *error) {
	switch r := recover().(type) {
	case nil:
	case *Error:
		*err = r
	default:
		panic(r)
	}
}

// position is where a node was made: return addresses, resolved only when somebody asks.
type position struct {
	pcs [24]uintptr
	n   int
}

func capture(skip int) *position {
	p := new(position)
	p.n = runtime.Callers(skip+2, p.pcs[:])
	return p
}

// String is the user's "file:line", or "".
func (p *position) String() string {
	if p == nil {
		return ""
	}
	return lineOf(p.pcs[:p.n])
}

// userLine is the user's line of what happens now: that of the node at hand while a transform walks a program, else the
// one that called into the library.
func userLine() string {
	if t := currentTrace(); t != nil && t.pos != nil {
		if line := t.pos.String(); line != "" {
			return line
		}
	}
	var pcs [256]uintptr
	return lineOf(pcs[:runtime.Callers(2, pcs[:])])
}

// libraryFolders hold the code that is not the user's.
var libraryFolders = func() []string {
	_, file, _, _ := runtime.Caller(0)
	root := path.Dir(path.Dir(file))
	return []string{root + "/graph/", root + "/xlabridge/"}
}()

// lineOf is the "file:line" of the innermost frame outside of the library, or "" if there is none. It goes by files: the
// functions that Go makes of a generic one bear the name of the package that calls it.
func lineOf(pcs []uintptr) string {
	if len(pcs) == 0 {
		return ""
	}
	frames := runtime.CallersFrames(pcs)
	for {
		f, more := frames.Next()
		library := slices.ContainsFunc(libraryFolders, func(folder string) bool { return strings.HasPrefix(f.File, folder) }) && !strings.HasSuffix(f.File, "_test.go")
		pkg, _, _ := strings.Cut(f.Function, ".")
		if f.File != "" && !library && !slices.Contains([]string{"runtime", "reflect", "slices", "sync"}, pkg) {
			return fmt.Sprintf("%s:%d", filepath.Base(f.File), f.Line)
		}
		if !more {
			return ""
		}
	}
}
