package play

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"xlarun/cmd/xlarun/console"
	"xlarun/rollout/selfplay"
)

// GameCommand is `xlarun selfplay play`.
func GameCommand(streams console.Streams, open console.Opener) *cobra.Command {
	o := gameOptions{}
	cmd := &cobra.Command{
		Use:   "play RUN|FILE.safetensors",
		Short: "Play against a network that selfplay has trained",
		Long: "Play lets a person play against the network of a run, in the terminal. A move is an edge such as 0-3, " +
			"a cell such as b2 or a column such as c. ? shows what the search thinks of the position, quit ends. " +
			"The network plays a puzzle alone.",
		Example: "  xlarun selfplay play runs/20260102-150405-Clique-6-3 --second",
		Args:    console.OneArgument("the folder of a run, or a network's file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			var err error
			if o.saved, err = Open(args[0], ""); err != nil {
				return err
			}
			v, b, err := o.open(cmd.Context(), streams, open)
			if err != nil {
				return err
			}
			defer func() { v.Close(); _ = b.Close() }()
			return o.person(streams, v)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&o.second, "second", false, "let the network begin")
	f.IntVar(&o.simulations, "num-simulations", 0, "simulations of a move's search; 0 for as many as in the run")
	o.AddBackend(f)
	return cmd
}

// person plays one game against the user of the streams.
func (o *gameOptions) person(streams console.Streams, v *selfplay.Viewer) error {
	in, out := bufio.NewScanner(streams.In), streams.Out
	p, err := v.Start()
	if err != nil {
		return err
	}
	me, puzzle := 0, isPuzzle(v)
	if o.second {
		me = 1
	}
	fmt.Fprintf(out, "%s: %s", o.saved, o.saved.Metadata["game"])
	if elo, err := strconv.ParseFloat(o.saved.Metadata["elo"], 64); err == nil && !math.IsNaN(elo) {
		fmt.Fprintf(out, ", Elo %.0f", elo)
	}
	fmt.Fprintf(out, "\n%s\n", v.Rules())
	if legal := legalActions(p); !puzzle && len(legal) > 0 {
		fmt.Fprintf(out, "you are %c; write a move as %s, ? for what the search thinks, quit to end\n", "xo"[me],
			v.Name(legal[0]))
	}
	for !p.Over {
		fmt.Fprint(out, v.Text(p))
		if puzzle || p.Player != me {
			a, err := v.Ask(p)
			if err != nil {
				return err
			}
			fmt.Fprintf(out, "the network plays %s (worth %s to it)\n", v.Name(a.Action), worth(a.Value))
			if p, err = v.Move(p, a.Action); err != nil {
				return err
			}
			continue
		}
		if _, err := fmt.Fprint(out, "your move: "); err != nil {
			return err // nobody reads it: the rest of the input is not for this game
		}
		if !in.Scan() {
			fmt.Fprintln(out)
			return in.Err()
		}
		switch text := strings.TrimSpace(in.Text()); text {
		case "quit", "q":
			return nil
		case "?":
			if err := advise(out, v, p); err != nil {
				return err
			}
		default:
			action, ok := v.Action(p, text)
			if !ok {
				var names []string
				for _, a := range legalActions(p) {
					names = append(names, v.Name(a))
				}
				fmt.Fprintf(out, "%q is no legal move; the legal moves are %s\n", text, strings.Join(names, " "))
				continue
			}
			if p, err = v.Move(p, action); err != nil {
				return err
			}
		}
	}
	fmt.Fprint(out, v.Text(p))
	score := p.Score
	if me == 1 {
		score = -score
	}
	switch {
	case puzzle:
		fmt.Fprintf(out, "%.4g %% are colored\n", 100*p.Score)
	case score > 0:
		fmt.Fprintln(out, "you won")
	case score < 0:
		fmt.Fprintln(out, "the network won")
	default:
		fmt.Fprintln(out, "a draw")
	}
	return nil
}

// worth writes a value from -1 to 1: "+0.25". What rounds to 0 is +0.00.
func worth(value float64) string { return fmt.Sprintf("%+.2f", math.Round(100*value)/100+0) }

// advise writes the search's values and visits of a position.
func advise(out io.Writer, v *selfplay.Viewer, p selfplay.Position) error {
	a, err := v.Ask(p)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "worth %s; best %s\n", worth(a.Value), v.Name(a.Action))
	for i, n := range a.Visits {
		if n > 0 {
			words := "visits"
			if n == 1 {
				words = "visit"
			}
			fmt.Fprintf(out, "  %-6s %4d %s worth %s, policy %.2f\n", v.Name(i), n, fmt.Sprintf("%-7s", words+","),
				worth(a.Values[i]), a.Prior[i])
		}
	}
	return nil
}
