package all_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/envs"
	_ "xlarun/envs/board"
	"xlarun/graph"
	"xlarun/graph/graphtest"
	"xlarun/graph/random"
	"xlarun/internal/long"
	"xlarun/third_party/oracles"
	"xlarun/xlabridge"
	"xlarun/xlabridge/xlatest"
)

// playedGames are what third_party/oracles/pgx_games.py wrote, whose docstring says what they mean.
type playedGames struct {
	Games []struct {
		Env                                   string
		Moves, Actions, Mover, Winner, Digest oracles.Array
	}
}

// seen is what is compared of a game.
type seen struct{ Digest, Movers, Winner, Ended *graph.Array }

// digest is the number that stands for what is to be seen of a state.
func digest(env envs.Environment, s any) *graph.Array {
	params := env.DefaultParams()
	game := envs.TraitsOf(env)
	bits := graph.Concatenate(0, graph.Flatten1D(env.Observe(s, params)),
		game.Legal(s, params).Convert(graph.Float32)).Convert(graph.Uint32)
	n := bits.Size()
	weights := make([]uint32, n)
	for i := range weights {
		weights[i] = uint32(2*i+1) * 2654435761
	}
	return bits.Mul(graph.Uint32s(weights)).Sum()
}

// Games equal pgx's, move by move: 40 random games of each kind interpreted, in the long form 2,000 compiled.
func TestGamesAreThoseOfPgx(t *testing.T) {
	var v playedGames
	require.NoError(t, oracles.Read("../board/testdata/pgx_games.json.gz", &v))
	require.Len(t, v.Games, 4)
	played := 40
	var backend xlabridge.Backend = &xlabridge.Reference{}
	if long.On() {
		played, backend = 2000, xlatest.OpenCPU(t, 0)
	}
	for _, g := range v.Games {
		t.Run(g.Env, func(t *testing.T) {
			env, err := envs.Make(g.Env)
			require.NoError(t, err)
			game := envs.TraitsOf(env)
			params := env.DefaultParams()
			longest := g.Actions.Shape[1]
			require.Equal(t, 2000, g.Actions.Shape[0])
			type state struct {
				S                     any
				Digest, Winner, Ended *graph.Array
			}
			play := func(actions *graph.Array) seen {
				s, _ := env.Reset(random.New(0), params)
				first := state{s, digest(env, s), graph.Of(int32(-1)), envs.False()}
				end, movers := graph.Scan(func(c state, x [2]*graph.Array) (state, *graph.Array) {
					action, time := x[0], x[1].Convert(graph.Uint32)
					none := action.Eq(255)
					mover := game.Player(c.S, params)
					next, _, reward, terminated, _ := env.Step(random.New(0), c.S, action, params)
					winner := graph.Select(reward.Gt(0), mover, graph.Select(reward.Lt(0),
						graph.Sub(1, mover), c.Winner))
					counted := c.Digest.Add(time.Mul(graph.Of(uint32(2))).Add(graph.Of(uint32(3))).Mul(
						digest(env, next)))
					n := state{next, counted, winner, c.Ended.Or(terminated)}
					return graph.MapTree2(func(old, new *graph.Array) *graph.Array {
						return graph.Select(none, old, new)
					}, c, n), graph.Select(none, 0, mover)
				}, first, [2]*graph.Array{actions, graph.Iota(longest)})
				return seen{end.Digest, movers, end.Winner, end.Ended}
			}
			actions := make([]int32, played*longest)
			for i, a := range g.Actions.Ints()[:len(actions)] {
				actions[i] = int32(a)
			}
			got, err := xlabridge.Jit(backend, graph.VMap(play))(graph.Int32s(actions, played, longest))
			require.NoError(t, err)
			read := func(a *graph.Array) []float64 { return graphtest.Floats(t, a) }
			digests, movers, winners, ended := read(got.Digest), read(got.Movers), read(got.Winner), read(got.Ended)
			bytes := g.Mover.Shape[1]
			for i := range played {
				require.Equal(t, 1., ended[i], "game %d", i)
				require.Equal(t, g.Winner.Floats()[i], winners[i], "game %d", i)
				for m := range longest {
					bit := g.Mover.Data[i*bytes+m/8] >> (7 - m%8) & 1
					require.Equal(t, float64(bit), movers[i*longest+m], "game %d, move %d", i, m)
				}
				require.Equal(t, g.Digest.Floats()[i], digests[i], "game %d", i)
			}
		})
	}
}
