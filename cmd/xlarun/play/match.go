package play

import (
	"context"
	"fmt"
	"image"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"xlarun/cmd/xlarun/console"
	"xlarun/internal/quantity"
	"xlarun/rollout/selfplay"
)

// MatchResult is the line that --json ends with.
type MatchResult struct {
	File  string `json:"file"`
	Kind  string `json:"kind"`
	Game  string `json:"game"`
	Games int    `json:"games"`
	Won   int    `json:"won"`
	Drawn int    `json:"drawn"`
	Lost  int    `json:"lost"`
	// Score is wins and half the draws, as a fraction; of a puzzle the mean colored fraction.
	Score console.Number `json:"score"`
	Gif   string         `json:"gif,omitempty"`
}

// addGame adds the score of a game for the first player. second means that the network was the second player.
func (r *MatchResult) addGame(score float64, puzzle, second bool) {
	if puzzle {
		r.Score += console.Number(score / float64(r.Games))
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
	r.Score += console.Number((1 + score) / 2 / float64(r.Games))
}

// withGames extends the command play or render to networks of selfplay runs. With draws, the command draws a game of
// the network against itself; else it plays a match against a random player.
func withGames(cmd *cobra.Command, streams console.Streams, open console.Opener, draws bool) *cobra.Command {
	others := cmd.RunE
	if f := cmd.Flags().Lookup("episodes"); f != nil {
		f.Usage += fmt.Sprintf("; of a selfplay run, games against a random player, %d if not given", defaultGames)
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		saved, ok := gameNetwork(args[0])
		if !ok {
			return others(cmd, args)
		}
		if err := refuseFlags(cmd, draws); err != nil {
			return err
		}
		o := gameOptions{saved: saved, games: 1, json: text(cmd, "json") == "true", gif: text(cmd, "gif")}
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
func (o *gameOptions) match(ctx context.Context, streams console.Streams, v *selfplay.Viewer, itself bool) error {
	puzzle := isPuzzle(v)
	r := MatchResult{File: o.saved.Path, Kind: GameKind, Game: o.saved.Metadata["game"], Games: o.games}
	rng := rand.New(rand.NewPCG(uint64(o.seed), 5))
	var frames []image.Image
	for game := range o.games {
		turn := func(p selfplay.Position) bool { return itself || puzzle || p.Player == game%2 }
		shown := &frames
		if game > 0 {
			shown = nil
		}
		score, err := playGame(ctx, v, rng, turn, shown)
		if err != nil {
			return err
		}
		r.addGame(score, puzzle, game%2 == 1)
	}
	switch {
	case puzzle:
		fmt.Fprintf(streams.Out, "%s: %s, %.4g %% colored, mean of %d\n", o.saved, r.Game, 100*r.Score, r.Games)
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
	if o.json {
		return streams.PrintJSON(r)
	}
	return nil
}

// playGame plays a game and returns its score for the first player. The network makes the moves for which turn is true;
// the others are drawn by rng. Frames of the game are added to shown, unless that is nil.
func playGame(ctx context.Context, v *selfplay.Viewer, rng *rand.Rand, turn func(selfplay.Position) bool,
	shown *[]image.Image) (score float64, err error) {
	p, err := v.Start()
	if err != nil {
		return 0, err
	}
	for move := 0; ; move++ {
		if shown != nil {
			frame, err := v.Frame(p, move)
			if err != nil {
				return 0, err
			}
			*shown = append(*shown, frame)
		}
		if p.Over {
			return p.Score, nil
		}
		if ctx.Err() != nil {
			return 0, console.ErrInterrupted
		}
		var action int
		if turn(p) {
			answer, err := v.Ask(p)
			if err != nil {
				return 0, err
			}
			action = answer.Action
		} else {
			legal := legalActions(p)
			action = legal[rng.IntN(len(legal))]
		}
		if p, err = v.Move(p, action); err != nil {
			return 0, err
		}
	}
}
