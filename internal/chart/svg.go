package chart

import (
	"bytes"
	"fmt"
	"image/color"
	"strconv"
	"strings"
	"unicode"
)

// svg is a canvas of SVG elements.
type svg struct {
	bytes.Buffer
	inline bool // text and axes have the color of the text around the picture, and there is no background
}

// newInline returns the canvas of a picture inside of a page, light or dark.
func newInline(width, height float64) *svg {
	s := &svg{inline: true}
	fmt.Fprintf(s, `<svg xmlns="http://www.w3.org/2000/svg" width="%[1]s" height="%[2]s" viewBox="0 0 %[1]s %[2]s" `+
		`font-family="Helvetica, Arial, sans-serif" font-size="%[3]d" fill="none" style="max-width:100%%">`+"\n",
		decimal(width), decimal(height), fontSize)
	return s
}

func newSVG(width, height float64) *svg {
	s := &svg{}
	fmt.Fprintf(s, `<svg xmlns="http://www.w3.org/2000/svg" width="%[1]s" height="%[2]s" viewBox="0 0 %[1]s %[2]s" `+
		`font-family="Helvetica, Arial, sans-serif" font-size="%[3]d" fill="none">`+"\n"+
		`<rect width="100%%" height="100%%" fill="#fff"/>`+"\n", decimal(width), decimal(height), fontSize)
	return s
}

func (s *svg) fill(c color.NRGBA, contours ...[]Point) {
	s.WriteString(`<path d="`)
	for _, contour := range contours {
		s.path(contour)
		s.WriteByte('Z')
	}
	fmt.Fprintf(s, `" fill="%s"%s/>`+"\n", s.hex(c), s.opacity("fill", c))
}

func (s *svg) stroke(p pen, lines ...[]Point) {
	s.WriteString(`<path d="`)
	end := "butt"
	for _, line := range lines {
		s.path(line)
		if len(line) == 1 {
			s.WriteString("h0")
			end = "round"
		}
	}
	fmt.Fprintf(s, `" stroke="%s"%s stroke-width="%s" stroke-linecap="%s" stroke-linejoin="round"`, s.hex(p.color),
		s.opacity("stroke", p.color), decimal(p.width), end)
	if len(p.dashes) > 0 {
		fmt.Fprintf(s, ` stroke-dasharray="%s"`, decimals(p.dashes))
	}
	s.WriteString("/>\n")
}

func (s *svg) path(points []Point) {
	for i, p := range points {
		s.WriteByte("ML"[min(i, 1)])
		s.WriteString(decimal(p.X) + " " + decimal(p.Y))
	}
}

func (s *svg) text(l label) {
	anchor := map[float64]string{0: "start", .5: "middle", 1: "end"}[l.align]
	fmt.Fprintf(s, `<text x="%s" y="%s" fill="%s" text-anchor="%s"`, decimal(l.at.X), decimal(l.at.Y), s.hex(ink),
		anchor)
	if l.upward {
		fmt.Fprintf(s, ` transform="rotate(-90 %s %s)"`, decimal(l.at.X), decimal(l.at.Y))
	}
	printable := strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return unicode.ReplacementChar
		}
		return r
	}, l.string)
	fmt.Fprintf(s, ">%s</text>\n", strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(printable))
}

func (s *svg) encode() ([]byte, error) {
	s.WriteString("</svg>\n")
	return s.Bytes(), nil
}

// inherited are the colors that an inline picture takes from the page, and their opacity.
var inherited = map[color.NRGBA]uint8{ink: 255, axisColor: 140, gridColor: 40}

func (s *svg) hex(c color.NRGBA) string {
	if _, ok := inherited[c]; ok && s.inline {
		return "currentColor"
	}
	return fmt.Sprintf("#%02x%02x%02x", c.R, c.G, c.B)
}

func (s *svg) opacity(what string, c color.NRGBA) string {
	if alpha, ok := inherited[c]; ok && s.inline {
		c.A = alpha
	}
	if c.A == 255 {
		return ""
	}
	return fmt.Sprintf(` %s-opacity="%s"`, what, decimal(float64(c.A)/255))
}

// decimal is a number with at most two digits after the point.
func decimal(v float64) string {
	s := strconv.FormatFloat(v, 'f', 2, 64)
	return strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
}

func decimals(values []float64) string {
	var all []string
	for _, v := range values {
		all = append(all, decimal(v))
	}
	return strings.Join(all, " ")
}
