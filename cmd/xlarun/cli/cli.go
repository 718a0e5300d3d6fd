// Package cli is the command line of xlarun as a library. Your main function registers environments, policies,
// strategies and kinds of run, and then calls Main. Every command knows them.
//
// A command ends with status 0; with 1 if something failed while it ran; with 2 if its input was wrong, in which case
// nothing was compiled or written; with 3 if it found no server to join, and 4 if it was refused there; and with 130 if
// it was interrupted. After SIGTERM that is 75 if all is saved and the same command goes on, else 143. A command whose
// stdout nobody reads any more, as after "| head", ends with 141 and says nothing, unless it is a run, which is
// interrupted. An error is one sentence on stderr. Without an error, stderr is empty.
package cli

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"xlarun/cmd/xlarun/console"
	"xlarun/cmd/xlarun/machine"
	"xlarun/cmd/xlarun/play"
	"xlarun/cmd/xlarun/plots"
	"xlarun/cmd/xlarun/python"
	_ "xlarun/envs/all" // environments
	_ "xlarun/rollout/evolve"
	_ "xlarun/rollout/islands" // kinds of run
	_ "xlarun/rollout/ppo"
	_ "xlarun/rollout/qd"
	"xlarun/rollout/run/runfolder"
	"xlarun/rollout/run/session"
	_ "xlarun/rollout/selfplay"
	_ "xlarun/rollout/sparse"
	"xlarun/xlabridge"
)

// Exit statuses.
const (
	StatusOK          = console.StatusOK
	StatusFailed      = console.StatusFailed      // something failed while it ran
	StatusUsage       = console.StatusUsage       // wrong input
	StatusInterrupted = console.StatusInterrupted // Ctrl-C, or a closed terminal
)

// Streams are the standard streams and the environment of a command.
type Streams = console.Streams

// App has what all commands of a program share: the streams, and functions that tests replace.
type App struct {
	Streams
	OpenBackend console.Opener
	preload     func(console.BackendFlags) // starts to open a backend in the background; nil: does not
	now         func() time.Time
	disk        runfolder.Disk // nil: the operating system's
	patience    time.Duration  // runfolder.Options.Patience
	// find returns the path of another program, and exec runs one instead of this process.
	find func(program string) (path string, err error)
	// output runs a program and returns its stdout. The error of a program that failed is its stderr.
	output func(ctx context.Context, path string, args ...string) ([]byte, error)
	exec   func(path string, args []string) error
	args   []string // the command line
	// program is the name that this process was started by, if it is one of the other programs.
	program string
}

// Main runs the command line of this process and exits.
func Main() { exit(runHere(os.Args[1:])) }

// Do runs one command line, without the program's name, in this process, as a cell of a notebook does. It returns when
// the command has succeeded; otherwise the process exits with the command's status.
//
//	envs.MustRegister(Catch{})
//	cli.Do("evolve", "Catch-v0", "--population", "64")
func Do(args ...string) {
	if status := runHere(args); status != StatusOK {
		exit(status)
	}
}

// signals is the context of all command lines of this process.
var signals = sync.OnceValue(untilSignal)

func runHere(args []string) int {
	// A write to a pipe without a reader must fail, not kill the process: it may have a state to save.
	signal.Ignore(syscall.SIGPIPE)
	if n, _ := machine.Cores(os.Getenv); n < runtime.GOMAXPROCS(0) {
		runtime.GOMAXPROCS(n) // all else asks for that
	}
	return Run(signals(), args, Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Env: os.Getenv})
}

var once sync.Once

// exit ends the process with the status of the first call. os.Exit may take longer than lastMoment, such as with the
// race detector.
func exit(status int) { once.Do(func() { os.Exit(status) }) }

const (
	// oneSignal is the time within which signals count as one. A shell, a closing terminal or a supervisor may send a
	// signal to the process and again to its group.
	oneSignal = 100 * time.Millisecond
	// lastMoment is the time after the grace at which an interrupted process ends in any case: a reader of its output
	// may block it.
	lastMoment = 100 * time.Millisecond
)

// untilSignal returns a context that ends with the first signal. The second signal ends the process, but a further
// SIGTERM leaves the grace of the first: engines send it to each process and again at a time limit. Signals that were
// ignored when the process started, as by nohup, stay ignored.
func untilSignal() context.Context {
	ctx, cancel := context.WithCancelCause(console.WithEnding(context.Background()))
	signals := make(chan os.Signal, 8)
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
		if !signal.Ignored(s) {
			signal.Notify(signals, s)
		}
	}
	go func() {
		var cause error
		if <-signals == syscall.SIGTERM {
			cause = console.ErrTerminated
		}
		first := time.Now()
		cancel(cause)
		time.AfterFunc(console.GraceOf(ctx)+lastMoment, func() { exit(console.Interrupted(ctx)) })
		for s := range signals {
			again := s == syscall.SIGTERM && cause == console.ErrTerminated
			if s != syscall.SIGHUP && !again && time.Since(first) > oneSignal {
				exit(console.Interrupted(ctx))
			}
		}
	}()
	return ctx
}

// Run runs one command line, without the program's name, and returns its exit status. When ctx ends, the command has
// console.GraceOf to put its state on the disk. A call may not have returned by then, so the process should end soon.
func Run(ctx context.Context, args []string, s Streams) int {
	a := &App{Streams: s, program: otherProgram(os.Args[0]), OpenBackend: openBackend, preload: console.Preload,
		now: time.Now, patience: 2 * time.Second,
		find: func(program string) (string, error) { return findProgram(program, s.Err) }, exec: execProgram,
		output: func(ctx context.Context, path string, args ...string) ([]byte, error) {
			text, err := exec.CommandContext(ctx, path, args...).Output()
			if failed, ok := errors.AsType[*exec.ExitError](err); ok && len(failed.Stderr) > 0 {
				err = errors.New(strings.TrimSpace(string(failed.Stderr)))
			}
			return text, err
		}}
	return a.run(ctx, args)
}

func (a *App) run(ctx context.Context, args []string) int {
	a.args = versionAlone(backendFirst(args))
	a.Out = &console.Output{To: a.Out}
	root := newRoot(a)
	a.args = showAll(root, a.args)
	return console.Run(ctx, root, joinBools(a.args), a.Streams)
}

// joinBools lets users write a blank before the value of a boolean flag, as before any other value: --jit false.
func joinBools(args []string) (out []string) {
	for i, arg := range args {
		if arg == "--" {
			return append(out, args[i:]...)
		}
		if last := len(out) - 1; (arg == "true" || arg == "false") && last >= 0 && strings.HasPrefix(out[last], "--") &&
			!strings.Contains(out[last], "=") {
			out[last] += "=" + arg
			continue
		}
		out = append(out, arg)
	}
	return out
}

// openBackend opens what o names. The interpreter stops at the first NaN.
func openBackend(ctx context.Context, o console.BackendFlags, l console.Listener) (xlabridge.Backend, error) {
	if o.Backend == console.Reference {
		return session.NewNaNFinder(), nil
	}
	return console.OpenBackend(ctx, o, l)
}

func newRoot(a *App) *cobra.Command {
	root := &cobra.Command{
		Use:   "xlarun COMMAND",
		Short: "Populations of networks as one XLA program",
		Long: "xlarun turns the life of one member, written as ordinary Go functions, into one program for a whole " +
			"population, which XLA compiles once. It runs on CPUs. Programs for GPUs and TPUs compile, but none has " +
			"run yet.\n" +
			"xlarun COMMAND --help describes the flags that are often needed, xlarun COMMAND --help --all every " +
			"flag.\n" +
			"xlarun help strategies, policies, environments and so on lists what exists.",
		Example: "  xlarun evolve CartPole-v1\n" +
			"  source <(xlarun completion bash)   # commands and flags are completed in this shell; also zsh, fish, " +
			"powershell",
		Args:              cobra.ArbitraryArgs,
		RunE:              rootCommand,
		PersistentPreRunE: notEmpty,

		DisableFlagsInUseLine: true,
	}
	root.SetHelpFunc(a.showHelp)
	root.Flags().BoolP("version", "v", false, "version for xlarun")
	// It is completed as --help is.
	_ = root.Flags().SetAnnotation("version", cobra.FlagSetByCobraAnnotation, []string{"true"})
	root.SetHelpCommand(helpCommand(a))
	for _, k := range allKinds() {
		cmd := kindCommand(a, k)
		if k.Name == play.GameKind {
			cmd.AddCommand(play.GameCommand(a.Streams, a.OpenBackend))
		}
		root.AddCommand(cmd)
	}
	root.AddCommand(play.Command(a.Streams, a.OpenBackend), play.RenderCommand(a.Streams, a.OpenBackend),
		sampleCommand(a), exportCommand(a), plots.Command(a.Streams),
		plots.Compare(a.Streams), profileCommand(a), inspectCommand(a), warmupCommand(a), pluginCommand(a),
		cacheCommand(a), doctorCommand(a), devicesCommand(a), versionCommand(a), manCommand(a),
		python.Command(a.Streams, a.OpenBackend))
	for _, commands := range registered {
		root.AddCommand(commands(a)...)
	}
	addOthers(a, root)
	if a.program != "" {
		describeOther(root, a.program)
	}
	return root
}

// notEmpty refuses empty arguments and names of files, which come from variables that are not set.
func notEmpty(cmd *cobra.Command, args []string) (err error) {
	if completes(cmd.Name()) || asksVersion(cmd) { // the word at the cursor may be empty
		return nil
	}
	for i, arg := range args {
		if arg == "" {
			return console.BadInput("argument %d is empty: leave it out, or give it a value", i+1)
		}
	}
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if f.Value.String() == "" && slices.Contains([]string{"config", "out", "resume", "mirror", "plugin", "gif",
			"png", "data", "from-study", "for", "island", "migration-dir", "env-param", "member"}, f.Name) {
			err = console.BadInput("--%s is empty: leave it out, or give it a value", f.Name)
		}
	})
	return err
}
