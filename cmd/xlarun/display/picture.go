package display

import (
	"math"
	"time"
)

// picture is the last map of a run: rows of numbers from top to bottom, NaN where there is nothing.
type picture struct {
	rows   [][]float64
	taken  time.Time
	failed bool // an error was returned once
}

// The size of a picture in columns and half rows, and how often it is taken.
const (
	pictureWidth, pictureHeight = 40, 24
	pictureEvery                = time.Second
)

// update takes the map of a round if the last one is old, or if the round is the last. It returns the first error only.
func (p *picture) update(n RoundReport, now time.Time, last bool) error {
	if n.Map == nil || !last && now.Sub(p.taken) < pictureEvery {
		return nil
	}
	p.taken = now
	rows, err := n.Map(pictureWidth, pictureHeight)
	if err == nil {
		p.rows = rows
		return nil
	}
	if p.failed {
		return nil
	}
	p.failed = true
	return err
}

// lines draws two rows of the map in a row of the screen, with a name before the first. Without colors, a cell shows
// the greater of two numbers.
func (p *picture) lines(g grid, name string) (lines []ranked) {
	if p.rows == nil || g.room() < pictureWidth {
		return nil
	}
	least, greatest := p.bounds()
	part := func(v float64) float64 {
		if v == v && greatest == least {
			return 1
		}
		return (v - least) / (greatest - least)
	}
	for y := 0; y+1 < len(p.rows); y += 2 {
		row := line{g.label(name)}
		for x := range p.rows[y] {
			row = append(row, halves(part(p.rows[y][x]), part(p.rows[y+1][x]), g.style))
		}
		lines, name = append(lines, ranked{row, rankPicture}), ""
	}
	return lines
}

// bounds returns the least and the greatest number.
func (p *picture) bounds() (least, greatest float64) {
	least, greatest = math.Inf(1), math.Inf(-1)
	for _, row := range p.rows {
		for _, v := range row {
			if v == v {
				least, greatest = min(least, v), max(greatest, v)
			}
		}
	}
	return least, greatest
}

// viridis are colors from dark to light, of the 256 that terminals have.
var viridis = []string{"54", "60", "24", "31", "30", "36", "35", "71", "113", "149", "184", "226"}

// halves draws two parts from 0 to 1, NaN for nothing, one above the other.
func halves(top, bottom float64, style Style) span {
	code := func(v float64) string { return viridis[min(len(viridis)-1, int(v*float64(len(viridis))))] }
	above, below := top == top, bottom == bottom
	switch {
	case !above && !below:
		return span{" ", plain}
	case !style.Unicode || !style.Color:
		levels := []rune(".:+*#")
		if style.Unicode {
			levels = []rune("░▒▓█")
		}
		greater := top
		if !above || bottom > top {
			greater = bottom
		}
		return span{string(levels[min(len(levels)-1, int(greater*float64(len(levels))))]), plain}
	case !below:
		return span{"▀", "38;5;" + code(top)}
	case !above:
		return span{"▄", "38;5;" + code(bottom)}
	}
	return span{"▀", "38;5;" + code(top) + ";48;5;" + code(bottom)}
}
