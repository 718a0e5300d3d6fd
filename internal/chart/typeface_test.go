package chart

import (
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
)

// Glyphs of all characters, their advances and their outlines are those that x/image/font/sfnt reads.
func TestTypefaceIsSfnts(t *testing.T) {
	f, err := sfnt.Parse(goregular.TTF)
	require.NoError(t, err)
	require.EqualValues(t, unitsPerEm, f.UnitsPerEm())
	var b sfnt.Buffer
	for r := rune(0); r < 0x10400; r++ {
		want, err := f.GlyphIndex(&b, r)
		require.NoError(t, err)
		if int(want) != glyphOf(r) {
			require.EqualValues(t, want, glyphOf(r), "%U", r)
		}
	}
	one := fixed.I(unitsPerEm) // the size at which outlines are in units of the font
	for glyph := range f.NumGlyphs() {
		advance, err := f.GlyphAdvance(&b, sfnt.GlyphIndex(glyph), one, font.HintingNone)
		require.NoError(t, err)
		require.Equal(t, advance, fixed.I(advanceOf(glyph)), glyph)

		segments, err := f.LoadGlyph(&b, sfnt.GlyphIndex(glyph), one, nil)
		require.NoError(t, err)
		var want, got [][2]int
		add := func(p fixed.Point26_6) { want = append(want, [2]int{p.X.Floor(), -p.Y.Floor()}) }
		for _, s := range segments {
			add(s.Args[0])
			if s.Op == sfnt.SegmentOpQuadTo {
				add(s.Args[1])
			}
		}
		for _, contour := range contoursOf(glyph) {
			for i, v := range contour {
				if i > 0 && !v.on && !contour[i-1].on {
					middle := contour[i-1].middle(v)
					got = append(got, [2]int{middle.x, middle.y})
				}
				got = append(got, [2]int{v.x, v.y})
			}
		}
		require.Equal(t, want, got, glyph)
	}
}
