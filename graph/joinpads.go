package graph

import "slices"

// joinPads is a + b as one concatenation where both are zero-padded pieces that lie side by side along one axis, nil
// elsewhere. The cotangent of an array that was cut into pieces is such a sum.
func joinPads(a, b *Array) *Array {
	if a.scope == nil || a.scope != a.scope.trace.cur {
		return nil
	}
	return joinIn(a.scope, a, b)
}

func joinIn(s *scope, a, b *Array) *Array {
	if n := a.node; n != nil && a.scope == s && n.Op.Name == "add" {
		// An earlier piece may be the neighbor; the others then may be neighbors of both.
		for i, x := range n.Inputs {
			if c := joinIn(s, x, b); c != nil {
				other := n.Inputs[1-i]
				if d := joinIn(s, other, c); d != nil {
					return d
				}
				return Add(other, c)
			}
		}
		return nil
	}
	p, q := zeroPad(s, a), zeroPad(s, b)
	if p == nil || q == nil {
		return nil
	}
	axis := -1
	for i := range p.low {
		if p.low[i] == q.low[i] && p.high[i] == q.high[i] {
			continue
		}
		if axis >= 0 {
			return nil
		}
		axis = i
	}
	if axis < 0 {
		return nil
	}
	x, y := a.node.Inputs[0], b.node.Inputs[0]
	if p.low[axis] > q.low[axis] {
		p, q, x, y = q, p, y, x
	}
	if p.low[axis]+x.shape.Dims[axis] != q.low[axis] {
		return nil
	}
	high := slices.Clone(p.high)
	high[axis] = q.high[axis]
	c := Concatenate(axis, append(pieces(s, x, axis), pieces(s, y, axis)...)...)
	if nonZero := func(v int) bool { return v != 0 }; !slices.ContainsFunc(p.low, nonZero) &&
		!slices.ContainsFunc(high, nonZero) {
		return c
	}
	return PadConfig(c, 0, p.low, high, p.interior)
}

// zeroPad gives the attributes of a padding of this scope that only adds zeros around.
func zeroPad(s *scope, a *Array) *padAttrs {
	n := a.node
	if n == nil || a.scope != s || n.Op.Name != "pad" {
		return nil
	}
	p := n.Attrs.(padAttrs)
	value := n.Inputs[1].node
	if value == nil || value.Op.Name != "constant" {
		return nil
	}
	for _, c := range []byte(value.Attrs.(constantAttrs).bytes) {
		if c != 0 {
			return nil
		}
	}
	for i := range p.low {
		if p.low[i] < 0 || p.high[i] < 0 || p.interior[i] != 0 {
			return nil
		}
	}
	return &p
}

// pieces are the parts of a concatenation of this scope along the axis, or x itself.
func pieces(s *scope, x *Array, axis int) []*Array {
	if n := x.node; n != nil && x.scope == s && n.Op.Name == "concatenate" && n.Attrs.(axisAttrs).Axis == axis {
		return n.Inputs
	}
	return []*Array{x}
}
