package selfplay

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/color/palette"
	imagedraw "image/draw"
	"image/gif"
	"image/png"
	"strings"
	"time"

	"xlarun/envs/board"
	"xlarun/envs/draw"
	"xlarun/rollout/run"
)

// pictureSize is the size of a position's picture, in pixels.
var pictureSize = image.Pt(320, 320)

// Animation returns positions as a GIF. Each is shown for half a second, the last for two seconds.
func Animation(frames []image.Image) ([]byte, error) {
	if len(frames) == 0 {
		return nil, fmt.Errorf("there is no position to make a GIF of")
	}
	colors := paletteOf(frames)
	var out gif.GIF
	for i, f := range frames {
		p := image.NewPaletted(f.Bounds(), colors)
		imagedraw.Draw(p, p.Rect, f, f.Bounds().Min, imagedraw.Src)
		delay := 50
		if i == len(frames)-1 {
			delay = 200
		}
		out.Image, out.Delay = append(out.Image, p), append(out.Delay, delay)
	}
	var b bytes.Buffer
	err := gif.EncodeAll(&b, &out)
	return b.Bytes(), err
}

// Frame draws the position after a number of moves, for an animation. The text above it has that number and, at the end
// of the game, the result.
func (v *Viewer) Frame(p Position, moves int) (image.Image, error) {
	picture, err := v.Picture(p, pictureSize)
	if err != nil {
		return nil, err
	}
	return draw.Captioned(picture, v.caption(p, moves)), nil
}

// caption returns the text above a frame.
func (v *Viewer) caption(p Position, moves int) string {
	text := fmt.Sprintf("move %d", moves)
	switch {
	case !p.Over:
		return text
	case v.program.game.players == 1:
		return text + fmt.Sprintf(": %.4g %% colored", 100*p.Score)
	case p.Score > 0:
		return text + ": the first player wins"
	case p.Score < 0:
		return text + ": the second player wins"
	}
	return text + ": draw"
}

// paletteOf returns the colors of the last frame, which shows all pieces. If they are too many for a GIF, it returns
// the web-safe colors.
func paletteOf(frames []image.Image) color.Palette {
	last := frames[len(frames)-1]
	seen := map[color.RGBA]bool{}
	var colors color.Palette
	b := last.Bounds()
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			c := color.RGBAModel.Convert(last.At(x, y)).(color.RGBA)
			if !seen[c] {
				seen[c] = true
				colors = append(colors, c)
			}
			if len(colors) > 256 {
				basic := []color.Color{draw.Paper, draw.Ink, draw.Steel, draw.Wood, draw.Accent, draw.Signal}
				return append(basic, palette.WebSafe...)
			}
		}
	}
	return colors
}

// PNG returns an image as a file.
func PNG(i image.Image) ([]byte, error) {
	var b bytes.Buffer
	err := png.Encode(&b, i)
	return b.Bytes(), err
}

// RootPicture draws a position and the result of a search: for each legal action a bar for its share of the visits and
// a bar for its value, upwards if it is good for the player to move.
func (v *Viewer) RootPicture(p Position, a Advice) (image.Image, error) {
	position, err := v.Picture(p, pictureSize)
	if err != nil {
		return nil, err
	}
	shown := a.shown()
	n := float64(len(shown))
	c := draw.NewCanvas(image.Pt(2*pictureSize.X, pictureSize.Y), draw.At(0, -1.2), draw.At(4.8, 1.2))
	c.Line(draw.Steel, draw.At(0, 0), draw.At(4.8, 0), .005)
	for k, i := range shown {
		wide := min(4.8/n, maxBarWidth)
		left := wide * float64(k)
		c.Rectangle(draw.Accent, draw.At(left+.1*wide, 0), draw.At(left+.5*wide, a.share(i)))
		if a.Visits[i] > 0 {
			c.Rectangle(draw.Signal, draw.At(left+.5*wide, min(0, a.Values[i])),
				draw.At(left+.9*wide, max(0, a.Values[i])))
		}
	}
	bars, err := c.Image()
	if err != nil {
		return nil, err
	}
	out := image.NewRGBA(image.Rect(0, 0, 3*pictureSize.X, pictureSize.Y))
	imagedraw.Draw(out, image.Rect(0, 0, pictureSize.X, pictureSize.Y), position, position.Bounds().Min, imagedraw.Src)
	imagedraw.Draw(out, image.Rect(pictureSize.X, 0, 3*pictureSize.X, pictureSize.Y), bars, image.Point{},
		imagedraw.Src)
	return out, nil
}

// maxBarWidth is the largest width of an action, of the picture's 4.8.
const maxBarWidth = .4

// shown returns the actions that are legal or, after the end of a game, were visited.
func (a Advice) shown() (all []int) {
	for i, legal := range a.Legal {
		if legal || a.Visits[i] > 0 {
			all = append(all, i)
		}
	}
	return all
}

// RootSVG returns the bars of RootPicture with their numbers.
func (v *Viewer) RootSVG(a Advice) []byte {
	const wide, high, row = 520, 40, 16
	var b strings.Builder
	shown := a.shown()
	fmt.Fprintf(&b, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" font-family=\"sans-serif\" "+
		"font-size=\"11\">\n", wide, high+row*len(shown))
	fmt.Fprintf(&b, "<rect width=\"100%%\" height=\"100%%\" fill=\"#fafaf7\"/>\n<text x=\"8\" y=\"18\">%s, value "+
		"%.3f: move, visits, value</text>\n", v.program.game.env.Spec().ID, a.Value)
	y := high
	for _, i := range shown {
		fmt.Fprintf(&b, "<text x=\"8\" y=\"%d\">%s</text><rect x=\"60\" y=\"%d\" width=\"%.1f\" height=\"10\" "+
			"fill=\"#1f77b4\"/><text x=\"265\" y=\"%d\">%d</text>", y, v.Name(i), y-9, 200*a.share(i), y, a.Visits[i])
		if a.Visits[i] > 0 {
			from := min(0, a.Values[i])
			fmt.Fprintf(&b, "<rect x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"10\" fill=\"#d64b3a\"/><text "+
				"x=\"470\" y=\"%d\">%.3f</text>", 380+80*from, y-9, 80*max(a.Values[i], -a.Values[i]), y, a.Values[i])
		}
		b.WriteString("\n")
		y += row
	}
	b.WriteString("</svg>\n")
	return []byte(b.String())
}

// Coloring is a complete graph in two colors.
type Coloring struct {
	Vertices int
	First    []bool // by edge: whether it has the first color; else it has the second
}

// Valid reports whether no clique of first vertices has the first color and no clique of second vertices the second.
// It looks at every set of vertices.
func (c Coloring) Valid(first, second int) bool {
	inFirst := func(a, b int) bool { return c.First[board.Edge(c.Vertices, a, b)] }
	return !hasClique(c.Vertices, first, inFirst) && !hasClique(c.Vertices, second, func(a, b int) bool {
		return !inFirst(a, b)
	})
}

// Graph6 returns the edges of the first color in the format graph6 (McKay), for graphs of at most 62 vertices.
func (c Coloring) Graph6() string {
	out := []byte{byte(c.Vertices + 63)}
	bit, value := 5, byte(0)
	for b := 1; b < c.Vertices; b++ {
		for a := range b {
			if c.First[board.Edge(c.Vertices, a, b)] {
				value |= 1 << bit
			}
			if bit--; bit < 0 {
				out = append(out, value+63)
				bit, value = 5, 0
			}
		}
	}
	if bit < 5 {
		out = append(out, value+63)
	}
	return string(out)
}

// coloring returns the coloring of a state's words. ok is false if an edge has no color, or both.
func (g *game) coloring(words []uint32) (c Coloring, ok bool) {
	edges := g.vertices * (g.vertices - 1) / 2
	n := (edges + 31) / 32
	c = Coloring{g.vertices, make([]bool, edges)}
	for e := range edges {
		first, second := words[e/32]>>(e%32)&1, words[n+e/32]>>(e%32)&1
		if first+second != 1 {
			return c, false
		}
		c.First[e] = first == 1
	}
	return c, true
}

// Colorings returns the complete colorings that the run has found. It verifies each.
func (t *Training) Colorings() (all []Coloring, err error) {
	for _, words := range t.found {
		c, whole := t.program.game.coloring(words)
		if k := t.program.game.k; !whole || !c.Valid(k[0], k[1]) {
			return nil, fmt.Errorf("selfplay: a solution is not a coloring of %d vertices without cliques of %d "+
				"and %d", c.Vertices, k[0], k[1])
		}
		all = append(all, c)
	}
	return all, nil
}

// drawing is when the last pictures were made, and how long that took.
type drawing struct {
	end   time.Time
	took  time.Duration
	found int // colorings that are written
}

// drawInterval is the least time between pictures, as a multiple of the time that they take.
const drawInterval = 20

// Files returns the network, the first game of the newest iteration as a GIF, the search in its middle position, and
// the colorings that were found.
func (t *Training) Files(_ run.Snapshot, ended bool) (files []run.File, err error) {
	if t.state.Learner.Weights == nil {
		return nil, nil
	}
	arrays, metadata, err := t.save()
	if err != nil {
		return nil, err
	}
	files = append(files, run.File{Name: "best.safetensors", Arrays: arrays, Metadata: metadata})
	colorings, err := t.Colorings()
	if err != nil {
		return nil, err
	}
	for i, c := range colorings {
		if i < t.drawn.found && !ended {
			continue
		}
		drawn, err := t.watch.Picture(Position{words: t.found[i]}, pictureSize.Mul(2))
		if err != nil {
			return nil, err
		}
		picture, err := PNG(drawn)
		if err != nil {
			return nil, err
		}
		files = append(files, run.File{Name: fmt.Sprintf("coloring-%d.g6", i+1), Data: []byte(c.Graph6() + "\n")},
			run.File{Name: fmt.Sprintf("coloring-%d.png", i+1), Data: picture})
	}
	t.drawn.found = len(colorings)
	if t.last.rows == nil || !ended && time.Since(t.drawn.end) < drawInterval*t.drawn.took {
		return files, nil
	}
	start := time.Now()
	more, err := t.pictures()
	t.drawn.end = time.Now()
	t.drawn.took = t.drawn.end.Sub(start)
	return append(files, more...), err
}

// pictures returns the pictures of the first game of the newest iteration.
func (t *Training) pictures() ([]run.File, error) {
	position := func(move int) Position {
		if move == t.last.length {
			return Position{words: t.last.final, Over: true, Score: t.last.score(t.program.words())}
		}
		return Position{words: t.last.rows[move*t.program.words():][:t.program.game.stateWords()]}
	}
	var frames []image.Image
	for i := range t.last.length + 1 {
		f, err := t.watch.Frame(position(i), i)
		if err != nil {
			return nil, err
		}
		frames = append(frames, f)
	}
	game, err := Animation(frames)
	if err != nil {
		return nil, err
	}
	middle := position(t.last.length / 2)
	a, err := t.watch.search(networkPlayer(t.state.Learner.Weights), middle)
	if err != nil {
		return nil, err
	}
	picture, err := t.watch.RootPicture(middle, a)
	if err != nil {
		return nil, err
	}
	root, err := PNG(picture)
	if err != nil {
		return nil, err
	}
	return []run.File{{Name: "game.gif", Data: game}, {Name: "root.png", Data: root},
		{Name: "root.svg", Data: t.watch.RootSVG(a)}, {Name: "tree.json", JSON: t.watch.JSON(a)}}, nil
}
