package python

import (
	"os"

	"github.com/spf13/cobra"

	"xlarun/cmd/xlarun/console"
	"xlarun/xlabridge"
)

// Command returns `xlarun python`, which the Python package starts. It ends when its stdin does.
func Command(s console.Streams, open console.Opener) *cobra.Command {
	on := console.BackendFlags{Devices: 1}
	cmd := &cobra.Command{Use: "python", Hidden: true, Args: cobra.NoArgs,
		Short: "Serve the Python package on stdin and stdout",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := on.Check(); err != nil {
				return err
			}
			if in, ok := s.In.(*os.File); ok {
				go func() { // also while a request is answered
					untilHangUp(int(in.Fd()))
					os.Exit(console.StatusOK)
				}()
			}
			server := &Server{Open: func() (xlabridge.Backend, error) {
				return open(cmd.Context(), on, console.Notices{Writer: s.Err})
			}}
			return server.Serve(cmd.Context(), s.In, s.Out)
		}}
	on.AddBackend(cmd.Flags())
	return cmd
}
