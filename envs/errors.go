package envs

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"

	"xlarun/graph"
)

// Refuse throws an error about an argument of an environment. It leaves the traced function as graph.Throw does, but
// the error has the line that called the environment. op is "Name-vN: Step".
func Refuse(op, format string, args ...any) {
	panic(&graph.Error{Where: caller(true), Op: op, Msg: fmt.Sprintf(format, args...)})
}

// refuse is Refuse for functions of this package that users call, not environments.
func refuse(op, format string, args ...any) {
	panic(&graph.Error{Where: caller(false), Op: op, Msg: fmt.Sprintf(format, args...)})
}

// Try runs f, which calls code of the user, such as an environment or a policy, and returns its panic as an error: a
// *graph.Error unchanged, any other panic as a *graph.Error with the line that panicked. With GOTRACEBACK=all the panic
// goes on, so that Go prints its stack.
func Try(f func()) (err error) {
	defer func() {
		r := recover()
		if r != nil && os.Getenv("GOTRACEBACK") == "all" {
			panic(r)
		}
		switch r := r.(type) {
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

// panicked is the "file:line" of the first panic, for a deferred function. Frames that panic again with the same value
// come before it in the stack. A nil that graph panics about is reported at the line that called graph.
func panicked() (at string) {
	var pcs [256]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(3, pcs[:])])
	for {
		f, more := frames.Next()
		switch {
		case f.Function == "runtime.gopanic":
			at = ""
		case at == "" && !strings.HasPrefix(f.Function, "runtime.") &&
			(!strings.HasPrefix(f.Function, "xlarun/graph") || strings.HasSuffix(f.File, "_test.go")):
			at = fmt.Sprintf("%s:%d", filepath.Base(f.File), f.Line)
		}
		if !more {
			return at
		}
	}
}

// Line is the "file:line" of a method of e, for errors about its results; "" if that is not known.
func Line(e Environment, method string) string {
	var inner any = e
	if wrapped, ok := e.(interface{ unwrap() any }); ok {
		inner = wrapped.unwrap()
	}
	return MethodLine(inner, method)
}

// MethodLine is the "file:line" of a method of v, for errors about its results; "" if that is not known.
func MethodLine(v any, method string) string {
	find, ok := methods[method]
	if !ok {
		panic("envs: methods has no row for " + method)
	}
	m, ok := find(reflect.TypeOf(v))
	if !ok {
		return ""
	}
	file, line := runtime.FuncForPC(m.Func.Pointer()).FileLine(m.Func.Pointer())
	if line <= 1 { // generated code, of a method of an embedded type
		return ""
	}
	return fmt.Sprintf("%s:%d", filepath.Base(file), line)
}

// methods finds the methods that are called by name or whose results are checked. Each name is a constant where reflect
// gets it: with a variable, the linker keeps every exported method of every type in the program.
var methods = map[string]func(reflect.Type) (reflect.Method, bool){
	// Of environments.
	"DefaultParams": func(t reflect.Type) (reflect.Method, bool) { return t.MethodByName("DefaultParams") },
	"Reset":         func(t reflect.Type) (reflect.Method, bool) { return t.MethodByName("Reset") },
	"Step":          func(t reflect.Type) (reflect.Method, bool) { return t.MethodByName("Step") },
	"Observe":       func(t reflect.Type) (reflect.Method, bool) { return t.MethodByName("Observe") },
	"Spec":          func(t reflect.Type) (reflect.Method, bool) { return t.MethodByName("Spec") },
	"Legal":         func(t reflect.Type) (reflect.Method, bool) { return t.MethodByName("Legal") },
	"Describe":      func(t reflect.Type) (reflect.Method, bool) { return t.MethodByName("Describe") },
	"DescribeStep":  func(t reflect.Type) (reflect.Method, bool) { return t.MethodByName("DescribeStep") },
	"Objectives":    func(t reflect.Type) (reflect.Method, bool) { return t.MethodByName("Objectives") },
	"Report":        func(t reflect.Type) (reflect.Method, bool) { return t.MethodByName("Report") },
	"Player":        func(t reflect.Type) (reflect.Method, bool) { return t.MethodByName("Player") },
	"Rewards":       func(t reflect.Type) (reflect.Method, bool) { return t.MethodByName("Rewards") },
	"Draw":          func(t reflect.Type) (reflect.Method, bool) { return t.MethodByName("Draw") },
	"Sizes":         func(t reflect.Type) (reflect.Method, bool) { return t.MethodByName("Sizes") },
	"Resize":        func(t reflect.Type) (reflect.Method, bool) { return t.MethodByName("Resize") },
	// Of policies.
	"Make":    func(t reflect.Type) (reflect.Method, bool) { return t.MethodByName("Make") },
	"Init":    func(t reflect.Type) (reflect.Method, bool) { return t.MethodByName("Init") },
	"Prepare": func(t reflect.Type) (reflect.Method, bool) { return t.MethodByName("Prepare") },
	"Start":   func(t reflect.Type) (reflect.Method, bool) { return t.MethodByName("Start") },
	"Act":     func(t reflect.Type) (reflect.Method, bool) { return t.MethodByName("Act") },
	"Learn":   func(t reflect.Type) (reflect.Method, bool) { return t.MethodByName("Learn") },
	// Of strategies, which have Init, too.
	"Traits": func(t reflect.Type) (reflect.Method, bool) { return t.MethodByName("Traits") },
	"Sample": func(t reflect.Type) (reflect.Method, bool) { return t.MethodByName("Sample") },
	"Member": func(t reflect.Type) (reflect.Method, bool) { return t.MethodByName("Member") },
	"Tell":   func(t reflect.Type) (reflect.Method, bool) { return t.MethodByName("Tell") },
	"Mean":   func(t reflect.Type) (reflect.Method, bool) { return t.MethodByName("Mean") },
}

// CheckState throws an error unless next, the state that e's Step returned for state, has its arrays, with their shapes
// and dtypes.
func CheckState(e Environment, state, next any) {
	wrong := func(format string, args ...any) {
		panic(&graph.Error{Where: Line(e, "Step"), Op: e.Spec().ID + ": the state of Step",
			Msg: fmt.Sprintf(format, args...)})
	}
	before, paths := graph.Flatten(state)
	var after []*graph.Array
	var other *graph.Tree
	var bad *graph.Error
	if errors.As(graph.Try(func() { after, other = graph.Flatten(next) }), &bad) {
		wrong("%s", bad.Msg)
	}
	if d := paths.Difference("state that it gets", other, "state that it returns"); d != "" {
		wrong("%s", d)
	}
	for i, a := range after {
		if want := before[i].Shape(); !want.Equal(a.Shape()) {
			wrong("%s is %s, in the state that it gets %s: convert or reshape it", strings.TrimPrefix(paths.Path(i),
				"value"), a.Shape(), want)
		}
	}
}

// ResultError is the error of a method of v that returned what cannot be used. what is v's role, such as "policy".
func ResultError(v any, what, method, msg string) *graph.Error {
	return &graph.Error{Where: MethodLine(v, method), Op: "the " + what + "'s " + method, Msg: msg}
}

// caller is the "file:line" of the innermost frame outside envs and graph. With skip it is also outside the
// environment: it skips the first consecutive frames of one package, unless they are the last.
func caller(skip bool) string {
	var pcs [64]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(3, pcs[:])])
	first, environment := "", ""
	for {
		f, more := frames.Next()
		ours := slices.ContainsFunc([]string{"xlarun/envs.", "xlarun/graph", "xlarun/internal/erase.", "reflect."},
			func(prefix string) bool { return strings.HasPrefix(f.Function, prefix) })
		outside := f.File != "" && (!ours || strings.HasSuffix(f.File, "_test.go"))
		if outside {
			at := fmt.Sprintf("%s:%d", filepath.Base(f.File), f.Line)
			folder, name := filepath.Split(f.Function)
			name, _, _ = strings.Cut(name, ".")
			switch pkg := folder + name; {
			case pkg == "runtime" || pkg == "testing": // the start of the goroutine, not a caller
			case first == "" && skip:
				first, environment = at, pkg
			case pkg != environment || !skip:
				return at
			}
		} else if first != "" {
			environment = "" // called through a wrapper of this package: the next frame is the user, in any package
		}
		if !more {
			return first
		}
	}
}
