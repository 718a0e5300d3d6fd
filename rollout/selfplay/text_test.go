package selfplay

import (
	"image/color"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/envs/draw"
	"xlarun/graph"
)

func viewerOf(t *testing.T, c Config) *Viewer {
	t.Helper()
	p, err := c.program()
	require.NoError(t, err)
	return &Viewer{program: p}
}

// The text of a game says how it is won.
func TestRules(t *testing.T) {
	for _, c := range []struct {
		number  int
		game    string
		variant string
		k       []int
		want    string
	}{
		{1, clique, "maker", []int{3}, "the first player who colors all 3 edges between 3 vertices wins"},
		{2, clique, "avoid", []int{4}, "the first player who colors all 6 edges between 4 vertices loses"},
		{3, clique, "maker", []int{3, 4}, "the first player who colors all edges between 3 vertices (x) or 4 " +
			"vertices (o) wins"},
		{4, clique, ramsey, []int{3}, "color all edges of the graph, but never all 3 edges between 3 " +
			"vertices in one color"},
		{5, "tictactoe", "", nil, "three in a row win"},
		{6, "connectfour", "", nil, "four in a row win"},
		{7, "hex", "", nil, "x connects the top with the bottom, o the left with the right"},
		{8, "othello", "", nil, "the player with more discs at the end wins"},
	} {
		x := smallOf(c.game)
		if c.game == clique {
			x.Vertices, x.Variant, x.K = 5, c.variant, c.k
		}
		require.Equal(t, c.want, viewerOf(t, x).Rules(), "case %d", c.number)
	}
}

// Rows of hexagons stand half a cell further than those above them.
func TestTextOfHex(t *testing.T) {
	v := viewerOf(t, smallOf("hex"))
	words := make([]uint32, v.program.game.stateWords())
	words[0], words[8] = 1, 2
	lines := strings.Split(v.Text(Position{words: words}), "\n")
	require.Equal(t, "   a b c d e f g", lines[0])
	require.Equal(t, " 1 x . . . . . .", lines[1])
	require.Equal(t, " 2  . o . . . . .", lines[2])
	require.Equal(t, " 3   . . . . . . .", lines[3])
}

// The picture of a search has a bar for each action that is legal, wide enough to be seen, whatever the number
// of all actions.
func TestRootPictureOfLegalActions(t *testing.T) {
	c := small()
	c.Vertices, c.K, c.Variant = 14, []int{4}, ramsey
	v := viewerOf(t, c)
	g := v.program.game
	words, err := wordsOf(must(graph.Eval(g.pack(g.start))))
	require.NoError(t, err)
	a := Advice{Visits: make([]int, g.actions), Values: make([]float64, g.actions), Legal: make([]bool, g.actions)}
	a.Legal[7], a.Legal[91+7], a.Visits[7], a.Visits[91+7], a.Values[7] = true, true, 3, 1, .5
	picture, err := v.RootPicture(Position{words: words}, a)
	require.NoError(t, err)
	wide := 0
	for x := range picture.Bounds().Dx() {
		if picture.At(x, 150) == color.Color(color.RGBAModel.Convert(draw.Accent)) { // right above the line
			wide++
		}
	}
	require.Greater(t, wide, 30)
	require.Equal(t, 2, strings.Count(string(v.RootSVG(a)), "fill=\"#1f77b4\""))
}

// Frames say how many moves were played and how the game ended; they once had no text.
func TestCaptions(t *testing.T) {
	two := &Viewer{program: &program{game: &game{players: 2}}}
	one := &Viewer{program: &program{game: &game{players: 1}}}
	for _, c := range []struct {
		v    *Viewer
		p    Position
		want string
	}{
		{two, Position{}, "move 7"},
		{two, Position{Over: true, Score: 1}, "move 7: the first player wins"},
		{two, Position{Over: true, Score: -1}, "move 7: the second player wins"},
		{two, Position{Over: true}, "move 7: draw"},
		{one, Position{Over: true, Score: .75}, "move 7: 75 % colored"},
	} {
		require.Equal(t, c.want, c.v.caption(c.p, 7))
	}
	require.EqualValues(t, -1, lastGame{rows: []uint32{5, math.Float32bits(-1), 6, 7}}.score(2))
}
