package scalars

import (
	"math"
	"slices"
)

// value is what an operation of a recorded function computes.
type value struct {
	op    op
	in    []Num // conditions too
	home  *region
	block *block // of a block, its parameters and its results
	place int    // of an input, a parameter or a result
	order int    // the number of values that were recorded before
}

// region is a list of operations: the function itself, or the body of a block in it.
type region struct {
	*recorder
	outer *region
	depth int
	loop  bool // operations that do not depend on it are recorded outside
	code  []*value
	found map[key]*value
}

type recorder struct {
	current *region
	values  int
}

// key is what equal operations have in common.
type key struct {
	op   op
	v    [3]*value
	bits [3]uint64
}

// enter begins a region in the current one.
func (r *recorder) enter(loop bool) *region {
	g := &region{recorder: r, outer: r.current, loop: loop, found: map[key]*value{}}
	if g.outer != nil {
		g.depth = g.outer.depth + 1
	}
	r.current = g
	return g
}

func (g *region) leave() { g.current = g.outer }

// add appends a value to the region.
func (g *region) add(v *value) *value {
	v.home, v.order = g, g.values
	g.values++
	g.code = append(g.code, v)
	return v
}

// recorderOf is the recorder of the values among xs; nil: all are known.
func recorderOf(xs ...[]Num) *recorder {
	for _, list := range xs {
		for _, x := range list {
			if x.v != nil {
				return x.v.home.recorder
			}
		}
	}
	return nil
}

// deepest is the innermost region that has one of xs. All must be visible in the current region.
func (r *recorder) deepest(xs ...Num) (home *region) {
	for _, x := range xs {
		if x.v == nil {
			continue
		}
		g := r.current
		for g != nil && g != x.v.home {
			g = g.outer
		}
		if g == nil {
			fail("Record", "a number was used outside of the function or the loop's body that it belongs to: "+
				"return it from there")
		}
		if home == nil || g.depth > home.depth {
			home = g
		}
	}
	return home
}

// record is the value of an operation, of which an operand is not known.
func record(o op, in ...Num) Num {
	if o == opAdd || o == opMul || o == opMin || o == opMax || o == opAnd || o == opOr || o == opEq {
		if x, y := in[0], in[1]; x.v == nil || y.v != nil && y.v.order < x.v.order { // one order for equal operations
			in[0], in[1] = y, x
		}
	}
	k := key{op: o}
	for i, x := range in {
		k.v[i], k.bits[i] = x.v, math.Float64bits(x.c)
	}
	r := recorderOf(in)
	home := r.deepest(in...)
	for g := r.current; g != nil; g = g.outer {
		if v := g.found[k]; v != nil {
			return Num{v: v}
		}
	}
	g := r.current
	for g != home && g.loop {
		g = g.outer
	}
	v := g.add(&value{op: o, in: in})
	g.found[k] = v
	return Num{v: v}
}

type blockKind uint8

const (
	scanBlock blockKind = iota
	repeatBlock
	whenBlock
)

// block is a loop, or operations that few members need.
type block struct {
	kind   blockKind
	body   *region
	rows   [][]float64 // scan: the numbers of each iteration that differ
	most   int         // repeat: the greatest number of iterations
	params []*value    // the carry, and then a row's numbers
	init   []Num       // the carry before; when: the values otherwise
	next   []Num       // the carry after an iteration; when: the values
	last   []Num       // scan: further values of the last iteration
	again  Cond        // repeat: whether another iteration follows; when: whether the values are wanted
	result []*value    // next and last
	head   *value      // the block itself
}

// close records the block in the region around it, and returns its results.
func (b *block) close() []Num {
	g := b.body.outer
	b.head = g.add(&value{op: opBlock, block: b})
	out := make([]Num, len(b.next)+len(b.last))
	for i := range out {
		v := g.add(&value{op: opResult, block: b, place: i})
		b.result = append(b.result, v)
		out[i] = Num{v: v}
	}
	return out
}

func (b *block) param() Num {
	v := b.body.add(&value{op: opParam, block: b, place: len(b.params)})
	b.params = append(b.params, v)
	return Num{v: v}
}

// loop records a loop whose carry begins with init. Numbers of the carry that are known and stay what they are remain
// known in its body.
func (r *recorder) loop(kind blockKind, init []Num, body func(b *block, carry []Num)) []Num {
	fixed := make([]bool, len(init))
	for i, x := range init {
		fixed[i] = x.v == nil
	}
	for {
		b := &block{kind: kind, body: r.enter(true)}
		carry := slices.Clone(init)
		for i, x := range init {
			if !fixed[i] {
				carry[i] = b.param()
				b.init = append(b.init, x)
			}
		}
		body(b, carry)
		b.body.leave()
		next, stable := b.next, true
		b.next = nil
		for i, x := range next {
			if fixed[i] && !same(x, init[i]) {
				fixed[i], stable = false, false
			}
			if !fixed[i] {
				b.next = append(b.next, x)
			}
		}
		if !stable {
			continue
		}
		results := b.close()
		out := slices.Clone(init)
		for i := range out {
			if !fixed[i] {
				out[i], results = results[0], results[1:]
			}
		}
		return append(out, results...)
	}
}

// Scan runs body on the carry once for each row of numbers, such as the rows of a Runge-Kutta tableau, and returns the
// last carry, and of the last iteration what body returns beside it. Rows may be empty: then only their number counts.
func Scan(rows [][]float64, init []Num, body func(carry, row []Num) (next, last []Num)) (carry, last []Num) {
	if len(rows) == 0 {
		fail("Scan", "there are no rows, want at least one")
	}
	for i, row := range rows {
		if len(row) != len(rows[0]) {
			fail("Scan", "row %d has %d numbers, want %d as the first", i, len(row), len(rows[0]))
		}
	}
	step := func(carry, row []Num) (next, last []Num) {
		next, last = body(carry, row)
		if len(next) != len(carry) {
			fail("Scan", "the body returned a carry of %d numbers, want %d as before", len(next), len(carry))
		}
		return next, last
	}
	carry = init
	if r := recorderOf(init); r != nil && len(rows) > 1 {
		return r.scan(rows, init, step)
	}
	for _, row := range rows {
		known := make([]Num, len(row))
		for j, x := range row {
			known[j] = Known(x)
		}
		carry, last = step(carry, known)
		if r := recorderOf(carry, last); r != nil && len(rows) > 1 {
			return r.scan(rows, init, step)
		}
	}
	return carry, last
}

func (r *recorder) scan(rows [][]float64, init []Num,
	step func(carry, row []Num) (next, last []Num)) (carry, last []Num) {
	out := r.loop(scanBlock, init, func(b *block, carry []Num) {
		b.rows = make([][]float64, len(rows))
		row := make([]Num, len(rows[0]))
		for j := range row {
			if slices.ContainsFunc(rows, func(r []float64) bool { return !same(Known(r[j]), Known(rows[0][j])) }) {
				row[j] = b.param()
				for i := range rows {
					b.rows[i] = append(b.rows[i], rows[i][j])
				}
			} else {
				row[j] = Known(rows[0][j])
			}
		}
		b.next, b.last = step(carry, row)
	})
	return out[:len(init)], out[len(init):]
}

// Repeat runs body on the carry until it says that another iteration is not needed, at least once and at most so many
// times. Members end when they are ready: what a member's carry is does not depend on the others.
func Repeat(most int, init []Num, body func(carry []Num) (next []Num, again Cond)) []Num {
	if most < 1 {
		fail("Repeat", "got at most %d iterations, want at least one", most)
	}
	step := func(carry []Num) ([]Num, Cond) {
		next, again := body(carry)
		if len(next) != len(carry) {
			fail("Repeat", "the body returned a carry of %d numbers, want %d as before", len(next), len(carry))
		}
		return next, again
	}
	traced := func(r *recorder) []Num {
		return r.loop(repeatBlock, init, func(b *block, carry []Num) {
			b.most = most
			b.next, b.again = step(carry)
		})
	}
	if r := recorderOf(init); r != nil && most > 1 {
		return traced(r)
	}
	carry := init
	for range most {
		next, again := step(carry)
		if again.is(false) || most == 1 {
			return next
		}
		if r := recorderOf(next, []Num{{v: again.v}}); r != nil {
			return traced(r)
		}
		carry = next
	}
	return carry
}

// When is f() where c holds, and otherwise elsewhere. Unlike by Select, f's operations are skipped if c holds for none
// of the members that a kernel computes together.
func When(c Cond, f func() []Num, otherwise []Num) []Num {
	if c.v == nil {
		if c.c {
			return f()
		}
		return otherwise
	}
	b := &block{kind: whenBlock, again: c, body: c.v.home.enter(false)}
	out := slices.Clone(f())
	b.body.leave()
	if len(out) != len(otherwise) {
		fail("When", "the function returned %d numbers, want %d as there are otherwise", len(out), len(otherwise))
	}
	var differ []int
	for i, x := range out {
		if !same(x, otherwise[i]) {
			differ = append(differ, i)
			b.next, b.init = append(b.next, x), append(b.init, otherwise[i])
		}
	}
	for k, x := range b.close() {
		out[differ[k]] = x
	}
	return out
}

// Program is a recorded function.
type Program struct {
	root   *region
	inputs [][]*value // as they are given
	outs   [][]Num
}

// Record records a function of vectors of so many numbers.
func Record(widths []int, f func(in [][]Num) [][]Num) *Program {
	r := &recorder{}
	p := &Program{root: r.enter(false)}
	in := make([][]Num, len(widths))
	for i, n := range widths {
		vector := make([]*value, n)
		in[i] = make([]Num, n)
		for j := range vector {
			vector[j] = p.root.add(&value{op: opInput, place: j})
			in[i][j] = Num{v: vector[j]}
		}
		p.inputs = append(p.inputs, vector)
	}
	p.outs = f(in)
	for _, out := range p.outs {
		r.deepest(out...)
	}
	return p
}
