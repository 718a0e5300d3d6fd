package selfplay

import (
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/internal/long"
	"xlarun/xlabridge"
)

// TestPhases: the phases of an iteration have names, times and work; search, network and training add up
// to the work of the whole programs, to 5 %, and nothing of the run is changed.
func TestPhases(t *testing.T) {
	all := []string{PhaseSearch, PhaseNetwork, PhaseTraining, PhaseArena}
	for name, c := range map[string]struct {
		change  func(c *Config)
		devices int // 0: the interpreter
		long    bool
		phases  []string
	}{
		"one device":  {func(*Config) {}, 1, true, all},
		"two devices": {func(*Config) {}, 2, true, all},
		"puct": {func(c *Config) {
			c.Search, c.Network, c.Accumulate = "puct", "tower:1", 1
			c.Game, c.Vertices = "tictactoe", DefaultConfig().Vertices
		}, 0, false, all},
		"usual":  {func(*Config) {}, 0, true, all},
		"reuse":  {func(c *Config) { c.Reuse = true }, 0, false, all}, // the usual search, and more
		"puzzle": {func(c *Config) { c.Variant, c.ArenaEvery = ramsey, 0 }, 0, false, all[:3]},
		"plain": {func(c *Config) {
			c.UseTrueMCTX, c.OptimizedTraining = false, false
		}, 0, false, []string{PhaseGames, PhaseTraining, PhaseArena}},
	} {
		t.Run(name, func(t *testing.T) {
			if c.long {
				long.Only(t)
			}
			s := small()
			if c.devices == 0 { // the interpreter takes long for what adds nothing
				s.NumEpisodes, s.GameBatchSize, s.NumSimulations, s.ArenaGames = 2, 2, 2, 2
			}
			c.change(&s)
			var b xlabridge.Backend = &xlabridge.Reference{}
			if c.devices > 0 {
				b = client(t, c.devices)
			}
			x, undisturbed := startedOn(t, b, s), startedOn(t, b, s)
			names := func() (names []string) {
				found, err := x.Phases(t.Context(), 1)
				require.NoError(t, err)
				for _, p := range found {
					require.Positive(t, p.Runs[0], p.Name)
					require.GreaterOrEqual(t, p.Seconds, p.Runs[0], p.Name)
					require.Positive(t, p.PerUnit(), p.Name)
					names = append(names, p.Name)
				}
				return names
			}
			if c.devices > 0 { // before the first iteration, too
				require.Equal(t, c.phases, names())
				require.Zero(t, x.Cost())
			}
			require.Equal(t, iterations(t, undisturbed, 1), iterations(t, x, 1))
			require.Equal(t, c.phases, names())
			same(t, snapshot(t, undisturbed), snapshot(t, x), "after the phases")
			requireWork(t, x)
			if long.On() {
				require.Equal(t, iterations(t, undisturbed, 1), iterations(t, x, 1))
			}
		})
	}
}

// requireWork checks that the phases have the work of an iteration, to 5 %.
func requireWork(t *testing.T, x *Training) {
	t.Helper()
	whole := x.Cost()
	if x.plain != nil {
		require.Zero(t, whole)
		return
	}
	phases, err := x.PhasesOf(t.Context(), 1, PhaseSearch, PhaseNetwork, PhaseTraining)
	require.NoError(t, err)
	flops := map[string]float64{}
	sum := 0.
	for _, p := range phases {
		flops[p.Name] = p.Cost.FLOPs * p.PerUnit()
		require.Positive(t, flops[p.Name], p.Name)
		require.Positive(t, p.Cost.Bytes, p.Name)
		sum += flops[p.Name]
	}
	require.InEpsilon(t, whole.FLOPs, sum, .05, "%v", flops)
}

// What the games of an iteration took follows from its metrics.
func TestPlayed(t *testing.T) {
	x := startedOn(t, &xlabridge.Reference{}, small())
	m := iterations(t, x, 1)[0]
	positions, ok := m.Get("positions")
	require.True(t, ok)
	busy, ok := m.Get("lanes_busy")
	require.True(t, ok)
	require.EqualValues(t, positions, x.counts.positions)
	require.InEpsilon(t, positions/busy, x.counts.turns*x.layout.lanes, 1e-6)
	steps, ok := m.Get("training_steps")
	require.True(t, ok)
	require.EqualValues(t, steps, x.trainingSteps(x.counts.positions))
	require.Equal(t, playCounts{}, x.countsOf(make([]float64, len(playMetrics))))
	require.Equal(t, 1, x.trainingSteps(0))
}
