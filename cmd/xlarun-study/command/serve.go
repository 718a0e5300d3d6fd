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

// serving is a server: its flags, and what comes of them.
type serving struct {
	*cli.App
	values map[string]string
	access accessFlags
	form   console.LogFlags

	address, join, shown, file         string
	asJSON, noWorkers, untilDone, page bool
	grace, linger, wait                time.Duration

	log       *slog.Logger
	at        *messaging.Server // of --join; nil: this process listens
	listen    studies.Listen
	web       studies.Listen // of the page, if there is one
	stop      func()
	unwritten error // of the address file: whoever joins by it would wait for nothing
}

func serveCommand(a *cli.App) *cobra.Command {
	s := &serving{App: a, values: map[string]string{}, wait: messaging.DefaultWait}
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
			return cmp.Or(oneFile(cmd, args), withStudy(cmd, s.untilDone, s.noWorkers, s.linger))
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := context.WithCancel(cmd.Context())
			defer stop()
			s.stop = stop
			if err := s.open(cmd, len(args) > 0); err != nil {
				return err
			}
			var err error
			if len(args) > 0 {
				err = s.study(ctx, args[0])
			} else {
				err = s.messages(ctx)
			}
			if err := cmp.Or(s.unwritten, err); err != nil {
				return err
			}
			return writeAddress(s.file, messaging.Over)
		},
	}
	specFlags(cmd, s.values, &s.asJSON)
	graceFlag(cmd, &s.grace)
	s.form.Add(cmd.Flags())
	cmd.Flags().StringVar(&s.file, "address-file", "", "file that gets the address when the server listens, and "+
		"\"over\" at the end: others join by @FILE")
	cmd.Flags().BoolVar(&s.untilDone, "until-done", false, "without a study: end when the runs, and all islands that "+
		"have begun, are done and have left 10 s ago; with status 3 after 30 minutes without any")
	cmd.Flags().DurationVar(&s.linger, "linger", 0, "time after the end of the study in which workers that come are "+
		"told that it is over")
	cmd.Flags().StringVar(&s.address, "listen", "127.0.0.1:4222",
		"address on which workers join, HOST:PORT; port 0 for any")
	cmd.Flags().StringVar(&s.join, "join", "", "nats://HOST:PORT/NAME or @FILE:NAME, a NATS server or cluster instead "+
		"of one in this process: workers stay connected when the study moves. NAME tells studies there apart")
	cmd.Flags().DurationVar(&s.wait, "wait", s.wait, "time to wait for the server of --join before the study "+
		"ends with status 3")
	cmd.Flags().StringVar(&s.shown, "web", "127.0.0.1:0", "address of a page that shows the study, of /metrics, "+
		"/healthz and /readyz, HOST:PORT; port 0 for any, none for no page. Without a study there is none by default, "+
		"and the metrics are those of the hosts' runs")
	cmd.Flags().BoolVar(&s.noWorkers, "no-workers", false, "start no workers on this machine")
	cli.AddFiles(cmd.Flags(), &s.access.Files)
	return cmd
}

// open finds out where the server is, and its page.
func (s *serving) open(cmd *cobra.Command, study bool) (err error) {
	if s.join != "" {
		s.at, err = s.access.join(cmd, s.join, s.wait)
	} else {
		s.listen, err = s.access.listen(s.address, credentials.Worker)
	}
	if err == nil {
		err = saves(cmd.Context(), s.grace)
	}
	if err == nil {
		s.log, err = s.form.Logger(s.Out)
	}
	if err != nil {
		return err
	}
	if err := s.listen.Check(); err != nil {
		return console.BadInput("--listen: %w", err)
	}
	if s.page = s.shown != "none" && (study || cmd.Flags().Changed("web")); !s.page {
		return nil
	}
	if s.web, err = s.access.page(s.shown); err != nil {
		return console.BadInput("%w, or give --web none", err)
	}
	if err := s.web.Check(); err != nil {
		return console.BadInput("--web: %w", err)
	}
	return nil
}

// joined returns a function that prints the address by which others join, and writes it to --address-file.
func (s *serving) joined(by string) func(address string) {
	return func(address string) {
		at, also := address, ""
		if s.join == "" {
			at, also = joinAddress(s.listen, address)
		}
		token := ""
		if s.listen.Token != "" {
			token = " --token-file " + cmp.Or(s.access.TokenFile, "FILE")
		}
		s.log.Info(fmt.Sprintf(by+"%s%s", at, token, also), "address", at)
		if s.unwritten = writeAddress(s.file, at); s.unwritten != nil {
			s.stop()
		}
	}
}

// leave returns the time that others have to leave.
func leave(ctx context.Context) func() time.Duration {
	return func() time.Duration { return console.GraceOf(ctx) - console.Grace }
}

// study serves a study until its end.
func (s *serving) study(ctx context.Context, file string) error {
	c := &studies.Coordinator{Listen: s.listen, Join: s.at, NoWorkers: s.noWorkers, Linger: s.linger,
		Leave: leave(ctx), Listening: s.joined("workers join by: xlarun work %s")}
	spec, err := readSpec(s.App, file, s.values)
	if err != nil {
		return err
	}
	var opened []func() (func(), error)
	if s.page {
		opened = append(opened, func() (func(), error) { return openPageOf(s.log, s.web, c) })
	}
	err = runStudy(ctx, s.App, s.log, spec, c, s.asJSON, opened...)
	return notListening("listen", s.address, usage(err, file, s.values))
}

// messages carries messages until ctx ends.
func (s *serving) messages(ctx context.Context) error {
	m := studies.Messages{Listen: s.listen, UntilDone: s.untilDone, Leave: leave(ctx),
		Listening: s.joined("hosts join by: xlarun evolve ENV --join %s/NAME")}
	if s.page {
		m.Hosted = &studies.Hosted{}
		p, err := web.OpenMessages(s.web, m.Hosted)
		if err != nil {
			return notListening("web", s.shown, err)
		}
		defer func() { _ = p.Close() }()
		s.log.Info(fmt.Sprintf("the runs' metrics are at %smetrics%s", p.URL(), tokenNote(s.web)), "url", p.URL())
	}
	err := notListening("listen", s.address, m.Serve(ctx))
	if err == nil && context.Cause(ctx) == console.ErrTerminated {
		return console.ErrInterrupted // 75: Ctrl-C is the usual end, SIGTERM an engine's
	}
	return err
}

// joinAddress returns the address by which others join a server that listens at HOST:PORT. also is a text with the
// other names of this machine.
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
			if f.Value.String() == "false" { // as without it
				return
			}
			err = console.BadInput("--%s got %q, but there is no study: give its file, or leave the flag out", f.Name,
				f.Value)
		}
	})
	return err
}
