package genericbench

import g "xlarun/graph"

func init() {
	add("bigram", func() In { return In{geni(1, 256, 64, 4096)} }, func(x In) In {
		pair := g.Add(g.Mul(g.SliceAxis(x[0], 1, 0, 4095), 256), g.SliceAxis(x[0], 1, 1, 4096))
		return In{g.ScatterAdd(g.Zeros(i32s(65536)), g.Flatten1D(pair), g.Ones(i32s(64*4095)))}
	})
	add("rollinghash", func() In { return In{geni(1, 256, 256, 4096)} }, func(x In) In {
		h, power := g.Zeros(i32s(256, 4089)), 1
		for k := range 8 {
			h = g.Add(h, g.Mul(g.SliceAxis(x[0], 1, k, k+4089), power))
			power = int(int32(power * 31))
		}
		return In{g.And(g.Xor(h, g.ShiftRightArithmetic(h, 15)), 65535)}
	})
	add("merge", func() In { return In{geni(1, 16, 64, 4096)} }, func(x In) In {
		return In{g.VMap(func(t A) A { // one step of byte-pair encoding: each 7, 9 becomes a 16
			pair := g.And(g.Eq(g.SliceAxis(t, 0, 0, 4095), 7), g.Eq(g.SliceAxis(t, 0, 1, 4096), 9))
			first, second := g.Pad(pair, false, []int{0}, []int{1}), g.Pad(pair, false, []int{1}, []int{0})
			keep := g.Not(second)
			at := g.Select(keep, g.Sub(g.CumSum(g.Convert(keep, g.Int32), 0), 1), 4096)
			return g.ScatterSet(g.Full(i32s(4096), -1), at, g.Select(first, 16, t))
		})(x[0])}
	})
	add("crc", func() In { return In{geni(1, 256, 256, 1024)} }, func(x In) In {
		words := make([]uint32, 256)
		for i := range words {
			c := uint32(i)
			for range 8 {
				c = c>>1 ^ c&1*0xEDB88320
			}
			words[i] = c
		}
		table := g.Uint32s(words, 256)
		all := g.Full(g.ShapeOf(g.Uint32), uint32(0xFFFFFFFF))
		c, _ := g.Scan(func(c, b A) (A, g.None) { // the checksums of 1024 strings
			i := g.And(g.Xor(c, b), g.Full(g.ShapeOf(g.Uint32), uint32(255)))
			return g.Xor(g.Take(table, i, 0), g.ShiftRightLogical(c, g.Full(g.ShapeOf(g.Uint32), uint32(8)))), g.None{}
		}, g.BroadcastTo(all, 1024), g.Convert(x[0], g.Uint32))
		return In{g.Xor(c, all)}
	})
	add("wordcount", func() In { return In{geni(1, 5000, 65536)} }, func(x In) In {
		s := g.Sort(x[0], 0)
		fresh := g.Concatenate(0, g.Ones(g.ShapeOf(g.Bool, 1)), g.Ne(g.SliceAxis(s, 0, 1, 65536), g.SliceAxis(s, 0, 0,
			65535)))
		id := g.Sub(g.CumSum(g.Convert(fresh, g.Int32), 0), 1)
		counts := g.SegmentSum(g.Ones(i32s(65536)), id, 5000)
		most, _ := g.TopK(counts, 16)
		return In{most, counts}
	})
}
