package chart

import (
	"bytes"
	"compress/zlib"
	"encoding/xml"
	"fmt"
	"image"
	"image/color"
	_ "image/jpeg"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	_ "golang.org/x/image/tiff"
)

func TestTicks(t *testing.T) {
	for i, c := range []struct {
		of    Range
		most  int
		whole bool
		want  string
	}{
		{Range{0, 1}, 5, false, "0 0.2 0.4 0.6 0.8 1.0"},
		{Range{-200, 620}, 6, false, "-200 0 200 400 600"},
		{Range{1, 7}, 3, false, "2 4 6"},
		{Range{0, 1e7}, 5, false, "0 2e6 4e6 6e6 8e6 1e7"},
		{Range{1e-6, 3e-6}, 3, false, "1e-6 2e-6 3e-6"},
		{Range{3, 3}, 2, false, "2.5 3.0 3.5"},
		{Range{1e17, 1e17}, 2, false, "9.99e16 1e17 1.001e17"},
		{Range{-1e308, 1.7e308}, 3, false, "-1e308 0 1e308"},
		{empty, 2, false, "0 0.5 1.0"},
		{Range{0, 1}, 5, true, "0 1"}, // there is no generation 0.2
		{Range{1, 3}, 8, true, "1 2 3"},
		{Range{1, 1}, 8, true, "1"},
		{Range{0, 1e7}, 5, true, "0 2e6 4e6 6e6 8e6 1e7"},
	} {
		r := c.of.usable()
		var labels []string
		for _, k := range r.ticks(c.most, c.whole) {
			labels = append(labels, k.text)
			if v, err := strconv.ParseFloat(k.text, 64); v != 0 {
				require.NoError(t, err)
				require.InEpsilon(t, k.value, v, 1e-9, "case %d", i+1)
			}
		}
		require.Equal(t, c.want, strings.Join(labels, " "), "case %d", i+1)
	}
}

// sampleChart has a mark of every kind.
func sampleChart() *Chart {
	c := &Chart{Title: "first & <second>", XLabel: "x", YLabel: "naïve y"}
	blue, red := color.RGBA{0, 0, 255, 255}, color.RGBA{255, 0, 0, 255}
	line := Line{Points: []Point{{0, 0}, {5, 10}, {10, 0}}, Color: blue, Width: 3}
	c.Add(Heat{2, 2, func(row, column int) float64 { return []float64{-1, 1, 0, math.NaN()}[2*row+column] }})
	c.Add(Band{[]Point{{0, 2}, {10, 2}}, []Point{{0, 4}, {10, 4}}, color.RGBA{0, 255, 0, 255}})
	c.Add(Spikes{[]Point{{3, 8}}, red})
	c.Add(Dots{[]Point{{8, 8}}, red, 4})
	c.Add(line)
	line.Dashes = []float64{4, 2}
	c.Add(line)
	c.Legend("a line", line)
	c.Legend("dots", Dots{nil, red, 4})
	c.Legend(strings.Repeat("long ", 20), line) // does not fit beside the others
	return c
}

func TestRasterFormats(t *testing.T) {
	var first image.Image
	for _, format := range []string{"png", "jpg", "tiff"} {
		data, err := Draw(format, 400, 300, []*Chart{sampleChart(), sampleChart()})
		require.NoError(t, err)
		picture, _, err := image.Decode(bytes.NewReader(data))
		require.NoError(t, err, format)
		require.Equal(t, 400, picture.Bounds().Dx())
		if first == nil {
			first = picture
		}
		require.Equal(t, 300+2*int(lineHeight), picture.Bounds().Dy(), "%s: the legend takes no room of the marks",
			format)
		count := func(match func(r, g, b int) bool) (n int) {
			for y := range picture.Bounds().Dy() {
				for x := range picture.Bounds().Dx() {
					r, g, b, a := picture.At(x, y).RGBA()
					if format == "tiff" { // no pixel is lost
						wr, wg, wb, wa := first.At(x, y).RGBA()
						require.Equal(t, [4]uint32{wr, wg, wb, wa}, [4]uint32{r, g, b, a}, "%d, %d", x, y)
					}
					if match(int(r>>8), int(g>>8), int(b>>8)) {
						n++
					}
				}
			}
			return n
		}
		require.Greater(t, count(func(r, g, b int) bool {
			return b > 200 && r < 60 && g < 60
		}), 500, "%s: lines", format)
		require.Greater(t, count(func(r, g, b int) bool { return r > 230 && g < 30 && b < 30 }), 60, "%s: dots", format)
		require.Greater(t, count(func(r, g, b int) bool {
			return g > 250 && r < 225 && b < 225
		}), 2000, "%s: band", format)
	}
	_, err := Draw("gif", 10, 10, []*Chart{{}})
	require.ErrorContains(t, err, `unknown format "gif", want one of png, svg`)
}

func TestSVG(t *testing.T) {
	data, err := Draw("svg", 400, 300, []*Chart{sampleChart()})
	require.NoError(t, err)
	in := xml.NewDecoder(bytes.NewReader(data))
	elements, text := map[string]int{}, ""
	for {
		token, err := in.Token()
		if err == io.EOF {
			break
		}
		require.NoError(t, err)
		switch token := token.(type) {
		case xml.StartElement:
			elements[token.Name.Local]++
		case xml.CharData:
			text += string(token)
		}
	}
	require.Equal(t, 1, elements["svg"])
	require.Greater(t, elements["path"], 15)
	require.Contains(t, text, "first & <second>")
	require.Contains(t, text, "naïve y")
}

// Objects lie where the table says, the content is whole, and each operator has its operands.
func TestPDF(t *testing.T) {
	data, err := Draw("pdf", 400, 300, []*Chart{sampleChart()})
	require.NoError(t, err)
	table := regexp.MustCompile(`(?m)^(\d{10}) 00000 n $`).FindAllSubmatch(data, -1)
	require.Len(t, table, 4)
	for i, row := range table {
		offset, err := strconv.Atoi(string(row[1]))
		require.NoError(t, err)
		require.True(t, bytes.HasPrefix(data[offset:], fmt.Appendf(nil, "%d 0 obj\n", i+1)))
	}
	start := regexp.MustCompile(`startxref\n(\d+)\n%%EOF\n$`).FindSubmatch(data)
	offset, err := strconv.Atoi(string(start[1]))
	require.NoError(t, err)
	require.True(t, bytes.HasPrefix(data[offset:], []byte("xref\n0 5\n")))
	require.Regexp(t, `/a50 << /ca 0.196 /CA 0.196 >>`, string(data))

	stream := regexp.MustCompile(`(?s)/Length (\d+) /Filter /FlateDecode >>\nstream\n(.*)\nendstream`).FindSubmatch(
		data)
	require.Equal(t, strconv.Itoa(len(stream[2])), string(stream[1]))
	z, err := zlib.NewReader(bytes.NewReader(stream[2]))
	require.NoError(t, err)
	content, err := io.ReadAll(z)
	require.NoError(t, err)
	checkOperators(t, content)
}

func TestEPS(t *testing.T) {
	data, err := Draw("eps", 400, 300, []*Chart{sampleChart()})
	require.NoError(t, err)
	require.Regexp(t, `^%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 300 \d+\n`, string(data))
	_, body, found := strings.Cut(string(data), "scale\n")
	require.True(t, found)
	body, _, found = strings.Cut(body, "grestore")
	require.True(t, found)
	for operator := range checkOperators(t, []byte(body)) {
		require.Contains(t, prologue, "/"+operator+" {")
	}
}

// checkOperators fails if an operator has a wrong number of operands, or one that is not finite.
func checkOperators(t *testing.T, content []byte) map[string]bool {
	t.Helper()
	operands := map[string]int{"m": 2, "l": 2, "h": 0, "f": 0, "S": 0, "w": 1, "J": 1, "j": 1, "d": 1, "rg": 3, "RG": 3,
		"cm": 6, "gs": 0}
	seen := map[string]bool{}
	text := regexp.MustCompile(`\[[^]]*\]|/a\d+`).ReplaceAllString(string(content), "")
	pending := 0
	for _, word := range strings.Fields(text) {
		if want, ok := operands[word]; ok {
			require.Equal(t, want, pending, "operands of %s", word)
			pending, seen[word] = 0, true
			continue
		}
		v, err := strconv.ParseFloat(word, 64)
		require.NoError(t, err)
		require.False(t, math.IsNaN(v) || math.IsInf(v, 0))
		pending++
	}
	return seen
}

func TestDashes(t *testing.T) {
	line := []Point{{0, 0}, {4, 0}, {10, 0}}
	require.Equal(t, [][]Point{{{0, 0}, {3, 0}}, {{5, 0}, {8, 0}}}, dashed([][]Point{line}, []float64{3, 2}))
	require.Equal(t, [][]Point{{{0, 0}, {4, 0}, {7, 0}}, {{9, 0}, {10, 0}}}, dashed([][]Point{line}, []float64{7, 2}))
}

// A picture inside of a page has no background, and the text's color of the page. Marks keep their colors.
func TestInline(t *testing.T) {
	c := &Chart{XLabel: "x"}
	c.Add(Line{Points: []Point{{0, 1}, {1, 2}}, Color: color.RGBA{1, 2, 3, 255}, Width: 1})
	picture, err := Draw(Inline, 200, 100, []*Chart{c})
	require.NoError(t, err)
	require.NotContains(t, string(picture), "<rect")
	require.NotContains(t, string(picture), "#282828")
	require.Contains(t, string(picture), `fill="currentColor"`)
	require.Contains(t, string(picture), `stroke="currentColor" stroke-opacity="0.16"`)
	require.Contains(t, string(picture), `stroke="#010203"`)
	own, err := Draw("svg", 200, 100, []*Chart{c})
	require.NoError(t, err)
	require.Contains(t, string(own), `fill="#fff"`)
	require.Contains(t, string(own), `fill="#282828"`)
	require.NotContains(t, string(own), "currentColor")
}

// A long text of the legend, or title, ran off the picture.
func TestLongTexts(t *testing.T) {
	const width = 300.
	c := Chart{}
	long := "first-" + strings.Repeat("x", 200) + "-last"
	for _, text := range []string{"short", long, "ü" + long} {
		c.Legend(text, Line{})
	}
	for _, line := range c.legendLines(width) {
		wide := 0.
		for _, e := range line {
			wide += sampleWidth + 6 + textWidth(e.text)
		}
		require.LessOrEqual(t, wide, width-2*margin)
	}
	text := fitted(long, 200)
	require.Regexp(t, `^first-x+…x+-last$`, text)
	require.LessOrEqual(t, textWidth(text), 200.)
	require.Equal(t, "short", fitted("short", 200))
	require.Empty(t, fitted("", 0))
	require.Equal(t, "…b", fitted("ab", 1), "no room at all")
}
