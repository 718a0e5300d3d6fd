package command

import (
	"errors"
	"fmt"
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"xlarun/cmd/xlarun/cli"
	"xlarun/cmd/xlarun/console"
	"xlarun/internal/credentials"
	"xlarun/studies"
	"xlarun/studies/rdb"
	"xlarun/studies/study"
	"xlarun/studies/web"
)

// shownAt says where the page of a study is.
func shownAt(p *web.Page, l studies.Listen) string {
	return fmt.Sprintf("the study is shown at %s%s", p.URL(), tokenNote(l))
}

// tokenNote says that a page asks for a token, if it does.
func tokenNote(l studies.Listen) string {
	if l.Token == "" {
		return ""
	}
	return " (it asks for the token)"
}

// openPageOf opens the page of a study that this process runs. The page has its own connection to the storage.
func openPageOf(log *slog.Logger, l studies.Listen, c *studies.Coordinator) (end func(), err error) {
	d, err := rdb.Open(c.Spec.Storage)
	if err != nil {
		return nil, err
	}
	st, err := study.New(c.Spec.Name, study.Options{Storage: d, Directions: c.Spec.Directions(),
		Sampler: study.Random{}})
	var p *web.Page
	if err == nil {
		p, err = web.Open(l, d, st, c.Status, c.Ping)
	}
	if err != nil {
		return nil, errors.Join(notListening("web", l.Address, err), d.Close())
	}
	log.Info(shownAt(p, l), "url", p.URL())
	return func() { _, _ = p.Close(), d.Close() }, nil // nothing was written
}

func studyWatchCommand(a *cli.App) *cobra.Command {
	access, name, listen := &accessFlags{}, "", ""
	cmd := &cobra.Command{Use: "watch SPEC.toml|DATABASE|RUN", Short: "Show a study, or a run, in the browser, while " +
		"it runs or later",
		Long: "Watch serves a page with a study's best value, learning curves, importances and parallel coordinates " +
			"until it is interrupted. It changes nothing.\n" +
			"Of the folder of a run it shows the curves, the best member's network or episode, and the map of an " +
			"archive as of the last checkpoint; of a run of xlarun islands the islands' curves, what they have come " +
			"to and where it comes from.\n" +
			"Where other machines can reach the address, a token or certificates are required. xlarun serve has the " +
			"page, too, and workers on it.",
		Args: oneFile,
		RunE: func(cmd *cobra.Command, args []string) error {
			l, err := access.listen(listen, credentials.Reader)
			if err != nil {
				return err
			}
			if err := l.Check(); err != nil {
				return console.BadInput("--web: %w", err)
			}
			if info, err := os.Stat(args[0]); err == nil && info.IsDir() {
				if name != "" {
					return console.BadInput("--study got %s, but %s is a folder, which holds one run: leave it out",
						name, args[0])
				}
				p, err := web.OpenRun(l, args[0])
				if err = notListening("web", listen, err); err != nil {
					return console.BadInput("%w", err)
				}
				fmt.Fprintf(a.Out, "the run is shown at %s%s\n", p.URL(), tokenNote(l))
				<-cmd.Context().Done()
				return p.Close()
			}
			d, st, err := openStudy(a, args[0], name)
			if err != nil {
				return err
			}
			p, err := web.Open(l, d, st, nil, nil)
			if err != nil {
				return errors.Join(notListening("web", l.Address, err), d.Close())
			}
			fmt.Fprintln(a.Out, shownAt(p, l))
			<-cmd.Context().Done()
			return errors.Join(p.Close(), d.Close())
		}}
	cmd.Flags().StringVar(&name, "study", "", "name of the study, where the database has several")
	cmd.Flags().StringVar(&listen, "web", "127.0.0.1:0", "address of the page, HOST:PORT; port 0 for any")
	cli.AddFiles(cmd.Flags(), &access.Files)
	return cmd
}
