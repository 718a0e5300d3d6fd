package chart

import (
	"bytes"
	"encoding/binary"

	"golang.org/x/image/font/gofont/goregular"
)

// The font of all text is Go Regular, a TrueType file. Its glyphs have outlines of their own, of lines and quadratic
// curves, so this reads a part of the format (OpenType specification, cmap, glyf, hmtx and loca). x/image/font/sfnt
// reads all of it and brings tables of encodings that are larger than the font.

// unitsPerEm is the size of the font in its own units.
const unitsPerEm = 2048

// Tables of the font.
var characters, outlines, places, advances = table("cmap"), table("glyf"), table("loca"), table("hmtx")

// table returns a table of the font.
func table(name string) []byte {
	const header, record = 12, 16
	r := goregular.TTF[header:]
	for string(r[:4]) != name {
		r = r[record:]
	}
	return goregular.TTF[binary.BigEndian.Uint32(r[8:]):][:binary.BigEndian.Uint32(r[12:])]
}

// uint16At returns the 16 bits at a place of a table.
func uint16At(table []byte, at int) int { return int(binary.BigEndian.Uint16(table[at:])) }

// glyphOf returns the number of the glyph of a character; 0 is that of characters that the font does not have.
func glyphOf(r rune) int {
	ranges := characters[binary.BigEndian.Uint32(characters[8:]):]
	size := uint16At(ranges, 6)
	ends, starts := ranges[14:], ranges[16+size:]
	deltas, offsets := starts[size:], starts[2*size:]
	for i := 0; i < size; i += 2 {
		if int(r) > uint16At(ends, i) {
			continue
		}
		switch start, offset := uint16At(starts, i), uint16At(offsets, i); {
		case int(r) < start:
			return 0
		case offset == 0:
			return (int(r) + uint16At(deltas, i)) & 0xffff
		default:
			return uint16At(offsets[i:], offset+2*(int(r)-start))
		}
	}
	return 0
}

// advanceOf returns how far the next glyph is from a glyph, in units of the font. The last ones have the same.
func advanceOf(glyph int) int {
	return uint16At(advances, 4*min(glyph, uint16At(table("hhea"), 34)-1))
}

// vertex is a point of an outline in units of the font, y upwards. Between two that are not on the curve there is one
// in their middle that is.
type vertex struct {
	x, y int
	on   bool
}

// contoursOf returns the outline of a glyph. Each contour begins and ends with the same vertex on the curve.
func contoursOf(glyph int) (contours [][]vertex) {
	glyf := outlines[2*uint16At(places, 2*glyph) : 2*uint16At(places, 2*glyph+2)]
	if len(glyf) == 0 {
		return nil
	}
	const header = 10
	ends, rest := glyf[header:], glyf[header+2*uint16At(glyf, 0):]
	rest = rest[2+uint16At(rest, 0):] // after the hints
	vertices := uint16At(ends, 2*uint16At(glyf, 0)-2) + 1
	next := func() byte {
		b := rest[0]
		rest = rest[1:]
		return b
	}
	const on, repeated = 1, 8
	var flags []byte
	for len(flags) < vertices {
		f, count := next(), 1
		if f&repeated != 0 {
			count += int(next())
		}
		flags = append(flags, bytes.Repeat([]byte{f}, count)...)
	}
	coordinates := func(short, same byte) []int { // same means positive for a short one
		at, all := 0, make([]int, vertices)
		for i, f := range flags {
			switch {
			case f&short != 0 && f&same != 0:
				at += int(next())
			case f&short != 0:
				at -= int(next())
			case f&same == 0:
				at += int(int16(uint16(next())<<8 | uint16(next())))
			}
			all[i] = at
		}
		return all
	}
	xs, ys := coordinates(2, 16), coordinates(4, 32)
	for i, c := 0, 0; c < uint16At(glyf, 0); c++ {
		var contour []vertex
		for ; i <= uint16At(ends, 2*c); i++ {
			contour = append(contour, vertex{xs[i], ys[i], flags[i]&on != 0})
		}
		contours = append(contours, closed(contour))
	}
	return contours
}

// closed lets a contour begin and end with the same vertex on the curve.
func closed(contour []vertex) []vertex {
	first := contour[0]
	switch {
	case first.on:
		return append(contour, first)
	case contour[1].on:
		return append(contour[1:], first, contour[1])
	}
	start := first.middle(contour[1])
	return append(append([]vertex{start}, contour[1:]...), first, start)
}

// middle returns the vertex on the curve between two that are not on it.
func (v vertex) middle(w vertex) vertex { return vertex{(v.x + w.x) / 2, (v.y + w.y) / 2, true} }
