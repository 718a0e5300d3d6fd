// Package boardgame plays with the networks of selfplay runs, against a person in the terminal or a random player, and
// draws their games.
package boardgame

import (
	"bufio"
	"context"
	"fmt"
	"image"
	"io"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"xlarun/cmd/xlarun/console"
	"xlarun/cmd/xlarun/display"
	"xlarun/cmd/xlarun/play"
	"xlarun/internal/quantity"
	"xlarun/rollout/selfplay"
	"xlarun/xlabridge"
)

// Kind is the kind of run that saves these networks.
const Kind = "selfplay"

// options holds the flags.
type options struct {
	console.BackendFlags
	saved       *play.Saved
	simulations int
	second      bool
	seed        int64
	games       int
	gif         string
	json        bool
}

// open loads the network.
func (o *options) open(ctx context.Context, streams console.Streams,
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

// Saved reads the network of a run's folder or a file. ok is false if it cannot be read or is of another kind of run.
func Saved(path string) (saved *play.Saved, ok bool) {
	s, err := play.Open(path, "")
	if err != nil || s.Metadata["kind"] != Kind {
		return nil, false
	}
	return s, true
}

// Command is `xlarun selfplay play`.
func Command(streams console.Streams, open console.Opener) *cobra.Command {
	o := options{}
	cmd := &cobra.Command{
		Use:   "play RUN|FILE.safetensors",
		Short: "Play against a network that selfplay has trained",
		Long: "Play lets a person play against the network of a run, in the terminal. A move is an edge such as 0-3, " +
			"a cell such as\nb2 or a column such as c. ? shows what the search thinks of the position, quit ends. " +
			"The network plays a puzzle alone.",
		Example: "  xlarun selfplay play runs/20260102-150405-Clique-6-3 --second",
		Args:    console.OneArgument("the folder of a run, or a network's file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			var err error
			if o.saved, err = play.Open(args[0], ""); err != nil {
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
func (o *options) person(streams console.Streams, v *selfplay.Viewer) error {
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
			fmt.Fprintf(out, "the network plays %s (worth %+.2f to it)\n", v.Name(a.Action), a.Value)
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
		fmt.Fprintf(out, "%.4g %% are coloured\n", 100*p.Score)
	case score > 0:
		fmt.Fprintln(out, "you won")
	case score < 0:
		fmt.Fprintln(out, "the network won")
	default:
		fmt.Fprintln(out, "a draw")
	}
	return nil
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

// advise writes the search's values and visits of a position.
func advise(out io.Writer, v *selfplay.Viewer, p selfplay.Position) error {
	a, err := v.Ask(p)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "worth %+.2f; best %s\n", a.Value, v.Name(a.Action))
	for i, n := range a.Visits {
		if n > 0 {
			words := "visits"
			if n == 1 {
				words = "visit"
			}
			fmt.Fprintf(out, "  %-6s %4d %s worth %+.2f, policy %.2f\n", v.Name(i), n, fmt.Sprintf("%-7s", words+","),
				a.Values[i], a.Prior[i])
		}
	}
	return nil
}

// Result is the line that --json ends with.
type Result struct {
	File  string  `json:"file"`
	Kind  string  `json:"kind"`
	Game  string  `json:"game"`
	Games int     `json:"games"`
	Won   int     `json:"won"`
	Drawn int     `json:"drawn"`
	Lost  int     `json:"lost"`
	Score float64 `json:"score"` // wins and half the draws, as a fraction; of a puzzle the mean coloured fraction
	Gif   string  `json:"gif,omitempty"`
}

// addGame adds the score of a game for the first player. second means that the network was the second player.
func (r *Result) addGame(score float64, puzzle, second bool) {
	if puzzle {
		r.Score += score / float64(r.Games)
		return
	}
	if second {
		score = -score
	}
	switch {
	case score > 0:
		r.Won++
	case score < 0:
		r.Lost++
	default:
		r.Drawn++
	}
	r.Score += (1 + score) / 2 / float64(r.Games)
}

// MatchCommand extends the command play or render to networks of selfplay runs. With draws, the command draws a game of
// the network against itself; else it plays a match against a random player.
func MatchCommand(cmd *cobra.Command, streams console.Streams, open console.Opener, draws bool) *cobra.Command {
	others := cmd.RunE
	if f := cmd.Flags().Lookup("episodes"); f != nil {
		f.Usage += fmt.Sprintf("; of a selfplay run, games against a random player, %d if not given", defaultGames)
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		saved, ok := Saved(args[0])
		if !ok {
			return others(cmd, args)
		}
		if err := refuseFlags(cmd, draws); err != nil {
			return err
		}
		o := options{saved: saved, games: 1, json: text(cmd, "json") == "true", gif: text(cmd, "gif")}
		o.Backend, o.Plugin = text(cmd, "backend"), text(cmd, "plugin")
		if _, err := fmt.Sscan(text(cmd, "seed"), &o.seed); err != nil {
			return err
		}
		name := "play.gif"
		if draws {
			o.gif, name = text(cmd, "out"), "render.gif"
		} else {
			o.games = defaultGames
			if cmd.Flags().Changed("episodes") {
				if _, err := fmt.Sscan(text(cmd, "episodes"), &o.games); err != nil || o.games < 1 {
					return console.BadInput("--episodes got %q, wants 1 or more", text(cmd, "episodes"))
				}
			}
		}
		if o.gif == "" {
			if o.gif = strings.TrimSuffix(saved.Path, ".safetensors") + "-" + name; saved.Run != "" {
				o.gif = filepath.Join(saved.Run, name)
			}
		}
		v, b, err := o.open(cmd.Context(), streams, open)
		if err != nil {
			return err
		}
		defer func() { v.Close(); _ = b.Close() }()
		return o.match(cmd.Context(), streams, v, draws)
	}
	return cmd
}

// refuseFlags refuses flags that do nothing for a network of selfplay.
func refuseFlags(cmd *cobra.Command, draws bool) (err error) {
	known := []string{"seed", "json", "gif", "episodes", "backend", "plugin"}
	if draws {
		known = []string{"seed", "json", "out", "backend", "plugin"}
	}
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if !slices.Contains(known, f.Name) {
			err = console.BadInput("--%s means nothing to a network of selfplay, which plays a game: leave it out",
				f.Name)
		}
	})
	return err
}

// defaultGames is the number of games of a match.
const defaultGames = 20

func text(cmd *cobra.Command, flag string) string {
	if f := cmd.Flags().Lookup(flag); f != nil {
		return f.Value.String()
	}
	return ""
}

// match plays games of the network against a random player and reports the result. The network begins every other game.
// With itself, it plays one game against itself. The picture shows the first game.
func (o *options) match(ctx context.Context, streams console.Streams, v *selfplay.Viewer, itself bool) error {
	puzzle := isPuzzle(v)
	r := Result{File: o.saved.Path, Kind: Kind, Game: o.saved.Metadata["game"], Games: o.games}
	rng := rand.New(rand.NewPCG(uint64(o.seed), 5))
	var frames []image.Image
	for game := range o.games {
		p, err := v.Start()
		if err != nil {
			return err
		}
		for move := 0; ; move++ {
			if game == 0 {
				frame, err := v.Frame(p, move)
				if err != nil {
					return err
				}
				frames = append(frames, frame)
			}
			if p.Over {
				break
			}
			if ctx.Err() != nil {
				return console.ErrInterrupted
			}
			var action int
			if itself || puzzle || p.Player == game%2 {
				answer, err := v.Ask(p)
				if err != nil {
					return err
				}
				action = answer.Action
			} else {
				legal := legalActions(p)
				action = legal[rng.IntN(len(legal))]
			}
			if p, err = v.Move(p, action); err != nil {
				return err
			}
		}
		r.addGame(p.Score, puzzle, game%2 == 1)
	}
	switch {
	case puzzle:
		fmt.Fprintf(streams.Out, "%s: %s, %.4g %% coloured, mean of %d\n", o.saved, r.Game, 100*r.Score, r.Games)
	case itself:
		fmt.Fprintf(streams.Out, "%s: %s, a game against itself\n", o.saved, r.Game)
	default:
		fmt.Fprintf(streams.Out, "%s: %s, %s against chance: %d won, %d drawn, %d lost\n", o.saved, r.Game,
			quantity.Count(r.Games, "game", "games"), r.Won, r.Drawn, r.Lost)
	}
	if o.gif != "none" {
		data, err := selfplay.Animation(frames)
		if err != nil {
			return err
		}
		if err := console.WriteFile(o.gif, data); err != nil {
			return fmt.Errorf("the picture %s cannot be written (%w)", o.gif, console.Cause(err))
		}
		r.Gif = o.gif
		fmt.Fprintf(streams.Out, "picture: %s\n", o.gif)
	}
	if math.IsNaN(r.Score) {
		r.Score = 0
	}
	if o.json {
		return streams.PrintJSON(r)
	}
	return nil
}
