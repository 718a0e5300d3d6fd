package console

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"xlarun/internal/messaging"
	"xlarun/xlabridge"
	"xlarun/xlabridge/fetch"
)

// Codes name what went wrong, for programs that read the line of JSON. A code never changes its meaning.
const (
	CodeBadInput      = "bad_input"      // a flag, an argument or a file has a wrong value
	CodeBadFunction   = "bad_function"   // a function that was traced, such as an environment's, has a mistake
	CodeInterrupted   = "interrupted"    // Ctrl-C, or a request to terminate
	CodeMembersFailed = "members_failed" // all members failed, such as by NaN
	CodeNotFinite     = "not_finite"     // the interpreter found the first NaN
	CodeNotInstalled  = "not_installed"  // a plugin, a data set or a program is missing and cannot be downloaded
	CodeOutOfMemory   = "out_of_memory"  // the devices have too little
	CodeDeviceFailed  = "device_failed"  // the plugin reported another error
	CodeNotWritten    = "not_written"    // a file of the run could not be written
	CodeFailed        = "failed"         // anything else
	CodeNoServer      = messaging.CodeNoServer
	CodeRefused       = messaging.CodeRefused
)

// Coded is an error that knows its code.
type Coded interface {
	error
	ErrorCode() string
}

// WithCode makes an error with a code.
func WithCode(code, format string, args ...any) error {
	return codedError{fmt.Errorf(format, args...), code}
}

type codedError struct {
	error
	code string
}

func (e codedError) Unwrap() error     { return e.error }
func (e codedError) ErrorCode() string { return e.code }

// resourceExhausted is the plugins' status code for too little memory.
const resourceExhausted = 8

// CodeOf returns the code of a command's error.
func CodeOf(ctx context.Context, err error) string {
	status := StatusOf(ctx, err)
	if status == StatusInterrupted {
		return CodeInterrupted
	}
	if errors.Is(err, fetch.ErrNotInstalled) {
		return CodeNotInstalled
	}
	if status == StatusUsage {
		return CodeBadInput
	}
	if coded, ok := errors.AsType[Coded](err); ok {
		return coded.ErrorCode()
	}
	if e, ok := errors.AsType[*xlabridge.PluginError](err); ok {
		if e.Code == resourceExhausted {
			return CodeOutOfMemory
		}
		return CodeDeviceFailed
	}
	return CodeFailed
}

// ChoiceError is the error of a command that has to be told which one of several things is meant. Its sentence ends
// with the flag that says so. The line of JSON has both apart, so that a program that runs the command can name a flag
// of its own.
type ChoiceError struct {
	Reason string // "mine.db has the studies one, two"
	Choose string // the name of the flag: "study"
}

func (e ChoiceError) Error() string { return e.Reason + ": say which by --" + e.Choose }

// Failure is the line of JSON of a command that failed.
type Failure struct {
	Error   string `json:"error"` // the code
	Message string `json:"message"`
	Status  int    `json:"status"`
	Reason  string `json:"reason,omitempty"` // those of a ChoiceError
	Choose  string `json:"choose,omitempty"`
}

// ResultError is the error of a command that has a result all the same, such as an interrupted run. The line of JSON
// has both.
type ResultError struct {
	Err    error
	Result any // a JSON object
}

func (e ResultError) Error() string { return e.Err.Error() }
func (e ResultError) Unwrap() error { return e.Err }

// EndJSON ends a command that has a result with a line of JSON, and returns err. If it failed, Run writes the line.
func (s Streams) EndJSON(result any, err error) error {
	if err != nil {
		return ResultError{err, result}
	}
	return s.PrintJSON(result)
}

// printFailure writes the line of JSON of a failed command. A result that is no JSON object with members is left out.
func (s Streams) printFailure(f Failure, err error) error {
	e, ok := errors.AsType[ResultError](err)
	if !ok {
		return s.PrintJSON(f)
	}
	result, err := json.Marshal(e.Result)
	if err != nil || result[0] != '{' || string(result) == "{}" {
		return s.PrintJSON(f)
	}
	head, err := json.Marshal(f)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(s.Out, "%s,%s\n", head[:len(head)-1], result[1:])
	return err
}

// wantsJSON reports whether a command line asks for a line of JSON, also if it could not be parsed.
func wantsJSON(args []string) bool {
	if end := slices.Index(args, "--"); end >= 0 {
		args = args[:end]
	}
	return slices.Contains(args, "--json") || slices.Contains(args, "--json=true")
}
