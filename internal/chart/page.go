package chart

import (
	"bytes"
	"compress/zlib"
	"fmt"
	"image/color"
)

// page is a canvas of one PDF page (ISO 32000-1) or an EPS file. Both are written with the operators of PDF. An EPS
// file defines them. Text is drawn as outlines, so no font is needed to read the file.
type page struct {
	bytes.Buffer
	format        string
	width, height float64
	alphas        map[uint8]bool
}

// points is the length of a pixel in points, 1/72 inch.
const points = .75

func newPage(format string, width, height float64) *page {
	return &page{format: format, width: width, height: height, alphas: map[uint8]bool{}}
}

// color sets a color with an operator of PDF: rg for filling, RG for stroking. PostScript has no transparency, so
// EPS gets the color as it looks on white.
func (p *page) color(c color.NRGBA, operator string) {
	rgb := [3]float64{float64(c.R) / 255, float64(c.G) / 255, float64(c.B) / 255}
	if p.format == "eps" {
		for i, v := range rgb {
			rgb[i] = 1 - (1-v)*float64(c.A)/255
		}
	} else {
		p.alphas[c.A] = true
		fmt.Fprintf(p, "/a%d gs ", c.A)
	}
	fmt.Fprintf(p, "%.3f %.3f %.3f %s\n", rgb[0], rgb[1], rgb[2], operator)
}

func (p *page) path(points []Point) {
	for i, point := range points {
		fmt.Fprintf(p, "%s %s %c\n", decimal(point.X), decimal(point.Y), "ml"[min(i, 1)])
	}
}

func (p *page) fill(c color.NRGBA, contours ...[]Point) {
	p.color(c, "rg")
	for _, contour := range contours {
		p.path(contour)
		p.WriteString("h\n")
	}
	p.WriteString("f\n")
}

func (p *page) stroke(s pen, lines ...[]Point) {
	p.color(s.color, "RG")
	end := 0
	for _, line := range lines {
		p.path(line)
		if len(line) == 1 {
			p.path([]Point{line[0], line[0]})
			end = 1
		}
	}
	fmt.Fprintf(p, "%s w %d J 1 j [%s] 0 d S\n", decimal(s.width), end, decimals(s.dashes))
}

func (p *page) text(l label) { p.fill(ink, l.outline()...) }

func (p *page) encode() ([]byte, error) {
	if p.format == "eps" {
		return p.encapsulated(), nil
	}
	width, height := points*p.width, points*p.height
	var content bytes.Buffer
	z := zlib.NewWriter(&content)
	fmt.Fprintf(z, "%g 0 0 -%g 0 %g cm\n%s", points, points, height, p.Bytes())
	if err := z.Close(); err != nil {
		return nil, err
	}
	states := ""
	for alpha := range 256 {
		if p.alphas[uint8(alpha)] {
			states += fmt.Sprintf("/a%d << /ca %.3[2]f /CA %.3[2]f >> ", alpha, float64(alpha)/255)
		}
	}
	var out bytes.Buffer
	out.WriteString("%PDF-1.4\n")
	var offsets []int
	for i, object := range []string{
		"<< /Type /Catalog /Pages 2 0 R >>",
		"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
		fmt.Sprintf("<< /Type /Page /Parent 2 0 R /MediaBox [0 0 %g %g] /Contents 4 0 R "+
			"/Resources << /ExtGState << %s>> >> >>", width, height, states),
		fmt.Sprintf("<< /Length %d /Filter /FlateDecode >>\nstream\n%s\nendstream", content.Len(), content.Bytes()),
	} {
		offsets = append(offsets, out.Len())
		fmt.Fprintf(&out, "%d 0 obj\n%s\nendobj\n", i+1, object)
	}
	table := out.Len()
	fmt.Fprintf(&out, "xref\n0 %d\n0000000000 65535 f \n", len(offsets)+1)
	for _, offset := range offsets {
		fmt.Fprintf(&out, "%010d 00000 n \n", offset)
	}
	fmt.Fprintf(&out, "trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n", len(offsets)+1, table)
	return out.Bytes(), nil
}

// prologue defines the operators of PDF in PostScript.
const prologue = `/m {moveto} bind def /l {lineto} bind def /h {closepath} bind def /f {fill} bind def
/S {stroke} bind def /w {setlinewidth} bind def /J {setlinecap} bind def /j {setlinejoin} bind def
/d {setdash} bind def /rg {setrgbcolor} bind def /RG {setrgbcolor} bind def
`

func (p *page) encapsulated() []byte {
	width, height := points*p.width, points*p.height
	return fmt.Appendf(nil, "%%!PS-Adobe-3.0 EPSF-3.0\n%%%%BoundingBox: 0 0 %.0f %.0f\n%%%%EndComments\n%s"+
		"gsave 0 %g translate %g -%g scale\n%sgrestore\nshowpage\n%%%%EOF\n", width, height, prologue, height, points,
		points, p.Bytes())
}
