package play

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/cmd/xlarun/console"
	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/graph/safetensors"
	"xlarun/rollout/selfplay"
	"xlarun/rollout/selfplay/network"
	"xlarun/xlabridge"
)

const tictactoe = "../../../rollout/selfplay/testdata/tictactoe.safetensors"

func interpreter(context.Context, console.BackendFlags, console.Listener) (xlabridge.Backend, error) {
	return &xlabridge.Reference{}, nil
}

// untrained is a network of the clique game on n vertices, k = 3, that has learned nothing.
func untrained(t *testing.T, n int, variant string) *Saved {
	t.Helper()
	edges := n * (n - 1) / 2
	g := network.Game{Observation: []int{edges, 3}, Actions: edges, Vertices: n}
	if variant == "ramsey" {
		g = network.Game{Observation: []int{edges, 2}, Actions: 2 * edges, Vertices: n}
	}
	net, err := network.Make("mlp:4", nil, g)
	require.NoError(t, err)
	saved := &Saved{Path: "untrained.safetensors", Arrays: map[string]*graph.Array{}, Metadata: map[string]string{
		"kind": GameKind, "game": "Clique", "setting.vertices": fmt.Sprint(n), "setting.k": "3",
		"setting.variant": variant, "setting.network": "mlp:4"}}
	params, err := graph.Eval(net.Init(random.New(1)))
	require.NoError(t, err)
	leaves, tree := graph.Flatten(params)
	for i, a := range leaves {
		saved.Arrays[safetensors.Name(tree.Path(i))] = a
	}
	return saved
}

// opened is a network in the interpreter, ready to be asked, with the options that ask it.
func opened(t *testing.T, saved *Saved, simulations int) (*gameOptions, *selfplay.Viewer) {
	t.Helper()
	o := &gameOptions{saved: saved, simulations: simulations}
	o.Backend = "cpu"
	v, b, err := o.open(t.Context(), console.Streams{Out: io.Discard}, interpreter)
	require.NoError(t, err)
	t.Cleanup(func() { v.Close(); require.NoError(t, b.Close()) })
	return o, v
}

// sits plays one game with the lines of a person, and gives what the person saw.
func sits(t *testing.T, o *gameOptions, v *selfplay.Viewer, in string) string {
	t.Helper()
	var out bytes.Buffer
	require.NoError(t, o.person(console.Streams{In: strings.NewReader(in), Out: &out}, v))
	return out.String()
}

// triangle is the mark of a triangle of one mark in the last table of edges that was shown, 0 where there is none.
func triangle(text string, n int) byte {
	rows := strings.Split(text[strings.LastIndex(text, "     0  1"):], "\n")
	at := func(a, b int) byte { return rows[1+a][5+3*b] }
	for a := range n {
		for b := range a {
			for c := range b {
				if m := at(a, b); m != '.' && m == at(b, c) && m == at(a, c) {
					return m
				}
			}
		}
	}
	return 0
}

// Whoever tries all edges, legal or not, ends a game whose result is the one that the table on the screen shows; edges
// that are taken, and what is no edge, are refused and cost no move.
func TestPersonPlaysGameToTheEnd(t *testing.T) {
	edges := strings.Split("0-1 2-1 0-2 3-0 3-1 3-2 4-0 4-1 4-2 4-3", " ")
	number := 0
	for _, variant := range []string{"maker", "avoid"} {
		o, v := opened(t, untrained(t, 5, variant), 4)
		for _, second := range []bool{false, true} {
			for _, reversed := range []bool{false, true} {
				number++
				o.second = second
				moves := slices.Clone(edges)
				if reversed {
					slices.Reverse(moves)
				}
				text := sits(t, o, v, "0-0\n"+strings.Repeat(strings.Join(moves, "\n")+"\n", 2))
				require.Contains(t, text, `"0-0" is no legal move; the legal moves are `, "case %d", number)
				me := byte("xo"[map[bool]int{true: 1}[second]])
				require.Contains(t, text, fmt.Sprintf("you are %c; write a move as 0-1", me), "case %d", number)
				closed := triangle(text, 5)
				want := "a draw\n"
				if closed != 0 {
					want = map[bool]string{true: "you won\n", false: "the network won\n"}[(closed == me) ==
						(variant == "maker")]
				}
				require.True(t, strings.HasSuffix(text, want), "case %d: %s", number, text)
			}
		}
	}
}

// A person may leave at any time, by a word or by the end of what is typed.
func TestPersonLeaves(t *testing.T) {
	o, v := opened(t, untrained(t, 4, "maker"), 4)
	for i, in := range []string{"quit\n", "q\n", "", "0-1\n  quit  \n", "?\n"} {
		text := sits(t, o, v, in)
		require.NotContains(t, text, "won", "case %d", i+1)
		require.NotContains(t, text, "no legal move", "case %d", i+1)
	}
	require.Contains(t, sits(t, o, v, "?\n"), "worth ")
}

// endless are the lines of a person who never ends, as yes writes them. It fails a test that reads on and on.
type endless struct {
	t    *testing.T
	left int
}

func (e *endless) Read(b []byte) (int, error) {
	e.left--
	require.Positive(e.t, e.left, "it reads on")
	return copy(b, "y\n"), nil
}

// leaver reads a few writes, and leaves.
type leaver struct{ left int }

func (l *leaver) Write(b []byte) (int, error) {
	if l.left--; l.left < 0 {
		return 0, io.ErrClosedPipe
	}
	return len(b), nil
}

// A game whose reader had left, as head does, read its input without an end.
func TestGameEndsWhenNobodyReads(t *testing.T) {
	o, v := opened(t, untrained(t, 4, "maker"), 4)
	err := o.person(console.Streams{In: &endless{t, 100}, Out: &leaver{8}}, v)
	require.ErrorIs(t, err, io.ErrClosedPipe)
}

// The network colors a puzzle alone; all of it is colored only where the table has no triangle of one color.
func TestPuzzleIsPlayedAlone(t *testing.T) {
	o, v := opened(t, untrained(t, 5, "ramsey"), 8)
	text := sits(t, o, v, "")
	require.NotContains(t, text, "your move")
	require.Equal(t, triangle(text, 5) == 0, strings.HasSuffix(text, "\n100 % are colored\n"), text)
}

// master is a person at Tic-tac-toe who reads the board from the screen and never loses.
type master struct {
	screen *bytes.Buffer
	mark   byte
}

var lines = [][3]int{{0, 1, 2}, {3, 4, 5}, {6, 7, 8}, {0, 3, 6}, {1, 4, 7}, {2, 5, 8}, {0, 4, 8}, {2, 4, 6}}

// best is what a board is worth to the mark to move, and a move that gets it; -1 where there is none.
func best(cells [9]byte, mark byte) (worth, move int) {
	other := byte('x'+'o') - mark
	for _, l := range lines {
		if cells[l[0]] == other && cells[l[1]] == other && cells[l[2]] == other {
			return -1, -1
		}
	}
	worth, move = -2, -1
	for i := range cells {
		if cells[i] != '.' {
			continue
		}
		next := cells
		next[i] = mark
		if w, _ := best(next, other); -w > worth {
			worth, move = -w, i
		}
	}
	if move < 0 {
		return 0, -1
	}
	return worth, move
}

func (m master) Read(p []byte) (int, error) {
	rows := strings.Split(m.screen.String(), "\n")
	var cells [9]byte
	for y := range 3 { // the last line is the question
		for x := range 3 {
			cells[3*y+x] = rows[len(rows)-4+y][3+2*x]
		}
	}
	_, move := best(cells, m.mark)
	return copy(p, fmt.Sprintf("%c%d\n", 'a'+move%3, 1+move/3)), nil
}

// Two who make no mistake draw, whoever begins, and the board is full then.
func TestPerfectPersonAndTrainedNetworkDraw(t *testing.T) {
	saved, ok := gameNetwork(tictactoe)
	require.True(t, ok)
	for i, second := range []bool{false, true} {
		o, v := opened(t, saved, 32)
		o.second = second
		var out bytes.Buffer
		require.NoError(t, o.person(console.Streams{In: master{&out, "xo"[i]}, Out: &out}, v))
		text := out.String()
		require.True(t, strings.HasSuffix(text, "\na draw\n"), text)
		require.NotContains(t, text, "no legal move")
		board := text[strings.LastIndex(text, "   a b c"):]
		require.Zero(t, strings.Count(board[:strings.Index(board, "a draw")], "."), board)
	}
}

// The tree as JSON is one tree: parents stand before their children, the root's children have the visits of its
// actions, and every simulation visits the root once.
func TestTreeAsJSON(t *testing.T) {
	_, v := opened(t, untrained(t, 4, "maker"), 12)
	p, err := v.Start()
	require.NoError(t, err)
	p, err = v.Move(p, 2)
	require.NoError(t, err)
	a, err := v.Ask(p)
	require.NoError(t, err)
	root := make([]int, len(a.Visits))
	sum := 0
	for i, n := range a.Tree {
		require.Less(t, n.Parent, i)
		if n.Parent == 0 {
			root[n.Action] = n.Visits
		}
	}
	require.Equal(t, a.Visits, root)
	for _, n := range a.Visits {
		sum += n
	}
	require.Equal(t, 12, sum)
	require.Equal(t, 13, a.Tree[0].Visits, "the root is visited as it is made, too")
	require.Zero(t, a.Visits[2], "the edge is taken")
	require.False(t, a.Legal[2])
	file := v.JSON(a)
	require.Equal(t, []string{"action", "legal", "names", "prior", "tree", "value", "values", "visits"},
		slices.Sorted(maps.Keys(file)))
	require.Equal(t, []string{"0-1", "0-2", "0-3", "1-2", "1-3", "2-3"}, file["names"])
	require.Len(t, file["tree"], len(a.Tree))
}

func TestWorth(t *testing.T) {
	for x, want := range map[float64]string{.254: "+0.25", -.254: "-0.25", -.001: "+0.00", 0: "+0.00", -1: "-1.00"} {
		require.Equal(t, want, worth(x))
	}
}
