package lower

import (
	"maps"
	"slices"

	"xlarun/graph"
	"xlarun/graph/internal/attr"
)

// Footprint is an estimate of the memory that a compiled program needs on one device, in bytes.
type Footprint struct {
	// Arguments and Results are the sizes of the arguments and of the results that reuse no donated argument.
	Arguments, Results int64
	// Temporaries is the size of all intermediate values that exist at one time.
	Temporaries int64
}

// Total is the memory that must be free to run the program.
func (f Footprint) Total() int64 { return f.Arguments + f.Results + f.Temporaries }

// Memory estimates the memory of the program for a target. It follows the life of each value that a compiler keeps
// in memory. Elementwise operations and those that only move data become part of the operations that read them, as in
// XLA's fusion. A value takes the place of one that is read for the last time, where XLA allows that: it must read each
// element where it writes one. Operations run in the order of the program, except copies, which XLA makes early.
func Memory(p *graph.Program, t graph.Target) (f Footprint, err error) {
	l, err := Lower(p, t)
	if err != nil {
		return f, err
	}
	for _, s := range p.Inputs {
		f.Arguments += int64(s.Bytes())
	}
	homes := map[int]int{}
	for in, out := range aliases(p, t) {
		homes[out] = in
	}
	for i, s := range p.Outputs {
		if _, ok := homes[i]; !ok {
			f.Results += int64(s.Bytes())
		}
	}
	f.Temporaries = footprintOf(l.Graph, t, homes)
	return f, nil
}

// place is memory that holds one value after the other.
type place struct {
	bytes       int64
	outside     bool // a parameter's: it is no temporary
	written     bool // its value may be replaced: a temporary, or a parameter that a result replaces
	begin, last int  // the nodes that write and read it, as numbers; last is the number of nodes for a result
	into        *place
}

// end is the place that p became a part of.
func (p *place) end() *place {
	for p.into != nil {
		p = p.into
	}
	return p
}

// lives are the values of one graph.
type lives struct {
	graph   *graph.Graph
	target  graph.Target
	users   map[*graph.Array][]int
	inits   map[*graph.Array]int // the number of loops whose carries begin with a value
	virtual map[*graph.Array]bool
	at      map[*graph.Array]*place    // of values in memory
	copies  []*place                   // of parameters that results replace
	reads   map[*graph.Array][]reading // of virtual values: what computing them reads
}

// reading is a place that computing a value reads.
type reading struct {
	*place
	same bool // each element is computed from the element at the same position
}

// footprintOf returns the largest size of temporaries of a graph at one time. homes has, by the number of a result, the
// number of the parameter in whose place it goes. Each parameter is in it at most once.
func footprintOf(g *graph.Graph, t graph.Target, homes map[int]int) int64 {
	v := &lives{graph: g, target: t, users: map[*graph.Array][]int{}, inits: map[*graph.Array]int{},
		virtual: map[*graph.Array]bool{},
		at:      map[*graph.Array]*place{}, reads: map[*graph.Array][]reading{}}
	for i, n := range g.Nodes {
		for _, a := range n.Inputs {
			v.users[a] = append(v.users[a], i)
		}
		if a, ok := n.Attrs.(attr.While); ok {
			begins := map[*graph.Array]bool{}
			for _, in := range n.Inputs[a.CondConsts+a.BodyConsts:] {
				if !begins[in] {
					v.inits[in]++
				}
				begins[in] = true
			}
		}
	}
	results := map[*graph.Array]bool{}
	for _, r := range g.Results {
		results[r] = true
	}
	for i := len(g.Nodes) - 1; i >= 0; i-- {
		for _, o := range g.Nodes[i].Outs {
			v.virtual[o] = !results[o] && v.fuses(g.Nodes[i], o)
		}
	}
	home := make([]*place, len(g.Params))
	for i, p := range g.Params {
		home[i] = &place{bytes: int64(p.Shape().Bytes()), outside: true, begin: -1, last: -1}
		v.at[p] = home[i]
	}
	for _, p := range homes {
		home[p].written = true
	}
	for i, n := range g.Nodes {
		v.lay(i, n)
	}
	for i, n := range g.Nodes {
		if len(n.Outs) == 0 || !v.virtual[n.Outs[0]] {
			for _, a := range n.Inputs {
				v.noteRead(a, i)
			}
		}
	}
	for _, r := range g.Results {
		v.noteRead(r, len(g.Nodes))
	}
	nested := make([]int64, len(g.Nodes))
	for i, n := range g.Nodes {
		nested[i] = v.reuse(i, n)
	}
	readers := v.readers(home)
	for _, result := range slices.Sorted(maps.Keys(homes)) {
		h := home[homes[result]]
		v.home(g.Results[result], h, readers[h])
	}
	for i, r := range g.Results {
		if _, ok := homes[i]; !ok {
			v.at[r].end().outside = true // it is counted as a result
		}
	}
	return v.most(nested)
}

// notFused are the operations that read and write memory. All others are fused.
var notFused = map[string]bool{"all_gather": true, "all_to_all": true, "argreduce": true, "cholesky": true,
	"conv": true, "counted": true, "custom_call": true, "debug": true, "dot_general": true, "function": true,
	"host_call": true, "optimization_barrier": true, "ppermute": true, "preduce": true, "reduce": true,
	"reduce_window": true, "scatter": true, "sort": true, "switch": true, "top_k": true, "triangular_solve": true,
	"while": true}

// fuses reports whether a result of a node is computed where it is read.
func (v *lives) fuses(n *graph.Node, o *graph.Array) bool {
	if len(n.Outs) != 1 || notFused[n.Op.Name] && !alone(n) {
		return false
	}
	if n.Op.Name == "constant" || n.Op.Name == "iota" {
		return true
	}
	distinct := map[int]bool{}
	for _, i := range v.users[o] {
		by := v.graph.Nodes[i]
		// XLA's library for CPUs reduces float32 with what makes it, and splits reductions of other types in two before
		// fusion. Accelerators fuse all of them.
		reduces := by.Op.Name == "reduce" && (v.target.Accelerator() || o.Shape().DType == graph.Float32)
		if notFused[by.Op.Name] && !reduces && !alone(by) {
			return false
		}
		distinct[i] = true
	}
	return len(distinct) <= 1 || n.Op.Name == "broadcast_in_dim"
}

// alone reports whether a node only hands its input on, since there is one device.
func alone(n *graph.Node) bool {
	switch n.Op.Name {
	case "all_gather", "preduce", "ppermute", "all_to_all":
		return n.Outs[0].Size() == n.Inputs[0].Size()
	}
	return false
}

// lay gives the results of node i a place, or notes what they read.
func (v *lives) lay(i int, n *graph.Node) {
	switch {
	case len(n.Outs) == 0:
		return
	case v.virtual[n.Outs[0]]:
		v.reads[n.Outs[0]] = v.readings(n)
		return
	}
	for k, o := range n.Outs {
		p := &place{bytes: int64(o.Shape().Bytes()), written: true, begin: i, last: i}
		if n.Op.Name == "optimization_barrier" || n.Op.Name == "reshape" {
			if in := v.at[n.Inputs[k]]; in != nil { // the same value
				p = in
			}
		}
		if n.Op.Name == "while" {
			a, body := n.Attrs.(attr.While), n.Bodies[1]
			in := v.at[n.Inputs[a.CondConsts+a.BodyConsts+k]]
			if in != nil && body.Results[k] == body.Params[a.BodyConsts+k] { // the loop only reads it
				p = in
			}
		}
		v.at[o] = p
	}
}

// sources returns what reading a value reads.
func (v *lives) sources(a *graph.Array) []reading {
	if p := v.at[a]; p != nil {
		return []reading{{p, true}}
	}
	return v.reads[a]
}

// readings returns what computing the result of a node reads, each place once.
func (v *lives) readings(n *graph.Node) (all []reading) {
	same := n.Elementwise() || n.Op.Name == "reshape"
	number := map[*place]int{} // of a place in all
	for _, a := range n.Inputs {
		for _, s := range v.sources(a) {
			i, known := number[s.place]
			if !known {
				i, number[s.place] = len(all), len(all)
				all = append(all, reading{s.place, same})
			}
			all[i].same = all[i].same && s.same
		}
	}
	return all
}

// readers returns, for each place of a parameter, the numbers of the nodes that read it. It is called after
// reuse: a value that took the place of a parameter is read there, too.
func (v *lives) readers(home []*place) map[*place][]int {
	all := map[*place][]int{}
	for _, h := range home {
		all[h] = nil
	}
	for i, n := range v.graph.Nodes {
		if len(n.Outs) == 0 || v.virtual[n.Outs[0]] {
			continue
		}
		for _, s := range v.readings(n) {
			h := s.end()
			if by, is := all[h]; is && (len(by) == 0 || by[len(by)-1] != i) {
				all[h] = append(by, i)
			}
		}
	}
	return all
}

// noteRead notes that a value is read by node i.
func (v *lives) noteRead(a *graph.Array, i int) {
	for _, p := range v.sources(a) {
		p.last = max(p.last, i)
	}
}

// reuse puts results of node i into the places of what it reads for the last time. It returns the temporaries of its
// bodies.
func (v *lives) reuse(i int, n *graph.Node) (nested int64) {
	take := func(o *graph.Array, from *place) bool {
		to, from := v.at[o].end(), from.end()
		if to == from || to.begin != i || from.last > i || !from.written || from.bytes != to.bytes {
			return false
		}
		to.into, from.last = from, max(from.last, to.last)
		return true
	}
	switch n.Op.Name {
	case "while":
		a := n.Attrs.(attr.While)
		first := a.CondConsts + a.BodyConsts
		homes := map[int]int{}
		for k, o := range n.Outs {
			homes[k] = a.BodyConsts + k
			in := n.Inputs[first+k]
			switch p := v.at[in]; {
			case p == nil:
			case p.outside || v.inits[in] == 1:
				take(o, p)
			default: // the compiler makes a copy for each of several loops, all as soon as the value is there
				to := v.at[o].end()
				to.begin = min(to.begin, p.end().begin)
			}
		}
		return footprintOf(n.Bodies[1], v.target, homes)
	case "function", "switch":
		for _, b := range n.Bodies {
			nested = max(nested, footprintOf(b, v.target, nil))
		}
		return nested
	case "dynamic_update_slice", "scatter", "custom_call":
		k := n.Kernel()
		if len(n.Outs) == 1 && !v.virtual[n.Outs[0]] && (k == nil || k.InPlace) {
			if p := v.at[n.Inputs[0]]; p != nil {
				take(n.Outs[0], p)
			}
		}
		return 0
	}
	if len(n.Outs) == 1 && !v.virtual[n.Outs[0]] && !notFused[n.Op.Name] {
		for _, s := range v.readings(n) {
			if !s.end().outside && v.inPlace(v.at[n.Outs[0]], s.end()) && take(n.Outs[0], s.place) {
				return 0
			}
		}
	}
	return 0
}

// home puts a result in the place h of a parameter, where XLA allows that: the result depends on all readers, the nodes
// that read h. Otherwise XLA copies the parameter at the start, and the readers read the copy.
func (v *lives) home(result *graph.Array, h *place, readers []int) {
	r := v.at[result]
	if r.end() != r || r == h || r.outside || r.bytes != h.bytes {
		return
	}
	var needed map[*graph.Node]bool
	if slices.ContainsFunc(readers, func(i int) bool { return i != r.begin }) {
		needed = ancestors(result.Node())
	}
	if slices.ContainsFunc(readers, func(i int) bool {
		if i == r.begin {
			return !v.inPlace(r, h)
		}
		return !needed[v.graph.Nodes[i]]
	}) {
		v.copies = append(v.copies, &place{bytes: h.bytes, last: h.last})
	}
	r.into = h
}

// ancestors returns a node and all that it depends on. The node may be nil.
func ancestors(of *graph.Node) map[*graph.Node]bool {
	all := map[*graph.Node]bool{}
	for todo := []*graph.Node{of}; len(todo) > 0; {
		n := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if n == nil || all[n] {
			continue
		}
		all[n] = true
		for _, a := range n.Inputs {
			todo = append(todo, a.Node())
		}
	}
	return all
}

// inPlace reports whether the node that writes r may write into h: all that it reads there, it reads at the position
// that it writes.
func (v *lives) inPlace(r, h *place) bool {
	n := v.graph.Nodes[r.begin]
	if notFused[n.Op.Name] || r.bytes != h.bytes {
		return false
	}
	for _, s := range v.readings(n) {
		if s.end() == h && !s.same {
			return false
		}
	}
	return true
}

// most returns the largest size of all temporaries at one time.
func (v *lives) most(nested []int64) (most int64) {
	change := make([]int64, len(v.graph.Nodes)+2)
	seen := map[*place]bool{}
	for _, n := range v.graph.Nodes {
		for _, o := range n.Outs {
			p := v.at[o]
			if p == nil {
				continue
			}
			if p = p.end(); seen[p] || p.outside {
				continue
			}
			seen[p] = true
			change[p.begin] += p.bytes
			change[p.last+1] -= p.bytes
		}
	}
	for _, p := range v.copies {
		change[p.begin] += p.bytes
		change[p.last+1] -= p.bytes
	}
	now := int64(0)
	for i, d := range change {
		now += d
		all := now
		if i < len(nested) {
			all += nested[i]
		}
		most = max(most, all)
	}
	return most
}

// leastAlias is the least bytes of a donated argument whose memory becomes a result's on a GPU. The compiler copies an
// argument that is read after its place is written, and starts a kernel for each copy. A TPU has as many either way.
const leastAlias = 1 << 20

// aliases are the donated arguments whose memory the program reuses, each with the result that it becomes.
func aliases(p *graph.Program, t graph.Target) map[int]int {
	if t.Platform != "cuda" {
		return p.Donated
	}
	large := map[int]int{}
	for in, out := range p.Donated {
		if p.Inputs[in].Bytes() >= leastAlias {
			large[in] = out
		}
	}
	return large
}
