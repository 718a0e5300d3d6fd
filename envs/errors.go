package envs

import (
	"fmt"
	"path/filepath"
	"runtime"
	"strings"

	"xlarun/graph"
)

// Refuse is for an environment that was given what it cannot take: it leaves the traced function as graph.Throw does,
// but names the line of whoever called the environment, since what is wrong is what they passed. op is
// "Name-vN: Step".
func Refuse(op, format string, args ...any) {
	panic(&graph.Error{Where: caller(true), Op: op, Msg: fmt.Sprintf(format, args...)})
}

// refuse is Refuse for this package's own functions that no environment calls.
func refuse(op, format string, args ...any) {
	panic(&graph.Error{Where: caller(false), Op: op, Msg: fmt.Sprintf(format, args...)})
}

// Try runs f, which calls an environment, and returns what it was left with: a graph.Error as it is, any other panic,
// of the environment's own code, as one that names the line.
func Try(f func()) (err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case *graph.Error:
			err = r
		default:
			err = &graph.Error{Where: panicked(), Op: "panic", Msg: fmt.Sprint(r)}
		}
	}()
	f()
	return nil
}

// panicked is the "file:line" of what panicked first, seen from a function that is deferred: those that panic with the
// same again stand before it.
func panicked() (at string) {
	var pcs [256]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(3, pcs[:])])
	for {
		f, more := frames.Next()
		switch {
		case f.Function == "runtime.gopanic":
			at = ""
		case at == "" && !strings.HasPrefix(f.Function, "runtime."):
			at = fmt.Sprintf("%s:%d", filepath.Base(f.File), f.Line)
		}
		if !more {
			return at
		}
	}
}

// caller is the "file:line" of the innermost frame outside of these packages and of graph. With skip it is one outside
// of the environment too: the first run of frames of one package is passed over, if any frame comes after it.
func caller(skip bool) string {
	var pcs [64]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(3, pcs[:])])
	first, environment := "", ""
	for {
		f, more := frames.Next()
		ours := strings.HasPrefix(f.Function, "xlarun/envs.") || strings.HasPrefix(f.Function, "xlarun/graph")
		outside := f.File != "" && (!ours || strings.HasSuffix(f.File, "_test.go"))
		if outside {
			at := fmt.Sprintf("%s:%d", filepath.Base(f.File), f.Line)
			folder, name := filepath.Split(f.Function)
			name, _, _ = strings.Cut(name, ".")
			switch pkg := folder + name; {
			case pkg == "runtime" || pkg == "testing": // the goroutine's start: nobody else called
			case first == "" && skip:
				first, environment = at, pkg
			case pkg != environment || !skip:
				return at
			}
		} else if first != "" {
			environment = "" // called through a wrapper of ours: what comes next is the user, in whatever package
		}
		if !more {
			return first
		}
	}
}
