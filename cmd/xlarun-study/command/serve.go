package command

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"xlarun/cmd/xlarun/cli"
	"xlarun/cmd/xlarun/console"
	"xlarun/internal/credentials"
	"xlarun/studies"
)

// guard holds the flags for the token and the certificates of a served study or of its workers.
type guard struct{ token, cert, key, ca string }

func (g *guard) add(cmd *cobra.Command, whose string) {
	f := cmd.Flags()
	f.StringVar(&g.token, "token-file", "", "file with the token that workers have to know, else the variable "+
		studies.TokenVariable)
	f.StringVar(&g.cert, "tls-cert", "", "certificate of the "+whose+", a PEM file")
	f.StringVar(&g.key, "tls-key", "", "its key, a PEM file")
	f.StringVar(&g.ca, "tls-ca", "", "authority that the other side's certificate is of, a PEM file")
}

// files returns the files.
func (g *guard) files() credentials.Files {
	return credentials.Files{Token: g.token, Cert: g.cert, Key: g.key, CA: g.ca}
}

// secret returns the token; "" for none.
func (g *guard) secret() (string, error) {
	token, err := g.files().Secret()
	if err != nil {
		return "", console.BadInput("%w", err)
	}
	return token, nil
}

// tls is the configuration; nil where no flag asks for one.
func (g *guard) tls() (*tls.Config, error) {
	c, err := g.files().TLS()
	if err != nil {
		return nil, console.BadInput("%w", err)
	}
	return c, nil
}

// listen is an address with what the flags ask of those who come.
func (g *guard) listen(address string) (l studies.Listen, err error) {
	l.Address = address
	if l.Token, err = g.secret(); err != nil {
		return l, err
	}
	if l.TLS, err = g.tls(); err == nil && l.TLS != nil && len(l.TLS.Certificates) == 0 {
		err = console.BadInput("--tls-ca got a file, but there is no certificate: give --tls-cert and --tls-key")
	}
	return l, err
}

func serveCommand(a *cli.App) *cobra.Command {
	values, door := map[string]string{}, &guard{}
	listen, shown, asJSON, away := "", "", false, false
	cmd := &cobra.Command{
		Use: "serve [SPEC.toml]",
		Long: "Serve runs a study as study run does, and listens for workers of other machines, which xlarun work " +
			"starts. They need no access to the\n" +
			"database. Where other machines can reach the address, a token or certificates are required. A page " +
			"shows the study while it runs (--web).\n" +
			"Without SPEC.toml it only carries messages, until Ctrl-C or kill -TERM: hosts of one population use it " +
			"by --join.\nA server with a study carries them, too.",
		Example: "  xlarun serve examples/study-cartpole.toml --listen 0.0.0.0:4222 --token-file token\n  xlarun " +
			"work nats://HOST:4222 --token-file token\n  xlarun serve --listen 0.0.0.0:4222 --token-file token\n" +
			"  xlarun evolve CartPole-v1 --join nats://HOST:4222/try --token-file token",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return oneFile(cmd, args)
			}
			return noStudy(cmd)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			l, err := door.listen(listen)
			if err != nil {
				return err
			}
			joined := func(by string) func(address string) {
				return func(address string) {
					host, others := studies.Reachable(address)
					also := ""
					if len(others) > 0 {
						also = "  (or by " + strings.Join(others, ", ") + ")"
					}
					fmt.Fprintf(a.Out, by+"%s\n", host, also)
				}
			}
			c := &studies.Coordinator{Listen: l, Away: away,
				Listening: joined("workers join by: xlarun work nats://%s")}
			if err := c.Listen.Check(); err != nil {
				return console.BadInput("--listen: %w", err)
			}
			if len(args) == 0 {
				err := studies.ServeMessages(cmd.Context(), l, joined("hosts join by: xlarun evolve ENV --join "+
					"nats://%s/NAME"))
				if errors.As(err, new(*net.OpError)) {
					return console.BadInput("--listen got %s, but %w: give another port", listen, err)
				}
				return err
			}
			page := l
			page.Address = shown
			if err := page.Check(); err != nil && shown != "none" {
				return console.BadInput("--web: %w", err)
			}
			s, err := readSpec(a, args[0], values)
			if err != nil {
				return err
			}
			if shown == "none" {
				return runStudy(cmd.Context(), a, s, c, asJSON)
			}
			return runStudy(cmd.Context(), a, s, c, asJSON, func() (func(), error) { return beside(a, page, c) })
		},
	}
	specFlags(cmd, values, &asJSON)
	cmd.Flags().StringVar(&listen, "listen", "127.0.0.1:4222",
		"address on which workers join, HOST:PORT; port 0 for any")
	cmd.Flags().StringVar(&shown, "web", "127.0.0.1:0", "address of a page that shows the study, HOST:PORT; port 0 "+
		"for any, none for no page")
	cmd.Flags().BoolVar(&away, "no-workers", false, "start no workers on this machine")
	door.add(cmd, "server")
	return cmd
}

// noStudy returns an error if a flag of serve is given that is for a study.
func noStudy(cmd *cobra.Command) (err error) {
	cmd.Flags().Visit(func(f *pflag.Flag) {
		switch f.Name {
		case "listen", "token-file", "tls-cert", "tls-key", "tls-ca":
		default:
			err = console.BadInput("--%s got %q, but there is no study: give its file, or leave the flag out", f.Name,
				f.Value)
		}
	})
	return err
}

func workCommand(a *cli.App) *cobra.Command {
	door := &guard{}
	count, threads, wait := 0, 1, 10*time.Minute
	cmd := &cobra.Command{
		Use: "work nats://HOST:PORT",
		Long: "Work runs trials of a study that xlarun serve runs elsewhere: as many worker processes as there " +
			"are cores for, each one trial at a time.\nOne that dies is replaced, and its trial goes on from its " +
			"last checkpoint, here or elsewhere.",
		Example: "  xlarun work nats://head:4222 --token-file token\n  xlarun work nats://head:4222 --workers 4 " +
			"--threads 2",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 || !servedAddress(args[0]) {
				return console.BadInput("got %q, wants the address of a study that is served, nats://HOST:PORT",
					strings.Join(args, " "))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if threads < 1 || count < 0 || count*threads > max(runtime.NumCPU(), threads) {
				return console.BadInput("--workers got %d of %d threads each, more than this machine's %d cores: "+
					"runs would wait for each other", count, threads, runtime.NumCPU())
			}
			if count == 0 {
				count = max(1, runtime.NumCPU()/threads)
			}
			token, err := door.secret()
			if err != nil {
				return err
			}
			secure, err := door.tls()
			if err != nil {
				return err
			}
			if count > 1 {
				return workers(cmd.Context(), a, count, threads, os.Args[1:])
			}
			runtime.GOMAXPROCS(threads)
			err = studies.JoinStudy(cmd.Context(), studies.Join{URL: args[0], Token: token, TLS: secure, Wait: wait,
				Away: func(since time.Duration) {
					if os.Getenv(envQuiet) == "" {
						fmt.Fprintf(a.Out, "nobody answers at %s since %v: does xlarun serve run there, and can this "+
							"machine reach it? The workers wait until %v have passed\n", args[0],
							since.Round(time.Second), wait)
					}
				}}, newMaker(a, "the study's spec"))
			if cmd.Context().Err() != nil {
				return console.ErrInterrupted
			}
			if errors.Is(err, studies.ErrNoCoordinator) || errors.Is(err, studies.ErrRefused) {
				return console.StatusError{Status: statusOfAll, Code: console.CodeNoServer, Err: err}
			}
			return err
		},
	}
	cmd.Flags().IntVar(&count, "workers", 0, "worker processes; 0 for as many as there are cores for")
	cmd.Flags().IntVar(&threads, "threads", 1, "cores of a worker, as the study's file has it")
	cmd.Flags().DurationVar(&wait, "wait", wait, "time without the study's server after which the workers end")
	door.add(cmd, "workers")
	return cmd
}

// servedAddress tells whether a text is nats://HOST:PORT, or tls:// for one that has certificates.
func servedAddress(text string) bool {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "nats" && u.Scheme != "tls" || u.Hostname() == "" {
		return false
	}
	port, err := strconv.ParseUint(u.Port(), 10, 16)
	return u.Port() == "" || err == nil && port > 0
}

// envQuiet is set for all workers of a machine except one, which says that nobody answers.
const envQuiet = "XLARUN_WORKER_QUIET"

// statusOfAll is how a worker ends that another one in its place would follow.
const statusOfAll = 3

// workers keeps several worker processes going, each of which is this command with one worker.
func workers(ctx context.Context, a *cli.App, count, threads int, args []string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	var last, failed error
	well := false // one ended as the study did
	p := &studies.Pool{Size: count, Threads: threads, Limit: 20,
		Command: func(slot int) *exec.Cmd {
			cmd := exec.Command(self, append(append([]string{}, args...), "--workers=1")...)
			if slot > 0 {
				cmd.Env = append(os.Environ(), envQuiet+"=1")
			}
			cmd.Stdout, cmd.Stderr = a.Out, a.Err
			return cmd
		},
		Log: func(int) string { return "" }}
	p.Died = func(slot int, err error) {
		if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() == statusOfAll {
			p.Done, failed = true, console.StatusError{Status: statusOfAll, Code: console.CodeNoServer,
				Err: errors.New("no worker can work: each says why above")}
			return
		}
		well = well || err == nil
		if p.Done = p.Done || err == nil; err != nil {
			last = err
			fmt.Fprintf(a.Err, "worker %d ended: %v\n", slot, err)
		}
	}
	defer p.Stop()
	for {
		if err := p.Man(); err != nil {
			return err
		}
		if p.Left() == 0 && (p.Done || p.Hopeless()) {
			break
		}
		select {
		case <-ctx.Done():
			return console.ErrInterrupted
		case <-time.After(50 * time.Millisecond):
		}
	}
	switch {
	case well:
		return nil
	case p.Done:
		return failed
	}
	return errors.Join(errors.New("no worker can work"), last)
}
