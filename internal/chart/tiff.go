package chart

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"image"
)

// encodeTIFF returns an opaque picture as a TIFF file (revision 6.0): one strip of red, green and blue, compressed by
// Deflate (Adobe's technical notes of 2002). x/image/tiff would add its decoders to each program.
func encodeTIFF(picture *image.RGBA) ([]byte, error) {
	size := picture.Rect.Size()
	var strip bytes.Buffer
	z := zlib.NewWriter(&strip)
	row := make([]byte, 3*size.X)
	for y := range size.Y {
		for x := range size.X {
			copy(row[3*x:3*x+3], picture.Pix[picture.PixOffset(x, y):])
		}
		if _, err := z.Write(row); err != nil {
			return nil, err
		}
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	const short, long, rational = 3, 4, 5
	fields := [][4]int{{256, long, 1, size.X}, {257, long, 1, size.Y}, {258, short, 3, 0}, // bits of a sample
		{259, short, 1, 8}, {262, short, 1, 2}, {273, long, 1, 0}, // Deflate; RGB; where the strip is
		{277, short, 1, 3}, {278, long, 1, size.Y}, {279, long, 1, strip.Len()}, // samples, rows, bytes
		{282, rational, 1, 0}, {283, rational, 1, 0}, {296, short, 1, 2}} // pixels to an inch
	behind := 8 + 2 + 12*len(fields) + 4
	fields[2][3], fields[9][3], fields[10][3], fields[5][3] = behind, behind+6, behind+6, behind+14
	le := binary.LittleEndian
	out := le.AppendUint16(append([]byte("II*\x00"), 8, 0, 0, 0), uint16(len(fields)))
	for _, f := range fields {
		out = le.AppendUint16(le.AppendUint16(out, uint16(f[0])), uint16(f[1]))
		out = le.AppendUint32(le.AppendUint32(out, uint32(f[2])), uint32(f[3])) // a short is in the lower half
	}
	out = append(out, 0, 0, 0, 0, 8, 0, 8, 0, 8, 0, 72, 0, 0, 0, 1, 0, 0, 0) // no other picture; 3 x 8 bits; 72/1
	return append(out, strip.Bytes()...), nil
}
