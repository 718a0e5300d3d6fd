// Package cli is the command line of xlarun as a library: a main function of one's own registers environments,
// policies and strategies and then calls Main, and every command knows them.
//
// A command ends with status 0, with 1 when something failed while it ran, with 2 when its input was wrong (nothing was
// compiled or written then), and with 130 when it was interrupted; xlarun work with 3 where there is no server, or it
// refuses. Errors are one sentence on stderr; a good run leaves stderr empty.
package cli

import (
	"context"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"xlarun/cmd/xlarun/boardgame"
	"xlarun/cmd/xlarun/console"
	"xlarun/cmd/xlarun/handover"
	"xlarun/cmd/xlarun/plots"
	_ "xlarun/envs/all" // what --env knows
	_ "xlarun/rollout/evolve"
	_ "xlarun/rollout/islands" // kinds of run
	_ "xlarun/rollout/ppo"
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
	StatusInterrupted = console.StatusInterrupted // Ctrl-C, or a request to terminate
)

// Streams are what a command reads and writes, apart from files.
type Streams = console.Streams

// App is what the commands of a program share: the streams, and what tests replace.
type App struct {
	Streams
	OpenBackend console.Opener
	preload     func(console.BackendFlags) // nil: backends are opened when they are needed
	now         func() time.Time
	disk        runfolder.Disk // nil: the operating system's
	// find returns the path of another program, and exec runs one in place of this process.
	find func(program string) (path string, err error)
	exec func(path string, args []string) error
	args []string // the command line
}

// Main runs the command line of this process and exits.
func Main() {
	// A pipe that nobody reads any more fails the write, and does not kill what may have a state to save.
	signal.Ignore(syscall.SIGPIPE)
	status := Run(untilSignal(), os.Args[1:], Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Env: os.Getenv})
	exit(status)
}

var ending sync.Once

// exit ends the process with the status of the first call: ending itself may take longer than lastMoment, as with the
// race detector.
func exit(status int) { ending.Do(func() { os.Exit(status) }) }

const (
	// oneSignal is the time within which signals count as one: a shell, a terminal that is closed, a supervisor may
	// send theirs to the process and again to its group.
	oneSignal = 100 * time.Millisecond
	// lastMoment is when an interrupted process ends in any case: nobody may be reading what it wants to say at last.
	lastMoment = console.Grace + 100*time.Millisecond
)

// untilSignal is a context that ends with the first signal to end; the second one ends the process. Signals that the
// process was started to ignore, as nohup does, stay ignored.
func untilSignal() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 8)
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
		if !signal.Ignored(s) {
			signal.Notify(signals, s)
		}
	}
	go func() {
		<-signals
		first := time.Now()
		time.AfterFunc(lastMoment, func() { exit(StatusInterrupted) })
		cancel()
		for s := range signals {
			if s != syscall.SIGHUP && time.Since(first) > oneSignal {
				exit(StatusInterrupted)
			}
		}
	}()
	return ctx
}

// Run runs one command line, without the program's name, and returns its exit status. When ctx ends the command has
// a moment to put its state on disk; it may not have returned by then, so the process should end soon.
func Run(ctx context.Context, args []string, s Streams) int {
	a := &App{Streams: s, OpenBackend: openBackend, preload: console.Preload, now: time.Now,
		find: func(program string) (string, error) { return handover.Find(program, s.Err) }, exec: handover.Exec}
	return a.run(ctx, args)
}

func (a *App) run(ctx context.Context, args []string) int {
	a.args = args
	return console.Run(ctx, newRoot(a), joinBools(args), a.Streams)
}

// joinBools lets the value of a flag that is true or false stand behind a blank, as that of every other flag may: --jit
// false.
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
		Use:   "xlarun",
		Short: "Populations of networks as one XLA program",
		Long: "xlarun turns the life of one member, written as ordinary Go functions, into one program for a whole " +
			"population,\n" +
			"which XLA compiles once and runs on the cores, GPUs or TPUs at hand.",
		Example: "  xlarun evolve CartPole-v1\n" +
			"  source <(xlarun completion bash)   # commands and flags are completed in this shell; also zsh, fish, " +
			"powershell",
		Version:           console.Version(),
		Args:              cobra.ArbitraryArgs,
		RunE:              groupCommand,
		PersistentPreRunE: notEmpty,
	}
	root.SetVersionTemplate(versionText())
	root.SetHelpCommand(helpCommand(a))
	for _, k := range allKinds() {
		cmd := kindCommand(a, k)
		if k.Name == boardgame.Kind {
			cmd.AddCommand(boardgame.Command(a.Streams, a.OpenBackend))
		}
		root.AddCommand(cmd)
	}
	root.AddCommand(playCommand(a), renderCommand(a), sampleCommand(a), exportCommand(a), plots.Command(a.Streams),
		profileCommand(a), inspectCommand(a), warmupCommand(a), pluginCommand(a), cacheCommand(a), doctorCommand(a),
		versionCommand(a), manCommand(a))
	for _, commands := range registered {
		root.AddCommand(commands(a)...)
	}
	addOthers(a, root)
	return root
}

// notEmpty refuses arguments, and names of files, that are given as nothing: of a variable that was not set.
func notEmpty(cmd *cobra.Command, args []string) (err error) {
	for i, arg := range args {
		if arg == "" {
			return console.BadInput("argument %d is empty: leave it out, or give it a value", i+1)
		}
	}
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if f.Value.String() == "" && slices.Contains([]string{"config", "out", "resume", "plugin", "gif", "png",
			"data"}, f.Name) {
			err = console.BadInput("--%s is empty: leave it out, or give it a value", f.Name)
		}
	})
	return err
}
