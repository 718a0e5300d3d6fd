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
	add("suffixes", func() In { return In{geni(1, 4, 4096)} }, func(x In) In { // the ranks of suffixes, by doubling
		const n = 4096
		i := g.Iota(n)
		rank, _ := g.Scan(func(rank, step A) (A, g.None) {
			second := g.Select(g.Lt(g.Add(i, step), n), g.Take(rank, g.Min(g.Add(i, step), n-1), 0), -1)
			key := g.Add(g.Mul(rank, n+1), g.Add(second, 1))
			order := g.ArgSort(key, 0)
			s := g.Take(key, order, 0)
			fresh := g.Convert(g.Ne(g.SliceAxis(s, 0, 1, n), g.SliceAxis(s, 0, 0, n-1)), g.Int32)
			return g.ScatterSet(g.Zeros(i32s(n)), order, g.CumSum(g.Pad(fresh, 0, []int{1}, []int{0}), 0)), g.None{}
		}, x[0], g.ShiftLeft(1, g.Iota(12)))
		return In{rank}
	})
	add("automaton", func() In { return In{geni(1, 64, 64*26), geni(2, 26, 1024, 256)} }, func(x In) In {
		type st struct{ State, Accepted A }
		e, _ := g.Scan(func(s st, c A) (st, g.None) { // of 64 states, over 256 strings
			next := g.Take(x[0], g.Add(g.Mul(s.State, 26), c), 0)
			return st{next, g.Add(s.Accepted, g.Convert(g.Lt(next, 8), g.Int32))}, g.None{}
		}, st{g.Zeros(i32s(256)), g.Zeros(i32s(256))}, x[1])
		return In{e.State, e.Accepted}
	})
	add("minhash", func() In { return In{geni(1, 1<<31, 256, 128), geni(2, 1<<31, 64), geni(3, 1<<31, 64)} },
		func(x In) In {
			u := func(x A) A { return g.Convert(x, g.Uint32) }
			one := g.Full(g.ShapeOf(g.Uint32), uint32(1))
			hash := g.Add(g.Mul(g.ExpandDims(u(x[0]), 2), g.Or(u(x[1]), one)), u(x[2]))
			least := g.ReduceMin(hash, 1) // of 256 documents, by 64 functions
			return In{g.Convert(g.ShiftRightLogical(least, g.Full(g.ShapeOf(g.Uint32), uint32(8))), g.Int32)}
		})
	add("runlength", func() In { return In{geni(1, 3, 64, 4096)} }, func(x In) In {
		return g.VMap(func(t A) In {
			changed := g.Ne(g.SliceAxis(t, 0, 1, 4096), g.SliceAxis(t, 0, 0, 4095))
			id := g.CumSum(g.Convert(g.Pad(changed, false, []int{1}, []int{0}), g.Int32), 0)
			return In{g.SegmentSum(g.Ones(i32s(4096)), id, 4096), g.ScatterSet(g.Full(i32s(4096), -1), id, t)}
		})(x[0])
	})
}
