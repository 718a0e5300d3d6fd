package graph

import (
	"fmt"
)

// Error is a mistake found while a function is traced, transformed or interpreted: where (the user's source line),
// in which op, what it got and what it wants.
type Error struct {
	Where string // file:line of the user's code, empty where it is not known
	Op    string // the op or function that refused
	Msg   string // what it got, what it wants, what to do
	// TooLarge reports that an array would have more bytes than an int64 counts.
	TooLarge bool
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

// ErrorCode is the error's code in a line of JSON.
func (e *Error) ErrorCode() string { return "bad_function" }

// throw leaves the op at hand with an *Error. Every public entry point that returns an error turns it back into one
// (see catch); op functions themselves have no error result, so that formulas read as formulas.
//
//go:noinline
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
//
//go:noinline
func Throw(op, format string, args ...any) { throwAt("", op, format, args...) }

// Try runs f and returns the *Error that it was left with, if any. Use it around op calls outside of any trace;
// Trace, Eval and Jit already do.
func Try(f func()) (err error) {
	defer catch(&err)
	f()
	return nil
}

// catch turns a thrown *Error into the caller's error. Any other panic, such as one of the user's own, goes on as it
// is; Go prints it with the stack of where it began.
func catch(err *error) {
	switch r := recover().(type) {
	case nil:
	case *Error:
		*err = r
	default:
		panic(r)
	}
}
