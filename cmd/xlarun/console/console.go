// Package console holds what the commands of xlarun share: streams, exit statuses, error messages, the flags of the
// backend, and units. Package cli documents the statuses.
package console

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"xlarun/envs"
)

// Exit statuses. docs/reference/exit-codes.md says what an engine, such as Slurm, should do after each.
const (
	StatusOK          = 0   // done, or it was over without this process
	StatusFailed      = 1   // something failed while it ran
	StatusUsage       = 2   // wrong input: nothing was begun
	StatusNoServer    = 3   // no server or too few hosts for --wait, or see exit-codes.md; a host has saved its state
	StatusRefused     = 4   // the others refuse it: its token, certificate, settings, version or rounding
	StatusAgain       = 75  // SIGTERM: all is saved, and the same command goes on; EX_TEMPFAIL of sysexits.h
	StatusInterrupted = 130 // Ctrl-C, or a closed terminal
	StatusUnread      = 141 // nobody reads stdout any more, as after "| head"; shells have this status for SIGPIPE
	StatusTerminated  = 143 // SIGTERM, and nothing can go on
)

// BenchHelp is the help of the command bench in a line, in both programs that have it.
const BenchHelp = "Benchmark named workloads, also compared with other libraries"

// Streams holds the standard streams and the environment of a command.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
	// Env returns an environment variable. nil means that none is set.
	Env func(name string) string
}

// Getenv returns an environment variable, or "" if it is not set.
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

// helpFailed is the annotation of a command for which FailHelp was called.
const helpFailed = "xlarun_help_failed"

// FailHelp makes the command line fail with a usage error after the help of a command. It is needed because cobra's
// help functions return no error.
func FailHelp(cmd *cobra.Command, err error) {
	if cmd.Annotations == nil {
		cmd.Annotations = map[string]string{}
	}
	cmd.Annotations[helpFailed] = err.Error()
}

// Run runs a command line, without the program's name, and returns its exit status. When ctx ends, the command has the
// time GraceOf to save its state. It may still run when Run returns, so the process should end soon.
func Run(ctx context.Context, root *cobra.Command, args []string, s Streams) int {
	if endingOf(ctx) == nil {
		ctx = WithEnding(ctx)
	}
	Saves(ctx, 0)                             // a command before this one may have said otherwise
	root.SetArgs(append([]string{}, args...)) // for nil, cobra uses the arguments of the process
	root.SetIn(s.In)
	root.SetOut(s.Out)
	root.SetErr(s.Err)
	root.SilenceErrors, root.SilenceUsage = true, true
	root.SetGlobalNormalizationFunc(NormalizeFlag)
	root.SetFlagErrorFunc(flagError)
	refuseShells(root, args)
	type outcome struct {
		cmd *cobra.Command
		err error
	}
	done := make(chan outcome, 1)
	go func() {
		o := outcome{cmd: root}
		if thrown := envs.Try(func() { o.cmd, o.err = root.ExecuteContextC(ctx) }); thrown != nil {
			o = outcome{root, thrown} // of a part that the program registered
		}
		done <- o
	}()
	var o outcome
	select {
	case o = <-done:
	case <-ctx.Done():
		select {
		case o = <-done:
		case <-time.After(GraceOf(ctx)): // a call of the compiler or a device cannot be stopped
			o = outcome{root, ErrInterrupted}
		}
	}
	if text, failed := o.cmd.Annotations[helpFailed]; o.err == nil && failed {
		o.err = BadInput("%s", text)
	}
	if out, ok := s.Out.(*Output); ok && o.err == nil {
		o.err = out.Failed()
	}
	if o.err == nil {
		return StatusOK
	}
	if unread(o.err) {
		return StatusUnread
	}
	status := StatusOf(ctx, o.err)
	if status == StatusInterrupted && !errors.As(o.err, new(InterruptedError)) {
		o.err = ErrInterrupted
	}
	if status == StatusInterrupted && ctx.Err() != nil {
		status = Interrupted(ctx)
	}
	text := fmt.Sprintf("%s: %s", o.cmd.CommandPath(), OneLine(o.err))
	fmt.Fprintln(s.Err, text)
	if wantsJSON(args) {
		choice, _ := errors.AsType[ChoiceError](o.err)
		f := Failure{CodeOf(ctx, o.err), text, status, choice.Reason, choice.Choose}
		_ = s.printFailure(f, o.err) // stderr has said it
	}
	return status
}
