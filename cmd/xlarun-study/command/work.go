package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"xlarun/cmd/xlarun/cli"
	"xlarun/cmd/xlarun/console"
	"xlarun/cmd/xlarun/machine"
	"xlarun/internal/credentials"
	"xlarun/internal/messaging"
	"xlarun/internal/quantity"
	"xlarun/rollout/external"
	"xlarun/studies"
	"xlarun/studies/study"
)

func workCommand(a *cli.App) *cobra.Command {
	access, form := credentials.Files{}, &console.LogFlags{}
	count, threads, wait, grace := 0, 1, messaging.DefaultWait, time.Duration(0)
	var address messaging.Address
	program := ""
	cmd := &cobra.Command{
		Use: "work nats://HOST:PORT[/NAME]|@FILE[:NAME]",
		Long: "Work runs trials of a study that xlarun serve runs elsewhere: as many worker processes as there " +
			"are cores for, each one trial at a time.\nOne that dies is replaced, and its trial goes on from its " +
			"last checkpoint, here or elsewhere. Several addresses have commas between them. @FILE is a file with " +
			"the address, as xlarun serve --address-file writes it: it may come later, and change. NAME is that of " +
			"xlarun serve --join.",
		Example: "  xlarun work nats://head:4222 --token-file token\n  xlarun work nats://head:4222 --workers 4 " +
			"--threads 2",
		Args: func(_ *cobra.Command, args []string) (err error) {
			address, err = messaging.Parse(strings.Join(args, " "))
			switch {
			case err != nil || len(args) != 1:
				return console.BadInput("got %q, wants the address of a study that is served, nats://HOST:PORT or "+
					"@FILE", strings.Join(args, " "))
			case wait < 0:
				return console.BadInput("--wait got %v, wants a time such as 1h, or 0", wait)
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			err := saves(cmd.Context(), grace)
			var log *slog.Logger
			if err == nil {
				log, err = form.Logger(a.Out)
			}
			if err != nil {
				return err
			}
			cores, by := machine.Cores(a.Getenv)
			if count > 0 {
				by = "--workers"
			}
			if program != "" {
				if err := external.Find(program); err != nil {
					return console.BadInput("--exec %w", err)
				}
			}
			if count, err = workerCount(count, threads, cores, program != ""); err != nil {
				return err
			}
			server := messaging.Server{Address: address, Wait: wait}
			if err := server.Use(access, credentials.Worker); err != nil {
				return console.BadInput("%w", err)
			}
			slot := a.Getenv(envSlot)
			speaks := slot == "" || slot == "0" // one says what all workers of the machine see
			t := &tally{log: log, start: machine.ProcessStart()}
			if slot != "" {
				endWithParent(a.Getenv(envParent), endSelf)
				_ = errors.Join(os.Unsetenv(envSlot), os.Unsetenv(envParent)) // a trial's program is no such worker
			} else {
				t.say("%d x %s (%s) join %s", count, quantity.Count(threads, "core", "cores"), by, args[0])
			}
			if count > 1 {
				stderr := a.Err
				if form.JSON() {
					stderr = t.lines(slog.LevelWarn)
				}
				err = superviseWorkers(cmd.Context(), stderr, cmd.CommandPath()+": ", t, count, threads)
			} else {
				runtime.GOMAXPROCS(threads)
				j := studies.Join{Server: server, Version: console.Version(), Exec: program,
					Ended: func(number int64, r study.Result, took time.Duration) {
						w := worked(number, r, took)
						if slot == "" {
							t.add(w)
						} else {
							_ = a.PrintJSON(w)
						}
					}}
				if speaks {
					j.Joined = func(address string) { t.say("joined %s", address) }
					j.OnUnreachable = func(since time.Duration) {
						log.Warn(fmt.Sprintf("nobody answers at %s since %v: does xlarun serve run there, and can "+
							"this machine reach it? The workers wait until %v have passed", args[0],
							since.Round(time.Second), wait))
					}
				}
				err = noServer(address, studies.JoinStudy(cmd.Context(), j, newMaker(a, "the study's spec")))
			}
			switch {
			case errors.Is(err, studies.ErrOver):
				if speaks {
					t.say("%v", err)
				}
				return nil
			case cmd.Context().Err() != nil:
				return console.InterruptedError{Err: fmt.Errorf("interrupted after %s: the same command goes on",
					t.sum())}
			case err == nil && slot == "":
				t.say("done: %s", t.sum())
			}
			return err
		},
	}
	cmd.Flags().IntVar(&count, "workers", 0, "worker processes; 0 for as many as there are cores for")
	cmd.Flags().IntVar(&threads, "threads", 1, "cores of a worker, as the study's file has it")
	cmd.Flags().DurationVar(&wait, "wait", wait, "time without the study's server after which the workers end")
	cmd.Flags().StringVar(&program, "exec", "", "program that a trial is, where the study's kind is exec: a command "+
		"that comes over the network is never run")
	graceFlag(cmd, &grace)
	form.Add(cmd.Flags())
	cli.AddFiles(cmd.Flags(), &access)
	return cmd
}

// workerCount returns the number of workers of a machine that --workers and --threads ask for.
// There may be more than cores of those that only wait for programs.
func workerCount(workers, threads, cores int, programs bool) (int, error) {
	switch {
	case workers < 0:
		return 0, console.BadInput("--workers got %d, wants 1 or more, or 0 for as many as there are cores for",
			workers)
	case threads < 1 || threads > cores:
		return 0, console.BadInput("--threads got %d, wants 1 to the %d cores that this process may use", threads,
			cores)
	case workers > cores/threads && !programs:
		return 0, console.BadInput("--workers got %d of %d threads each, more than the %d cores that this "+
			"process may use: runs would wait for each other", workers, threads, cores)
	case workers == 0:
		return cores / threads, nil
	}
	return workers, nil
}

// envSlot is the number of a worker among those that one process keeps running; "": it runs alone.
const envSlot = "XLARUN_WORKER_SLOT"

// envParent is the process that keeps such a worker running, or without which a study ends.
const envParent = "XLARUN_WORKER_PARENT"

// endWithParent calls end when the process that started this one is gone, as after kill -9: nobody would end or count
// this worker any more, and the same command starts others. The workers of study run stay: the next coordinator takes
// them over.
func endWithParent(parent string, end func()) {
	go func() {
		for strconv.Itoa(os.Getppid()) == parent {
			time.Sleep(200 * time.Millisecond)
		}
		end()
	}()
}

// endSelf ends this process as SIGTERM does: it gives its trial back.
func endSelf() { _ = syscall.Kill(os.Getpid(), syscall.SIGTERM) }

// noServer returns the error of a worker that finds no study at its address.
func noServer(at messaging.Address, err error) error {
	if !errors.Is(err, studies.ErrNoCoordinator) {
		return err
	}
	why := "it may be over"
	if unreached, ok := errors.AsType[*messaging.ConnectError](err); ok {
		why = unreached.Cause.Error()
	}
	return &messaging.CodedError{Code: messaging.CodeNoServer, Text: fmt.Sprintf("no study is served at %s (%s): "+
		"start xlarun serve SPEC.toml there, or give its address", at, why)}
}

// noWorker returns the error of all workers of a machine after one has ended with a status and a sentence; nil: another
// worker may take its place. Where there is no server, or the server refuses, another one would end in the same way.
func noWorker(status int, said string) error {
	code := map[int]string{console.StatusNoServer: console.CodeNoServer, console.StatusRefused: console.CodeRefused}
	if code[status] == "" {
		return nil
	}
	if said == "" { // it ended before it could say anything
		said = fmt.Sprintf("a worker ended with status %d, and so would all others", status)
	}
	return &messaging.CodedError{Code: code[status], Text: said}
}

// superviseWorkers keeps several worker processes running. Each is this command with one worker. prefix is what it
// writes before the sentence with which it ends.
func superviseWorkers(ctx context.Context, stderr io.Writer, prefix string, t *tally, count, threads int) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	ends := map[int]*lastSentence{}
	var lastErr, noServer error
	succeeded := false // a worker saw the end of the study
	p := &studies.Pool{Size: count, Threads: threads, Limit: 20,
		Command: func(slot int) *exec.Cmd {
			// its lines become records here
			cmd := exec.Command(self, append(slices.Clone(os.Args[1:]), "--workers=1", "--log=json",
				"--log-level=debug")...)
			cmd.Args[0] = os.Args[0]
			ends[slot] = &lastSentence{to: stderr, prefix: prefix}
			cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d", envSlot, slot),
				fmt.Sprintf("%s=%d", envParent, os.Getpid()))
			cmd.Stdout, cmd.Stderr = t.lines(slog.LevelInfo), ends[slot]
			return cmd
		},
		Log: func(int) string { return "" }}
	p.Died = func(slot int, err error) {
		ends[slot].flush()
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			if none := noWorker(exit.ExitCode(), ends[slot].said); none != nil {
				p.NoRestart, noServer = true, none
				return
			}
		}
		if err == nil {
			p.NoRestart, succeeded = true, true
			return
		}
		if lastErr = err; ends[slot].said != "" {
			lastErr = errors.New(ends[slot].said)
		}
		t.log.Warn(fmt.Sprintf("worker %d ended: %v", slot, lastErr))
	}
	defer p.Stop()
	for {
		if err := p.StartMissing(); err != nil {
			return err
		}
		if p.Running() == 0 && (p.NoRestart || p.LimitReached()) {
			break
		}
		select {
		case <-ctx.Done():
			return console.ErrInterrupted
		case <-time.After(50 * time.Millisecond):
		}
	}
	switch {
	case succeeded:
		return nil
	case p.NoRestart:
		return noServer
	}
	return fmt.Errorf("no worker can work, the last one ended: %w", lastErr)
}
