package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"xlarun/cmd/xlarun/cli"
	"xlarun/cmd/xlarun/console"
	"xlarun/internal/credentials"
	"xlarun/internal/messaging"
	"xlarun/studies"
	"xlarun/studies/web"
)

func serveCommand(a *cli.App) *cobra.Command {
	values, access, form := map[string]string{}, &accessFlags{}, &console.LogFlags{}
	listen, join, shown, asJSON, noWorkers, untilDone := "", "", "", false, false, false
	grace, linger, wait, file := time.Duration(0), time.Duration(0), messaging.DefaultWait, ""
	cmd := &cobra.Command{
		Use: "serve [SPEC.toml]",
		Long: "Serve runs a study as study run does, and listens for workers of other machines, which xlarun work " +
			"starts. They need no access to the database. Where other machines can reach the address, a token or " +
			"certificates are required. A page shows the study while it runs (--web).\n" +
			"Without SPEC.toml it only carries messages, until Ctrl-C or kill -TERM: hosts of one population use it " +
			"by --join.\nA server with a study carries them, too.",
		Example: "  xlarun serve examples/study-cartpole.toml --listen 0.0.0.0:4222 --token-file token\n  xlarun " +
			"work nats://HOST:4222 --token-file token\n  xlarun serve --listen 0.0.0.0:4222 --token-file token\n" +
			"  xlarun evolve CartPole-v1 --join nats://HOST:4222/try --token-file token",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return noStudy(cmd)
			}
			return cmp.Or(oneFile(cmd, args), withStudy(cmd, untilDone, noWorkers, linger))
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			var l studies.Listen
			var at *messaging.Server
			var err error
			if join != "" {
				at, err = access.join(cmd, join, wait)
			} else {
				l, err = access.listen(listen, credentials.Worker)
			}
			if err == nil {
				err = saves(cmd.Context(), grace)
			}
			var log *slog.Logger
			if err == nil {
				log, err = form.Logger(a.Out)
			}
			if err != nil {
				return err
			}
			ctx, stop := context.WithCancel(cmd.Context())
			defer stop()
			var unwritten error // whoever joins by the file would wait for nothing
			joined := func(by string) func(address string) {
				return func(address string) {
					at, also := address, ""
					if join == "" {
						at, also = joinAddress(l, address)
					}
					log.Info(fmt.Sprintf(by+"%s", at, also), "address", at)
					if unwritten = writeAddress(file, at); unwritten != nil {
						stop()
					}
				}
			}
			leave := func() time.Duration { return console.GraceOf(cmd.Context()) - console.Grace }
			c := &studies.Coordinator{Listen: l, Join: at, NoWorkers: noWorkers, Linger: linger,
				Leave:     leave,
				Listening: joined("workers join by: xlarun work %s")}
			if err := c.Listen.Check(); err != nil {
				return console.BadInput("--listen: %w", err)
			}
			page := l
			page.Address = shown
			hasPage := shown != "none" && (len(args) > 0 || cmd.Flags().Changed("web"))
			if page.Token, err = access.Secret(credentials.Reader); err != nil && hasPage {
				return console.BadInput("%w, or give --web none", err)
			}
			if err := page.Check(); err != nil && hasPage {
				return console.BadInput("--web: %w", err)
			}
			if len(args) == 0 {
				m := studies.Messages{Listen: l, UntilDone: untilDone, Leave: leave,
					Listening: joined("hosts join by: xlarun evolve ENV --join %s/NAME")}
				if hasPage {
					m.Hosted = &studies.Hosted{}
					p, err := web.OpenMessages(page, m.Hosted)
					if err != nil {
						return notListening("web", shown, err)
					}
					defer func() { _ = p.Close() }()
					log.Info(fmt.Sprintf("the runs' metrics are at %smetrics%s", p.URL(), tokenNote(page)), "url",
						p.URL())
				}
				err := m.Serve(ctx)
				if unwritten != nil {
					return unwritten
				}
				err = notListening("listen", listen, err)
				if err == nil && context.Cause(cmd.Context()) == console.ErrTerminated {
					return console.ErrInterrupted // 75: Ctrl-C is the usual end, SIGTERM an engine's
				}
				if err != nil {
					return err
				}
				return writeAddress(file, messaging.Over)
			}
			s, err := readSpec(a, args[0], values)
			if err != nil {
				return err
			}
			var opened []func() (func(), error)
			if hasPage {
				opened = append(opened, func() (func(), error) { return openPageOf(log, page, c) })
			}
			err = runStudy(ctx, a, log, s, c, asJSON, opened...)
			if unwritten != nil {
				return unwritten
			}
			if err != nil {
				return notListening("listen", listen, usage(err, args[0], values))
			}
			return writeAddress(file, messaging.Over)
		},
	}
	specFlags(cmd, values, &asJSON)
	graceFlag(cmd, &grace)
	form.Add(cmd.Flags())
	cmd.Flags().StringVar(&file, "address-file", "", "file that gets the address when the server listens, and "+
		"\"over\" at the end: others join by @FILE")
	cmd.Flags().BoolVar(&untilDone, "until-done", false, "without a study: end when the runs, and all islands that "+
		"have begun, are done and have left 10 s ago; with status 3 after 30 minutes without any")
	cmd.Flags().DurationVar(&linger, "linger", 0, "time after the end of the study in which workers that come are "+
		"told that it is over")
	cmd.Flags().StringVar(&listen, "listen", "127.0.0.1:4222",
		"address on which workers join, HOST:PORT; port 0 for any")
	cmd.Flags().StringVar(&join, "join", "", "nats://HOST:PORT/NAME or @FILE:NAME, a NATS server or cluster instead "+
		"of one in this process: workers stay connected when the study moves. NAME tells studies there apart")
	cmd.Flags().DurationVar(&wait, "wait", wait, "time to wait for the server of --join before the study ends with "+
		"status 3")
	cmd.Flags().StringVar(&shown, "web", "127.0.0.1:0", "address of a page that shows the study, of /metrics, "+
		"/healthz and /readyz, HOST:PORT; port 0 for any, none for no page. Without a study there is none by default, "+
		"and the metrics are those of the hosts' runs")
	cmd.Flags().BoolVar(&noWorkers, "no-workers", false, "start no workers on this machine")
	cli.AddFiles(cmd.Flags(), &access.Files)
	return cmd
}

// joinAddress returns the address by which others join a server that listens at HOST:PORT. also is text with further
// hosts by which they may reach it.
func joinAddress(l studies.Listen, address string) (at, also string) {
	host, others := studies.Reachable(address)
	if len(others) > 0 {
		also = "  (or by " + strings.Join(others, ", ") + ")"
	}
	if l.TLS != nil {
		return "tls://" + host, also
	}
	return "nats://" + host, also
}

// writeAddress writes an address file, at once as a whole; "": there is none.
func writeAddress(file, text string) error {
	if file == "" {
		return nil
	}
	if err := console.WriteFile(file, []byte(text+"\n")); err != nil {
		return fmt.Errorf("--address-file %s cannot be written: %w", file, console.Cause(err))
	}
	return nil
}

// notListening names the flag with an address on which this process cannot listen. It returns other errors as they are.
func notListening(flag, address string, err error) error {
	if e, ok := errors.AsType[*net.OpError](err); ok && e.Op == "listen" && !errors.As(err, new(console.UsageError)) {
		return console.BadInput("--%s got %s, but %w: give another port", flag, address, e)
	}
	return err
}

// withStudy returns an error if a flag of serve is given that has no effect on a study, or a wrong value for one.
func withStudy(cmd *cobra.Command, untilDone, noWorkers bool, linger time.Duration) error {
	switch {
	case untilDone:
		return console.BadInput("--until-done is for a server without a study, and a study ends by itself: leave it " +
			"out")
	case linger < 0:
		return console.BadInput("--linger got %v, wants a time such as 1m, or 0", linger)
	case noWorkers && cmd.Flags().Changed("workers"):
		return console.BadInput("--workers asks for workers on this machine, and --no-workers for none: leave one of " +
			"them out")
	}
	return nil
}

// noStudy returns an error if a flag of serve is given that is for a study.
func noStudy(cmd *cobra.Command) (err error) {
	cmd.Flags().Visit(func(f *pflag.Flag) {
		switch f.Name {
		case "address-file", "until-done", "grace", "log", "log-level", "listen", "web", "token-file", "creds", "nkey",
			"tls-cert", "tls-key", "tls-ca":
		default:
			err = console.BadInput("--%s got %q, but there is no study: give its file, or leave the flag out", f.Name,
				f.Value)
		}
	})
	return err
}
