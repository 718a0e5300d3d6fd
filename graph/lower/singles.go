package lower

import (
	"slices"

	"xlarun/graph"
	"xlarun/graph/internal/attr"
)

// A GPU takes a kernel to change a single number, such as the number of steps that all members of a population have
// played: its compiler fuses no operations that share only single numbers. In the loop of a population such numbers are
// kept for each member, and change in kernels that compute members.

var passSingles = Pass{
	Name: "singles", Doc: "keep single numbers in the carry of a population's loop for each member", Keeps: Exact,
	For:   func(t graph.Target) bool { return t.Platform == "cuda" },
	Begin: func(_ *graph.Graph, t graph.Target) Run { return byNode(t, singlesForMembers, "scan") },
}

// leastSingles is the least number of members for that.
const leastSingles = 32

// membersOf is the length of the first axis that all arrays in the carry of a scan have; 0: there is none, or no single
// number that changes.
func membersOf(n *graph.Node) (members int) {
	a, body := n.Attrs.(attr.Scan), n.Bodies[0]
	changes := false
	for i, c := range body.Params[a.Consts : a.Consts+a.Carry] {
		switch {
		case c.Rank() == 0:
			changes = changes || body.Results[i] != c
		case members == 0:
			members = c.Dim(0)
		case members != c.Dim(0):
			return 0
		}
	}
	if !changes || members < leastSingles {
		return 0
	}
	return members
}

// singlesForMembers is the scan with an array instead of each single number of its carry; nil: it has none.
func singlesForMembers(l *graph.Cursor, n *graph.Node, in []*graph.Array) []*graph.Array {
	a, body := n.Attrs.(attr.Scan), n.Bodies[0]
	members := membersOf(n)
	if members == 0 {
		return nil
	}
	single := make([]bool, len(n.Inputs))
	inputs := slices.Clone(in)
	for i, c := range body.Params {
		carry := i - a.Consts
		single[i] = carry >= 0 && carry < a.Carry && c.Rank() == 0 && body.Results[carry] != c
		if single[i] {
			inputs[i] = graph.BroadcastInDim(in[i], []int{members}, nil)
		}
	}
	shapes := graph.ShapesOf(body.Params)
	for i := range shapes {
		if single[i] {
			shapes[i] = graph.ShapeOf(shapes[i].DType, members)
		}
	}
	next := graph.Record(shapes, func(l *graph.Cursor, p []*graph.Array) []*graph.Array {
		s := forMembers{members: members, plain: map[*graph.Array]*graph.Array{},
			perMember: map[*graph.Array]*graph.Array{},
			changes:   map[*graph.Array]bool{}}
		for i, c := range body.Params {
			if single[i] {
				s.perMember[c], s.changes[c] = p[i], true
			} else {
				s.plain[c] = p[i]
			}
		}
		for _, x := range body.Nodes {
			l.At(x)
			s.add(x)
		}
		var out []*graph.Array
		for i, r := range body.Results {
			if i < a.Carry && single[a.Consts+i] {
				out = append(out, s.broadcast(r))
			} else {
				out = append(out, s.value(r))
			}
		}
		return out
	})
	outs := slices.Clone(n.Op.Call(a, inputs, next))
	for i := range a.Carry {
		if single[a.Consts+i] {
			outs[i] = outs[i].Index(0)
		}
	}
	return outs
}

// forMembers rewrites a body.
type forMembers struct {
	members   int
	plain     map[*graph.Array]*graph.Array // arrays as they were
	perMember map[*graph.Array]*graph.Array // single numbers as arrays [members]
	changes   map[*graph.Array]bool         // single numbers that are computed for each member
}

// broadcast is a single number for each member.
func (s forMembers) broadcast(x *graph.Array) *graph.Array {
	if s.perMember[x] == nil {
		s.perMember[x] = graph.BroadcastInDim(s.plain[x], []int{s.members}, nil)
	}
	return s.perMember[x]
}

// value is an array as it was.
func (s forMembers) value(x *graph.Array) *graph.Array {
	if s.plain[x] == nil {
		s.plain[x] = s.perMember[x].Index(0)
	}
	return s.plain[x]
}

// add adds a node, for each member if it computes a single number from such ones that change.
func (s forMembers) add(n *graph.Node) {
	changing := func(x *graph.Array) bool { return s.changes[x] }
	if n.Elementwise() && n.Outs[0].Rank() == 0 && slices.ContainsFunc(n.Inputs, changing) {
		in := make([]*graph.Array, len(n.Inputs))
		for i, x := range n.Inputs {
			in[i] = s.broadcast(x)
		}
		out := n.Outs[0]
		s.perMember[out], s.changes[out] = n.Op.Call(n.Attrs, in)[0], true
		return
	}
	if n.Op.Name == "broadcast_in_dim" && changing(n.Inputs[0]) {
		out := n.Outs[0]
		if axis := slices.Index(out.Dims(), s.members); axis >= 0 {
			s.plain[out] = graph.BroadcastInDim(s.perMember[n.Inputs[0]], out.Dims(), []int{axis})
			return
		}
	}
	in := make([]*graph.Array, len(n.Inputs))
	for i, x := range n.Inputs {
		in[i] = s.value(x)
	}
	for i, x := range n.Op.Call(n.Attrs, in, n.Bodies...) {
		s.plain[n.Outs[i]] = x
	}
}
