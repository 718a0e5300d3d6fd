// Package cli is the command line of xlarun as a library: a main function of one's own registers environments,
// policies and strategies and then calls Main, and every command knows them.
//
// A command ends with status 0, with 1 when something failed while it ran, with 2 when its input was wrong (nothing
// was compiled or written then), and with 130 when it was interrupted. Errors are one sentence on stderr; a good run
// leaves stderr empty.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"xlarun/envs"
	"xlarun/rollout/evolve"
	"xlarun/xlabridge"
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

func (s Streams) env(name string) string {
	if s.Env == nil {
		return ""
	}
	return s.Env(name)
}

// app is what the commands share: the streams, and what tests put something else in place of.
type app struct {
	Streams
	openBackend func(ctx context.Context, o backendOptions, r listener) (xlabridge.Backend, error)
	newEngine   func(b xlabridge.Backend, c evolve.Config) (engine, error)
	tune        func(b xlabridge.Backend, c evolve.Config) (evolve.Choice, error)
	now         func() time.Time
}

// grace is how long an interrupted command may take to put its state on disk.
const grace = 800 * time.Millisecond

// Main runs the command line of this process and exits.
func Main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	status := Run(ctx, os.Args[1:], Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Env: os.Getenv})
	stop()
	os.Exit(status)
}

// Run runs one command line, without the program's name, and returns its exit status. When ctx ends the command has
// a moment to put its state on disk; it may not have returned by then, so the process should end soon.
func Run(ctx context.Context, args []string, s Streams) int {
	return (&app{Streams: s, openBackend: openBackend, newEngine: newEngine, tune: evolve.Tune, now: time.Now}).run(ctx, args)
}

func (a *app) run(ctx context.Context, args []string) int {
	root := newRoot(a)
	root.SetArgs(args)
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
		case <-time.After(grace): // inside a call that cannot be stopped: a compiler's, a device's
			o = outcome{root, errInterrupted}
		}
	}
	if o.err == nil {
		return StatusOK
	}
	status := statusOf(ctx, o.err)
	if status == StatusInterrupted && !errors.As(o.err, new(interruptedError)) {
		o.err = errInterrupted
	}
	if status != StatusOK {
		fmt.Fprintf(a.Err, "%s: %s\n", o.cmd.CommandPath(), oneLine(o.err))
	}
	return status
}

// usageError is a mistake in what the user gave.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// badInput makes a usageError.
func badInput(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// interruptedError says what an interrupted command leaves behind.
type interruptedError struct{ error }

var errInterrupted error = interruptedError{errors.New("interrupted")}

// statusOf maps a command's error to its exit status.
func statusOf(ctx context.Context, err error) int {
	switch {
	case errors.As(err, new(interruptedError)):
		return StatusInterrupted
	case errors.As(err, new(usageError)):
		return StatusUsage
	case ctx.Err() != nil && errors.Is(err, context.Canceled):
		return StatusInterrupted
	}
	return StatusFailed
}

// oneLine is the error as one line.
func oneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }

func newRoot(a *app) *cobra.Command {
	root := &cobra.Command{
		Use:   "xlarun",
		Short: "Populations of networks as one XLA program",
		Long: "xlarun turns the life of one member, written as ordinary Go functions, into one program for a whole population,\n" +
			"which XLA compiles once and runs on the cores, GPUs or TPUs at hand.",
		Example: "  xlarun evolve CartPole-v1\n" +
			"  source <(xlarun completion bash)   # commands and flags are completed in this shell; also zsh, fish, powershell",
		Version:       version(),
		Args:          cobra.ArbitraryArgs,
		RunE:          groupCommand,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetVersionTemplate(versionText())
	root.SetHelpCommand(helpCommand())
	root.SetIn(a.In)
	root.SetOut(a.Out)
	root.SetErr(a.Err)
	root.SetGlobalNormalizationFunc(normalizeFlag)
	root.SetFlagErrorFunc(flagError)
	root.AddCommand(evolveCommand(a), sparseCommand(a), profileCommand(a), inspectCommand(a), warmupCommand(a), benchCommand(a), pluginCommand(a), cacheCommand(a), doctorCommand(a), versionCommand(a), manCommand(a))
	plainDefaults(root, "0") // which the help does not name
	return root
}

// group is a command that only holds others.
func group(use, short string, commands ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{Use: use, Short: short, Args: cobra.ArbitraryArgs, RunE: groupCommand}
	cmd.AddCommand(commands...)
	return cmd
}

// groupCommand is the body of a command that only holds others.
func groupCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return cmd.Help()
	}
	return noCommand(cmd, args[0])
}

// noCommand says that there is no command of the name below cmd.
func noCommand(cmd *cobra.Command, name string) error {
	var names []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	if len(names) == 0 {
		return badInput("there is no command %q: %s has none below it", name, cmd.CommandPath())
	}
	return badInput("there is no command %q%s; there are %s", name, didYouMean(name, names), strings.Join(names, ", "))
}

// normalizeFlag lets flags be written with dashes or underscores.
func normalizeFlag(_ *pflag.FlagSet, name string) pflag.NormalizedName {
	return pflag.NormalizedName(strings.ReplaceAll(name, "_", "-"))
}

// flagError words pflag's errors: what it got, what it wants.
func flagError(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	var invalid *pflag.InvalidValueError
	var valueless *pflag.ValueRequiredError
	switch {
	case errors.Is(err, pflag.ErrHelp):
		return err
	case errors.As(err, &unknown):
		name := unknown.GetSpecifiedName()
		dashes := "--"
		if unknown.GetSpecifiedShortnames() != "" {
			dashes = "-"
		}
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		hint := ""
		if near := envs.Nearest(name, names); near != "" {
			hint = ", did you mean --" + near + "?"
		}
		return badInput("there is no flag %s%s%s; see %s --help", dashes, name, hint, cmd.CommandPath())
	case errors.As(err, &invalid):
		f := invalid.GetFlag()
		return badInput("--%s got %q, wants %s", f.Name, invalid.GetValue(), wants(f))
	case errors.As(err, &valueless):
		return badInput("--%s got no value, wants %s", valueless.GetFlag().Name, wants(valueless.GetFlag()))
	}
	return usageError{err}
}

// wants describes the values of a flag.
func wants(f *pflag.Flag) string {
	switch f.Value.Type() {
	case "int", "int64":
		return "a whole number such as " + example(f.DefValue, "1")
	case "float64":
		return "a number such as " + example(f.DefValue, "0.1")
	case "bool":
		return "true or false"
	}
	return "a text such as \"" + example(f.DefValue, "name") + "\""
}

func example(value, other string) string {
	if value == "" || value == "NaN" {
		return other
	}
	return value
}

func didYouMean(name string, known []string) string {
	if near := envs.Nearest(name, known); near != "" {
		return fmt.Sprintf(", did you mean %s?", near)
	}
	return ""
}
