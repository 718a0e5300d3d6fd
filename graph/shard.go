package graph

import "slices"

// Spec says how the leaves of an argument or result lie on a mesh: Spec{"data", ""} cuts axis 0 over mesh axis "data"
// and keeps axis 1 whole; missing axes are whole. An empty Spec: every device has all of it.
type Spec []string

// Cut gives the shape of one device's part, or throws.
func (s Spec) Cut(m Mesh, shape Shape) Shape {
	dims := slices.Clone(shape.Dims)
	for i, size := range s.sizes(m, shape) {
		if dims[i]%size != 0 {
			throw("Spec", "axis %d of %s does not divide over the %d devices of mesh axis %q", i, shape, size, s[i])
		}
		dims[i] /= size
	}
	return shape.dims(dims...)
}

// Join gives the shape of an array whose parts have a shape, or throws.
func (s Spec) Join(m Mesh, part Shape) Shape {
	dims := slices.Clone(part.Dims)
	for i, size := range s.sizes(m, part) {
		dims[i] *= size
	}
	return part.dims(dims...)
}

// sizes returns into how many parts each of the first len(s) axes is cut, or throws.
func (s Spec) sizes(m Mesh, shape Shape) []int {
	if len(s) > shape.Rank() {
		throw("Spec", "%v names %d axes of %s", []string(s), len(s), shape)
	}
	for i, a := range m {
		if a.Size < 1 {
			throw("Spec", "mesh axis %q has %d devices, want 1 or more", a.Name, a.Size)
		}
		if slices.ContainsFunc(m[:i], func(b MeshAxis) bool { return b.Name == a.Name }) {
			throw("Spec", "the mesh %v has the axis %q twice", []MeshAxis(m), a.Name)
		}
	}
	sizes := make([]int, len(s))
	for i, name := range s {
		k := slices.IndexFunc(m, func(a MeshAxis) bool { return a.Name == name })
		switch {
		case name == "":
			sizes[i] = 1
			continue
		case k < 0:
			throw("Spec", "the mesh %v has no axis %q", []MeshAxis(m), name)
		case slices.Contains(s[:i], name):
			throw("Spec", "%v cuts two axes of %s over mesh axis %q, want each mesh axis once", []string(s), shape,
				name)
		}
		sizes[i] = m[k].Size
	}
	return sizes
}

// ShardMap gives the meaning of a per-device function on global arrays: in cuts each argument leaf over the mesh, f
// runs once for each device (collectives over the mesh's axes inside of it see the others), out puts the results
// together; a result with an empty Spec is taken from the first device. On one device this is VMap over the mesh's
// axes, and so composes with every transform; xlabridge.ShardMap runs the same function on real devices.
//
// A gradient taken inside of f is therefore what it is under VMap (JAX's vmap and pmap agree): by each device's own
// value, of the sum of the results of all devices. Where the loss is a PMean over n devices they all return it, so that
// every device gets the gradient of its own part, n times its share in the mean; by a value that all devices have
// alike, PMean of these gradients is the gradient of the mean. JAX's shard_map with check_vma, its default, gives that
// at once.
func ShardMap[A, R any](f func(A) R, m Mesh, in, out Spec) func(A) R {
	return func(a A) R {
		g := func(a A) R { return f(a) }
		parts := MapTree(func(x *Array) *Array { return in.split(m, x) }, a)
		for i := len(m) - 1; i >= 0; i-- {
			g = VMap(g, AxisName(m[i].Name))
		}
		return MapTree(func(x *Array) *Array { return out.join(m, x) }, g(parts))
	}
}

// split gives x one leading axis for each mesh axis, holding the parts.
func (s Spec) split(m Mesh, x *Array) *Array {
	s.Cut(m, x.shape)
	// Each cut axis becomes (mesh axis, rest); then the mesh axes move to the front in the mesh's order.
	var dims []int
	place := map[string]int{}
	for i, d := range x.Dims() {
		if i < len(s) && s[i] != "" {
			k := m[slices.IndexFunc(m, func(a MeshAxis) bool { return a.Name == s[i] })].Size
			place[s[i]] = len(dims)
			dims = append(dims, k, d/k)
		} else {
			dims = append(dims, d)
		}
	}
	y := Reshape(x, dims...)
	var front []int
	for _, a := range m {
		if p, ok := place[a.Name]; ok {
			front = append(front, p)
		}
	}
	y = Transpose(y, append(front, dropAxes(rangeInts(0, y.Rank()), front)...)...)
	// Mesh axes that cut nothing repeat the parts.
	for i, a := range m {
		if _, ok := place[a.Name]; !ok {
			s := y.shape.insert(i, a.Size)
			y = BroadcastInDim(y, s.Dims, append(rangeInts(0, i), rangeInts(i+1, len(s.Dims))...))
		}
	}
	return y
}

// join is the inverse of split; mesh axes that cut nothing contribute their first device.
func (s Spec) join(m Mesh, x *Array) *Array {
	n := len(m)
	s.Join(m, x.shape.dims(x.shape.Dims[n:]...))
	kept := slices.Clone([]MeshAxis(m))
	for i := n - 1; i >= 0; i-- {
		if !slices.Contains(s, m[i].Name) {
			x = index(x, i, 0)
			kept = slices.Delete(kept, i, i+1)
		}
	}
	for i := len(s) - 1; i >= 0; i-- {
		if s[i] == "" {
			continue
		}
		k := slices.IndexFunc(kept, func(a MeshAxis) bool { return a.Name == s[i] })
		size := kept[k].Size
		n := len(kept)
		x = MoveAxis(x, k, n-1+i) // in front of the axis that it cut
		kept = slices.Delete(kept, k, k+1)
		dims := slices.Clone(x.Dims())
		at := len(kept) + i
		dims = slices.Replace(dims, at, at+2, size*dims[at+1])
		x = Reshape(x, dims...)
	}
	return x
}
