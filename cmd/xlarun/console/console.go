// Package console is what the commands of xlarun have in common: streams and exit statuses, how errors are worded, the
// flags that say what programs run on, and units. Package cli says what the statuses mean to a user.
package console

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
)

// Exit statuses.
const (
	StatusOK          = 0
	StatusFailed      = 1   // something failed while it ran
	StatusUsage       = 2   // wrong input
	StatusInterrupted = 130 // Ctrl-C, or a request to terminate
)

// Streams are what a command reads and writes, apart from files.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
	// Env looks an environment variable up; nil: none is set.
	Env func(name string) string
}

// Getenv is an environment variable, "" where it is not set.
func (s Streams) Getenv(name string) string {
	if s.Env == nil {
		return ""
	}
	return s.Env(name)
}

// PrintJSON writes a value as one line of JSON.
func (s Streams) PrintJSON(value any) error {
	line, err := json.Marshal(value)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(s.Out, "%s\n", line)
	return err
}

// helpFailed is the annotation of a command whose help was asked for what does not exist.
const helpFailed = "xlarun_help_failed"

// FailHelp makes the command line fail with an error of usage after the help of a command: help functions of cobra
// return no error.
func FailHelp(cmd *cobra.Command, err error) {
	if cmd.Annotations == nil {
		cmd.Annotations = map[string]string{}
	}
	cmd.Annotations[helpFailed] = err.Error()
}

// Grace is how long an interrupted command may take to put its state on disk.
const Grace = 800 * time.Millisecond

// Run runs one command line of the root command, without the program's name, and returns its exit status. When ctx ends
// the command has a moment to put its state on disk; it may not have returned by then, so the process should end soon.
func Run(ctx context.Context, root *cobra.Command, args []string, s Streams) int {
	root.SetArgs(append([]string{}, args...)) // of nil, cobra would take the process's
	root.SetIn(s.In)
	root.SetOut(s.Out)
	root.SetErr(s.Err)
	root.SilenceErrors, root.SilenceUsage = true, true
	root.SetGlobalNormalizationFunc(NormalizeFlag)
	root.SetFlagErrorFunc(flagError)
	type outcome struct {
		cmd *cobra.Command
		err error
	}
	done := make(chan outcome, 1)
	go func() {
		cmd, err := root.ExecuteContextC(ctx)
		done <- outcome{cmd, err}
	}()
	var o outcome
	select {
	case o = <-done:
	case <-ctx.Done():
		select {
		case o = <-done:
		case <-time.After(Grace): // inside a call that cannot be stopped: a compiler's, a device's
			o = outcome{root, ErrInterrupted}
		}
	}
	if text, failed := o.cmd.Annotations[helpFailed]; o.err == nil && failed {
		o.err = BadInput("%s", text)
	}
	if o.err == nil {
		return StatusOK
	}
	status := StatusOf(ctx, o.err)
	if status == StatusInterrupted && !errors.As(o.err, new(InterruptedError)) {
		o.err = ErrInterrupted
	}
	fmt.Fprintf(s.Err, "%s: %s\n", o.cmd.CommandPath(), OneLine(o.err))
	return status
}
