package grid

import (
	"image"
	"image/color"

	"xlarun/envs/draw"
	"xlarun/graph"
)

// The colors of the ground, of the view, and of the shade on walls.
var (
	ground = color.RGBA{0xec, 0xed, 0xe8, 0xff}
	lit    = color.RGBA{0xd8, 0xe3, 0xea, 0xff}
	shade  = color.RGBA{0x57, 0x69, 0x75, 0xff}
)

// picture is a canvas for a grid: cell (x, y), y from the north, has its lower left corner at corner(x, y).
type picture struct {
	*draw.Canvas
	size
}

func (p picture) corner(x, y int) draw.Point { return draw.At(float64(x), float64(p.height-1-y)) }

func (g Gather) draw(state any, pixels image.Point) (image.Image, error) {
	c := draw.NewCanvas(pixels, draw.At(-.5, -.5), draw.At(float64(g.width)+.5, float64(g.height)+.5))
	at := draw.Scalars(c, g.id, state, func(s GatherState) []*graph.Array { return []*graph.Array{s.X, s.Y} })
	words := draw.Grid(c, g.id, state, func(s GatherState) *graph.Array { return s.Field }, kinds, g.wordsOfLayer())
	p := picture{c, g.size}
	p.Rectangle(shade, draw.At(-.35, -.35), draw.At(float64(g.width)+.35, float64(g.height)+.35))
	p.Rectangle(ground, draw.At(0, 0), draw.At(float64(g.width), float64(g.height)))
	x, y := int(at[0]), int(at[1])
	low, high := p.corner(max(x-g.reach(), 0), min(y+g.reach(), g.height-1)), p.corner(min(x+g.reach(), g.width-1),
		max(y-g.reach(), 0))
	p.Rectangle(lit, low, draw.At(high.X+1, high.Y+1))
	for k, paint := range []func(draw.Point){p.wall, p.food, p.hazard, p.decoy} {
		for y := range g.height {
			for x := range g.width {
				w, b := g.wordOf(x)
				if int64(words[k*g.wordsOfLayer()+(y+g.reach())*g.wordsOfRow()+w])>>b&1 == 1 {
					paint(p.corner(x, y))
				}
			}
		}
	}
	p.agent(p.corner(x, y))
	return p.Image()
}

func (p picture) wall(c draw.Point) {
	p.Rectangle(shade, c, draw.At(c.X+1, c.Y+1))
	p.Rectangle(draw.Steel, draw.At(c.X, c.Y+.15), draw.At(c.X+1, c.Y+1))
}

func (p picture) food(c draw.Point) { p.Disc(draw.Accent, draw.At(c.X+.5, c.Y+.5), .3) }

func (p picture) hazard(c draw.Point) {
	p.Polygon(draw.Signal, draw.At(c.X+.12, c.Y+.14), draw.At(c.X+.5, c.Y+.86), draw.At(c.X+.88, c.Y+.14))
	p.Polygon(draw.Paper, draw.At(c.X+.45, c.Y+.62), draw.At(c.X+.55, c.Y+.62), draw.At(c.X+.53, c.Y+.38),
		draw.At(c.X+.47, c.Y+.38))
	p.Disc(draw.Paper, draw.At(c.X+.5, c.Y+.27), .05)
}

func (p picture) decoy(c draw.Point) {
	p.Disc(draw.Wood, draw.At(c.X+.5, c.Y+.5), .3)
	p.Disc(draw.Paper, draw.At(c.X+.5, c.Y+.5), .15)
}

func (p picture) agent(c draw.Point) {
	p.Disc(draw.Ink, draw.At(c.X+.5, c.Y+.5), .4)
	for _, eye := range []float64{-.14, .14} {
		p.Disc(draw.Paper, draw.At(c.X+.5+eye, c.Y+.6), .08)
	}
}
