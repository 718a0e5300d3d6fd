package runfolder

import (
	"bytes"
	"cmp"
	"errors"
	"image"
	"image/color"
	"image/draw"
	"image/gif"
	"maps"
	"slices"
	"sort"
	"time"
)

// Animation collects the frames of a GIF. Of each frame it keeps only the rectangle that differs from the frame before,
// as runs of one color, so that long animations fit into memory.
type Animation struct {
	size    image.Rectangle
	last    *image.RGBA // the last frame, whole
	patches []patch     // of each frame
	delays  []int       // hundredths of a second
}

// patch is a rectangle of a frame, row by row.
type patch struct {
	rect image.Rectangle
	runs []run
}

// run is a number of pixels of one color.
type run struct {
	color  color.RGBA
	pixels int32
}

// Add appends a frame, which is shown for the delay. All frames have the same size. The frame must not change before
// the next call.
func (a *Animation) Add(frame image.Image, delay time.Duration) error {
	b := frame.Bounds()
	if a.last == nil {
		a.size = image.Rectangle{Max: b.Size()}
	} else if b.Size() != a.size.Size() {
		return errors.New("the frames of a GIF differ in size")
	}
	now, ok := frame.(*image.RGBA)
	if !ok || now.Rect != a.size {
		now = image.NewRGBA(a.size)
		draw.Draw(now, a.size, frame, b.Min, draw.Src)
	}
	r := a.size
	if a.last != nil {
		r = changed(a.last, now)
	}
	a.last = now
	a.patches = append(a.patches, patch{r, runsOf(now, r)})
	a.delays = append(a.delays, max(2, int(delay/(10*time.Millisecond)))) // viewers slow down shorter delays
	return nil
}

// GIF encodes the frames as an endless animation with their 256 most frequent colors. Other colors become the nearest
// one of these.
func (a *Animation) GIF() ([]byte, error) {
	if len(a.patches) == 0 {
		return nil, errors.New("no frames to make a GIF of")
	}
	colors := frequentColors(a.patches)
	index := map[color.RGBA]uint8{}
	out := gif.GIF{Config: image.Config{ColorModel: colors, Width: a.size.Dx(), Height: a.size.Dy()}, Delay: a.delays}
	for _, p := range a.patches {
		shown := image.NewPaletted(p.rect, colors)
		offset := 0
		for _, r := range p.runs {
			i, ok := index[r.color]
			if !ok {
				i = uint8(colors.Index(r.color))
				index[r.color] = i
			}
			for range r.pixels {
				shown.Pix[offset] = i
				offset++
			}
		}
		out.Image = append(out.Image, shown)
		out.Disposal = append(out.Disposal, gif.DisposalNone)
	}
	var b bytes.Buffer
	if err := gif.EncodeAll(&b, &out); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// runsOf returns a rectangle of an image as runs: pictures of environments are mostly background.
func runsOf(img *image.RGBA, rect image.Rectangle) (runs []run) {
	var last run
	for y := rect.Min.Y; y < rect.Max.Y; y++ {
		for row := img.Pix[img.PixOffset(rect.Min.X, y):][:4*rect.Dx()]; len(row) > 0; row = row[4:] {
			c := color.RGBA{row[0], row[1], row[2], row[3]}
			if c != last.color && last.pixels > 0 {
				runs = append(runs, last)
				last.pixels = 0
			}
			last = run{c, last.pixels + 1}
		}
	}
	return append(runs, last)
}

// frequentColors returns at most 256 colors of the patches, the most frequent first.
func frequentColors(patches []patch) color.Palette {
	count := map[color.RGBA]int{}
	for _, p := range patches {
		for _, r := range p.runs {
			count[r.color] += int(r.pixels)
		}
	}
	sorted := slices.Collect(maps.Keys(count))
	sort.Slice(sorted, func(i, j int) bool {
		a, b := sorted[i], sorted[j]
		return cmp.Or(count[b]-count[a], cmp.Compare(a.R, b.R), cmp.Compare(a.G, b.G), cmp.Compare(a.B, b.B),
			cmp.Compare(a.A, b.A)) < 0
	})
	var colors color.Palette
	for _, c := range sorted[:min(len(sorted), 256)] {
		colors = append(colors, c)
	}
	return colors
}

// changed returns the smallest rectangle that contains all pixels that differ, or one pixel if none does.
func changed(a, b *image.RGBA) image.Rectangle {
	r := image.Rectangle{}
	for y := range b.Rect.Dy() {
		rowA, rowB := a.Pix[y*a.Stride:][:4*a.Rect.Dx()], b.Pix[y*b.Stride:][:4*b.Rect.Dx()]
		if bytes.Equal(rowA, rowB) {
			continue
		}
		left, right := 0, len(rowA)
		for rowA[left] == rowB[left] {
			left++
		}
		for rowA[right-1] == rowB[right-1] {
			right--
		}
		r = r.Union(image.Rect(left/4, y, (right+3)/4, y+1))
	}
	if r.Empty() {
		return image.Rect(0, 0, 1, 1)
	}
	return r
}
