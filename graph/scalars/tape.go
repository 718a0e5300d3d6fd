package scalars

import (
	"math"
	"slices"
)

// The instructions of a tape, in the order of xlabridge/kernels/tape.h. x, y and z are registers that are read.
const (
	tapeAdd    = iota // out x y
	tapeSub           // out x y
	tapeMul           // out x y
	tapeDiv           // out x y
	tapeMin           // out x y
	tapeMax           // out x y
	tapeNeg           // out x
	tapeAbs           // out x
	tapeSqrt          // out x
	tapeSin           // out x
	tapeCos           // out x
	tapeLt            // out x y
	tapeLe            // out x y
	tapeEq            // out x y
	tapeAnd           // out x y
	tapeOr            // out x y
	tapeNot           // out x
	tapeSelect        // out x y z: y where x holds, else z
	tapeFma           // out x y z: x y + z
	tapeFms           // out x y z: x y - z
	tapeFnma          // out x y z: z - x y
	tapeDot           // out n, then n terms x y, added from the first: ^x is minus x, and a first y of -1 is none
	tapeMove          // out x
	tapeTrue          // out
	tapeRow           // out at width: the number at + width times the iterations before
	tapeLoop          // n: so many iterations follow
	tapeNext          // ends an iteration
	tapeWhile         // x n m, then n registers: ends an iteration, and the loop if x holds nowhere; see brought
	tapeSkip          // x words: goes on after so many words if x holds nowhere
	tapeEnd           // of what a skip leaves out; not on the tape
)

// Tape is a program for the kernel xlarun_tape.
type Tape struct {
	// Code is the number of registers that are computed, of registers with constants after them, and of words of
	// instructions; the instructions; and the registers of the results. Inputs are in the first registers.
	Code []int32
	// Numbers are the constants, and then the rows of scans.
	Numbers []float64
}

// instruction is one before registers are given out. Registers are numbers of slots.
type instruction struct {
	op    int32
	out   int // -1: none
	in    []int
	minus []bool // of a dot's terms
	extra []int32
	first bool  // the dot's first term is a product
	carry []int // of a while
}

// assembler makes a tape.
type assembler struct {
	readers   map[*value]int
	code      []instruction
	absorbed  map[*value]bool // by a sum that alone reads them
	slot      map[*value]int
	slots     int
	constants map[uint64]int // slots, by the number's bits
	numbers   []float64
	ofNumber  []int // slots of numbers
	rows      []float64
	inputs    int
	outs      []int
}

// Tape is the function as a tape.
func (p *Program) Tape() *Tape {
	a := &assembler{readers: p.readers(), absorbed: map[*value]bool{}, slot: map[*value]int{},
		constants: map[uint64]int{}}
	for _, vector := range p.inputs {
		for _, v := range vector {
			a.slot[v] = a.newSlot()
		}
	}
	a.inputs = a.slots
	a.region(p.root)
	for _, out := range p.outs {
		for _, x := range out {
			a.outs = append(a.outs, a.operand(x))
		}
	}
	a.removeUnread()
	a.removeCopies()
	return a.assemble()
}

func (a *assembler) newSlot() int {
	a.slots++
	return a.slots - 1
}

func (a *assembler) operand(x Num) int {
	if x.v != nil {
		return a.slot[x.v]
	}
	bits := math.Float64bits(x.c)
	s, ok := a.constants[bits]
	if !ok {
		s = a.newSlot()
		a.constants[bits] = s
		a.numbers, a.ofNumber = append(a.numbers, x.c), append(a.ofNumber, s)
	}
	return s
}

func (a *assembler) emit(op int32, out int, in ...int) {
	a.code = append(a.code, instruction{op: op, out: out, in: in})
}

// emitNew emits an instruction with a result of its own.
func (a *assembler) emitNew(op int32, in ...int) int {
	s := a.newSlot()
	a.emit(op, s, in...)
	return s
}

func (a *assembler) region(g *region) {
	sums := a.sums(g)
	for _, v := range g.code {
		switch {
		case a.readers[v] == 0 || v.op == opInput || v.op == opParam || v.op == opResult || a.absorbed[v]:
		case v.op == opBlock:
			a.block(v.block)
		case sums[v] != nil:
			a.slot[v] = a.sum(sums[v])
		default:
			in := make([]int, len(v.in))
			for i, x := range v.in {
				in[i] = a.operand(x)
			}
			a.slot[v] = a.emitNew(tapeAdd+int32(v.op-opAdd), in...)
		}
	}
}

// term is a product, or x alone.
type term struct {
	minus, product bool
	x, y           Num
}

// sums are the terms of a region's sums. Products and sums that only another sum reads are part of that one.
func (a *assembler) sums(g *region) map[*value][]term {
	alone := func(x Num, ops ...op) bool {
		return x.v != nil && x.v.home == g && a.readers[x.v] == 1 && slices.Contains(ops, x.v.op)
	}
	leaf := func(x Num, minus bool) term {
		if x.negated() {
			own := alone(x, opNeg)
			if x, minus = x.v.in[0], !minus; !own {
				return term{minus: minus, x: x}
			}
		}
		if alone(x, opMul) {
			a.absorbed[x.v] = true
			return term{minus, true, x.v.in[0], x.v.in[1]}
		}
		return term{minus: minus, x: x}
	}
	var terms func(v *value, minus bool) []term
	terms = func(v *value, minus bool) []term {
		x, y := v.in[0], v.in[1]
		minusY := minus != (v.op == opSub)
		if !alone(x, opAdd, opSub) {
			x, minus, y, minusY = y, minusY, x, minus
			if !alone(x, opAdd, opSub) {
				return []term{leaf(y, minusY), leaf(x, minus)}
			}
		}
		a.absorbed[x.v] = true
		return append(terms(x.v, minus), leaf(y, minusY))
	}
	all := map[*value][]term{}
	for _, v := range slices.Backward(g.code) {
		if (v.op == opAdd || v.op == opSub) && a.readers[v] > 0 && !a.absorbed[v] {
			all[v] = terms(v, false)
		}
	}
	return all
}

// sum emits a sum.
func (a *assembler) sum(t []term) int {
	if len(t) == 2 && t[0].product != t[1].product {
		p, z := t[0], t[1]
		if z.product {
			p, z = z, p
		}
		if op := map[[2]bool]int32{{false, false}: tapeFma, {false, true}: tapeFms, {true, false}: tapeFnma}[[2]bool{
			p.minus, z.minus}]; op != 0 {
			return a.emitNew(op, a.operand(p.x), a.operand(p.y), a.operand(z.x))
		}
		t = []term{z, p}
	}
	if len(t) == 2 && !t[0].product && !(t[0].minus && t[1].minus) {
		x, y := t[0], t[1]
		if x.minus {
			x, y = y, x
		}
		if !y.product {
			op := int32(tapeAdd)
			if y.minus {
				op = tapeSub
			}
			return a.emitNew(op, a.operand(x.x), a.operand(y.x))
		}
	}
	in := instruction{op: tapeDot, out: a.newSlot(), first: t[0].product}
	for i, t := range t {
		if !t.product {
			if t.y = Known(1); i == 0 {
				t.y = t.x // not read
			}
		}
		in.in, in.minus = append(in.in, a.operand(t.x), a.operand(t.y)), append(in.minus, t.minus)
	}
	a.code = append(a.code, in)
	return in.out
}

// block emits a loop or a When.
func (a *assembler) block(b *block) {
	if b.kind == whenBlock {
		for i, x := range b.init {
			a.slot[b.result[i]] = a.emitNew(tapeMove, a.operand(x))
		}
		wanted := a.slot[b.again.v]
		a.emit(tapeSkip, -1, wanted)
		a.region(b.body)
		for i, x := range b.next {
			own := a.slot[b.result[i]]
			a.emit(tapeSelect, own, wanted, a.operand(x), own)
		}
		a.emit(tapeEnd, -1)
		return
	}
	for i, v := range b.params {
		if i < len(b.init) {
			a.slot[v] = a.emitNew(tapeMove, a.operand(b.init[i]))
			a.slot[b.result[i]] = a.slot[v]
		}
	}
	trips, running := len(b.rows), -1
	if b.kind == repeatBlock {
		switch trips = b.most; {
		case b.again.v != nil:
			running = a.emitNew(tapeTrue)
		case !b.again.c:
			trips = 1
		}
	}
	a.code = append(a.code, instruction{op: tapeLoop, out: -1, extra: []int32{int32(trips)}})
	if n := len(b.params) - len(b.init); n > 0 {
		for j, v := range b.params[len(b.init):] {
			a.slot[v] = a.newSlot()
			at := []int32{int32(len(a.rows) + j), int32(n)}
			a.code = append(a.code, instruction{op: tapeRow, out: a.slot[v], extra: at})
		}
		a.rows = append(a.rows, slices.Concat(b.rows...)...)
	}
	a.region(b.body)
	carry := make([]int, len(b.init))
	for i := range carry {
		carry[i] = a.slot[b.params[i]]
	}
	// What is in the carry's slots is read before any of them changes. Results of inner loops may be there too.
	after := func(x Num, i int) int {
		s := a.operand(x)
		if k := slices.Index(carry, s); k >= 0 && k != i {
			return a.emitNew(tapeMove, s)
		}
		return s
	}
	for i, x := range b.last {
		a.slot[b.result[len(b.next)+i]] = after(x, -1)
	}
	next := make([]int, len(b.next))
	for i, x := range b.next {
		next[i] = after(x, i)
	}
	for i, own := range carry {
		switch {
		case next[i] == own:
		case running >= 0 && a.readers[b.result[i]] > 0: // members that are ready keep what is read of their carry
			a.emit(tapeSelect, own, running, next[i], own)
		default:
			a.emit(tapeMove, own, next[i])
		}
	}
	if running >= 0 {
		a.emit(tapeAnd, running, running, a.slot[b.again.v])
		a.code = append(a.code, instruction{op: tapeWhile, out: -1, in: []int{running}, carry: carry})
	} else {
		a.emit(tapeNext, -1)
	}
}

// removeUnread removes instructions whose results nothing reads.
func (a *assembler) removeUnread() {
	count := make([]int, a.slots)
	add := func(list []int, n int) {
		for _, s := range list {
			count[s] += n
		}
	}
	add(a.outs, 1)
	for _, in := range a.code {
		add(in.in, 1)
	}
	var kept []instruction
	for _, in := range slices.Backward(a.code) {
		if in.out >= 0 && count[in.out] == 0 {
			add(in.in, -1)
			continue
		}
		kept = append(kept, in)
	}
	slices.Reverse(kept)
	a.code = kept
}

// removeCopies removes a copy that a When changes, if nothing reads the original from then on: it changes that one.
// Where the original is of a loop's carry, the copy back at the end of an iteration is removed, too.
func (a *assembler) removeCopies() {
	never := len(a.code)
	// The loop that a slot is written in, -1 for none and for several, its first, second and last write, its last read.
	type use struct{ loop, first, second, last, read int }
	uses := slices.Repeat([]use{{-1, never, never, -1, -1}}, a.slots)
	loops, open := 0, []int{0}
	type copied struct{ from, to, loop int }
	back := map[copied]int{}
	for i, in := range a.code {
		switch in.op {
		case tapeLoop:
			loops++
			open = append(open, loops)
		case tapeNext, tapeWhile:
			open = open[:len(open)-1]
		}
		for _, s := range in.in {
			uses[s].read = i
		}
		if in.out < 0 {
			continue
		}
		u := &uses[in.out]
		loop := open[len(open)-1]
		if in.op == tapeMove {
			back[copied{in.in[0], in.out, loop}] = i
		}
		switch {
		case u.first == never:
			u.loop, u.first = loop, i
		case u.second == never:
			u.second = i
		}
		if u.last = i; u.loop != loop {
			u.loop = -1
		}
	}
	for _, s := range a.outs {
		uses[s].read = never
	}
	same := make([]int, a.slots)
	for s := range same {
		same[s] = s
	}
	var kept []instruction
	for i, in := range a.code {
		if in.out >= 0 {
			in.out = same[in.out]
		}
		rename(in.in, same)
		rename(in.carry, same)
		if in.op == tapeMove {
			x, own := &uses[in.in[0]], uses[in.out]
			end, carried := back[copied{in.out, in.in[0], own.loop}]
			carried = carried && x.second == end && x.last == end
			if (carried || x.loop >= 0 && x.loop == own.loop && x.last < i) && own.first == i && own.second < never &&
				x.read <= own.second {
				same[in.out] = in.in[0]
				x.last, x.read = own.last, own.read
				continue
			}
			if in.in[0] == in.out {
				continue
			}
		}
		kept = append(kept, in)
	}
	rename(a.outs, same)
	a.code = kept
}

func rename(slots, to []int) {
	for i, s := range slots {
		slots[i] = to[s]
	}
}

// lifetimes are the first and the last instruction of each slot. What a loop reads of before lasts until its end.
func (a *assembler) lifetimes() (first, last []int) {
	first, last = slices.Repeat([]int{-1}, a.slots), slices.Repeat([]int{-1}, a.slots)
	type loop struct{ start, end int }
	var loops []loop // inner ones first
	var open []int
	for i, in := range a.code {
		switch in.op {
		case tapeLoop:
			open = append(open, i)
		case tapeNext, tapeWhile:
			loops = append(loops, loop{open[len(open)-1], i})
			open = open[:len(open)-1]
		}
		for _, s := range in.in {
			last[s] = i
		}
		if in.out >= 0 {
			if first[in.out] < 0 && in.out >= a.inputs {
				first[in.out] = i
			}
			last[in.out] = i
		}
	}
	for s := range last {
		for _, l := range loops {
			if first[s] < l.start && last[s] > l.start && last[s] < l.end {
				last[s] = l.end
			}
		}
	}
	for _, s := range a.outs {
		last[s] = len(a.code)
	}
	return first, last
}

// brought are the slots that the iterations of a loop read of before: its carry, and then others, also of numbers. The
// kernel brings them to other registers, and the carry back, when few members are left in the loop.
func (a *assembler) brought(first []int, start, end int) []int {
	all := slices.Clone(a.code[end].carry)
	known := make([]bool, a.slots)
	for _, s := range all {
		known[s] = true
	}
	for _, in := range a.code[start : end+1] {
		for _, s := range in.in {
			if first[s] < start && !known[s] {
				all, known[s] = append(all, s), true
			}
		}
	}
	return all
}

// assemble gives out registers by last use and writes the words.
func (a *assembler) assemble() *Tape {
	first, last := a.lifetimes()
	register := make([]int32, a.slots)
	values := a.inputs
	for s := range a.inputs {
		register[s] = int32(s)
	}
	ends := make([][]int, len(a.code)+1)
	for s := range a.inputs {
		ends[max(last[s], 0)] = append(ends[max(last[s], 0)], s)
	}
	var free []int32
	for i, in := range a.code {
		for _, s := range ends[i] {
			free = append(free, register[s])
		}
		if in.out < 0 || first[in.out] != i {
			continue
		}
		if n := len(free); n > 0 {
			register[in.out], free = free[n-1], free[:n-1]
		} else {
			register[in.out] = int32(values)
			values++
		}
		if last[in.out] > i {
			ends[last[in.out]] = append(ends[last[in.out]], in.out)
		} else {
			free = append(free, register[in.out])
		}
	}
	for i, s := range a.ofNumber {
		register[s] = int32(values + i)
	}
	code := []int32{int32(values), int32(len(a.numbers)), 0}
	var skips []int // places of the words that say how far
	var loops []int
	for i, in := range a.code {
		if in.op == tapeEnd {
			at := skips[len(skips)-1]
			code[at], skips = int32(len(code)-at-1), skips[:len(skips)-1]
			continue
		}
		code = append(code, in.op)
		if in.out >= 0 {
			code = append(code, register[in.out])
		}
		switch in.op {
		case tapeLoop:
			loops = append(loops, i)
		case tapeNext:
			loops = loops[:len(loops)-1]
		case tapeWhile:
			all := a.brought(first, loops[len(loops)-1], i)
			loops = loops[:len(loops)-1]
			code = append(code, register[in.in[0]], int32(len(all)), int32(len(in.carry)))
			for _, s := range all {
				code = append(code, register[s])
			}
			continue
		case tapeDot:
			code = append(code, int32(len(in.minus)))
			for i, minus := range in.minus {
				x, y := register[in.in[2*i]], register[in.in[2*i+1]]
				if minus {
					x = ^x
				}
				if i == 0 && !in.first {
					y = -1
				}
				code = append(code, x, y)
			}
			continue
		case tapeRow:
			code = append(code, in.extra[0]+int32(len(a.numbers)), in.extra[1])
			continue
		}
		for _, s := range in.in {
			code = append(code, register[s])
		}
		code = append(code, in.extra...)
		if in.op == tapeSkip {
			skips = append(skips, len(code))
			code = append(code, 0)
		}
	}
	code[2] = int32(len(code) - 3)
	for _, s := range a.outs {
		code = append(code, register[s])
	}
	return &Tape{Code: code, Numbers: slices.Concat(a.numbers, a.rows)}
}
