package play

import (
	"context"

	"xlarun/cmd/xlarun/console"
	"xlarun/cmd/xlarun/display"
	"xlarun/rollout/selfplay"
	"xlarun/xlabridge"
)

// GameKind is the kind of run that saves these networks.
const GameKind = "selfplay"

// gameOptions holds the flags.
type gameOptions struct {
	console.BackendFlags
	saved       *Saved
	simulations int
	second      bool
	seed        int64
	games       int
	gif         string
	json        bool
}

// open loads the network.
func (o *gameOptions) open(ctx context.Context, streams console.Streams,
	open console.Opener) (*selfplay.Viewer, xlabridge.Backend, error) {
	o.Devices = 1
	if err := o.Check(); err != nil {
		return nil, nil, err
	}
	if o.simulations < 0 {
		return nil, nil, console.BadInput("--num-simulations got %d, wants 1 or more, or 0 for as many as in the run",
			o.simulations)
	}
	b, err := open(ctx, o.BackendFlags, display.NewDownloadBar(streams.Out, streams.Getenv))
	if err != nil {
		return nil, nil, err
	}
	v, err := selfplay.Load(b, o.saved.Arrays, o.saved.Metadata, func(c *selfplay.Config) {
		if o.simulations > 0 {
			c.NumSimulations = o.simulations
		}
	})
	if err != nil {
		_ = b.Close()
		return nil, nil, console.BadInput("%s: %w", o.saved.Path, err)
	}
	return v, b, nil
}

// gameNetwork reads the network of a run's folder or a file. ok is false if it cannot be read or is of another kind of
// run.
func gameNetwork(path string) (saved *Saved, ok bool) {
	s, err := Open(path, "")
	if err != nil || s.Metadata["kind"] != GameKind {
		return nil, false
	}
	return s, true
}

// isPuzzle reports whether the game has a single player.
func isPuzzle(v *selfplay.Viewer) bool {
	c := v.Config()
	return c.Game == "clique" && c.Variant == "ramsey"
}

func legalActions(p selfplay.Position) (actions []int) {
	for a, legal := range p.Legal {
		if legal {
			actions = append(actions, a)
		}
	}
	return actions
}
