package bytecode

import "strings"

// operation is an op with its regions. Values have numbers, in the order in which they are made.
type operation struct {
	name       string // "vhlo.add_v1"
	properties []byte // indices of attributes
	others     uint64 // the index of the dictionary of other attributes, and one; 0 if it has none
	results    []value
	operands   []value
	regions    []*region
}

// value is a result of an op, or a parameter of a region.
type value struct {
	op, part int    // the number of the op or block, and which of its results or parameters
	parts    int    // the number of its results or parameters
	kind     uint64 // the number of the type
	param    bool
}

// region is the only block of a region.
type region struct {
	params []value
	labels []string // names of the parameters
	ops    []*operation
}

// reader reads ops. Its values are those in scope, by their numbers in the file.
type reader struct {
	*module
	values map[uint64]value
	size   uint64 // the numbers of the values of the open regions are below it
	next   uint64 // the number of the next value
	count  int    // of the ops and blocks so far
	depth  int
}

// The parts that an op has, as bits.
const (
	hasAttributes = 1 << iota
	hasResults
	hasOperands
	hasSuccessors
	hasRegions
	hasUseOrders
	hasProperties
)

// maxDepth bounds the nesting of regions.
const maxDepth = 64

// top reads the ops of the file: one module.
func (m *module) top() []*operation {
	r := &reader{module: m, values: map[uint64]value{}}
	c := &cursor{"IR section", m.ir}
	return r.block(c).ops
}

// block reads the parameters and the ops of a block.
func (r *reader) block(c *cursor) *region {
	b := &region{}
	n, params := c.flagged()
	if params {
		r.parameters(c, b)
	}
	if n > uint64(len(c.data)) {
		refuse("a region has %d ops in %d bytes. Is the file whole?", n, len(c.data))
	}
	for ; n > 0; n-- {
		b.ops = append(b.ops, r.operation(c))
	}
	return b
}

func (r *reader) parameters(c *cursor, b *region) {
	r.count++
	n := c.count()
	for i := range n {
		kind, located := c.flagged()
		label := ""
		if located {
			label = r.label(c.number())
		}
		b.params = append(b.params, r.define(value{r.count, i, n, kind, true}))
		b.labels = append(b.labels, label)
	}
	if c.byte() != 0 {
		useOrders(c, n)
	}
}

// define gives the next number of the file to a value.
func (r *reader) define(v value) value {
	if r.next < r.size {
		r.values[r.next] = v
	} else if r.depth > 0 {
		refuse("a region makes more values than its head says. Is the file damaged?")
	}
	r.next++
	return v
}

// useOrders skips the order in which MLIR lists the uses of n values.
func useOrders(c *cursor, n int) {
	values := 1
	if n > 1 {
		values = c.count()
	}
	for range values {
		if n > 1 {
			c.number()
		}
		indices, _ := c.flagged()
		for ; indices > 0; indices-- {
			c.number()
		}
	}
}

func (r *reader) operation(c *cursor) *operation {
	o := &operation{name: at(r.names, c.number(), "the name of an op")}
	parts := c.byte()
	c.number() // the location
	if parts&hasAttributes != 0 {
		o.others = c.number() + 1
	}
	if parts&hasProperties != 0 {
		o.properties = at(r.properties, c.number(), "property")
	}
	var types []uint64
	if parts&hasResults != 0 {
		for n := c.count(); n > 0; n-- {
			types = append(types, c.number())
		}
	}
	if parts&hasOperands != 0 {
		for n := c.count(); n > 0; n-- {
			v, ok := r.values[c.number()]
			if !ok {
				refuse("%s uses a value that is not made before it", o.what())
			}
			o.operands = append(o.operands, v)
		}
	}
	if parts&hasSuccessors != 0 {
		refuse("%s has successors: jumps between blocks are not known here", o.what())
	}
	if parts&hasUseOrders != 0 {
		useOrders(c, len(types))
	}
	regions, isolated := uint64(0), false
	if parts&hasRegions != 0 {
		regions, isolated = c.flagged()
	}
	r.count++
	id := r.count
	// The values of a region have the numbers after the op's results, so the results are defined first.
	for i, kind := range types {
		o.results = append(o.results, r.define(value{id, i, len(types), kind, false}))
	}
	if regions > 0 {
		r.regions(c, o, regions, isolated)
	}
	return o
}

// regions reads the regions of an op. Isolated ones are a section of their own and see no values from outside.
func (r *reader) regions(c *cursor, o *operation, n uint64, isolated bool) {
	if r.depth++; r.depth > maxDepth {
		refuse("its regions lie more than %d deep in each other", maxDepth)
	}
	defer func() { r.depth-- }()
	outer := *r
	if isolated {
		kind, content := section(c)
		if kind != irSection {
			refuse("%s has a section of kind %d instead of its regions", o.what(), kind)
		}
		c = &cursor{"IR section", content}
		r.values, r.size, r.next = map[uint64]value{}, 0, 0
	}
	for ; n > 0; n-- {
		o.regions = append(o.regions, r.region(c, o))
	}
	r.values, r.size, r.next = outer.values, outer.size, outer.next
}

// region reads a region. The numbers of its values are used again after it.
func (r *reader) region(c *cursor, o *operation) *region {
	switch blocks := c.number(); blocks {
	case 0:
		return &region{}
	case 1:
	default:
		refuse("%s has a region of %d blocks, want one", o.what(), blocks)
	}
	size, next := r.size, r.next
	n := c.number()
	if n > uint64(len(c.data)) {
		refuse("a region of %s makes %d values in %d bytes. Is the file whole?", o.what(), n, len(c.data))
	}
	r.next, r.size = r.size, r.size+n
	b := r.block(c)
	for i := size; i < r.next; i++ {
		delete(r.values, i)
	}
	r.size, r.next = size, next
	return b
}

// what returns the name of an op for errors.
func (o *operation) what() string { return name(strings.TrimPrefix(o.name, "vhlo.")) }
