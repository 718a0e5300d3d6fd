package graph

import (
	"slices"
	"strings"
)

// Einsum is NumPy's einsum, "bij,bjk->bik", for any number of operands, contracted from left to right. A label that
// stands twice in one operand takes the diagonal; "..." stands for any leading axes, which broadcast; without "->" the
// result has the labels that stand once, in alphabetical order.
func Einsum(spec string, operands ...*Array) *Array {
	operands = slices.Clone(operands)
	terms, out := einsumTerms(spec, operands)
	sizes := map[rune]int{}
	for i := range terms {
		operands[i], terms[i] = diagonals(spec, operands[i], terms[i])
		for j, r := range terms[i] {
			if d, ok := sizes[r]; ok && d != operands[i].Dim(j) {
				throw("Einsum", "%q: label %c is %d and %d", spec, r, d, operands[i].Dim(j))
			}
			sizes[r] = operands[i].Dim(j)
		}
	}
	for _, r := range out {
		if _, ok := sizes[r]; !ok || strings.Count(out, string(r)) > 1 {
			throw("Einsum", "%q: output label %c must stand in an operand, and once in the output", spec, r)
		}
	}
	x, labels := operands[0], terms[0]
	x, labels = sumLonely(x, labels, strings.Join(terms[1:], "")+out)
	for i := 1; i < len(operands); i++ {
		later := strings.Join(terms[i+1:], "") + out
		y, t := sumLonely(operands[i], terms[i], labels+later)
		var a [4][]int // x batch, y batch, x contract, y contract
		var batch, contracted string
		for j, r := range labels {
			k := strings.IndexRune(t, r)
			switch {
			case k < 0:
			case strings.ContainsRune(later, r):
				a[0], a[1] = append(a[0], j), append(a[1], k)
				batch += string(r)
			default:
				a[2], a[3] = append(a[2], j), append(a[3], k)
				contracted += string(r)
			}
		}
		x = DotGeneral(x, y, a[0], a[1], a[2], a[3])
		drop := func(s string) string {
			return strings.Map(func(r rune) rune {
				if strings.ContainsRune(batch+contracted, r) {
					return -1
				}
				return r
			}, s)
		}
		labels = batch + drop(labels) + drop(t)
	}
	perm := make([]int, len(out))
	for i, r := range out {
		perm[i] = strings.IndexRune(labels, r)
	}
	if len(perm) == 0 {
		return x
	}
	return Transpose(x, perm...)
}

// sumLonely sums the axes whose label stands nowhere else.
func sumLonely(x *Array, labels, elsewhere string) (*Array, string) {
	var axes []int
	kept := ""
	for i, r := range labels {
		if strings.ContainsRune(elsewhere, r) {
			kept += string(r)
		} else {
			axes = append(axes, i)
		}
	}
	return Sum0(x, axes), kept
}

// einsumTerms takes a specification apart: one label for each axis of each operand, and the result's labels. The axes
// of an ellipsis get labels that no specification can hold; those of size 1 that broadcast are squeezed away.
func einsumTerms(spec string, operands []*Array) (terms []string, out string) {
	in, out, explicit := strings.Cut(strings.ReplaceAll(spec, " ", ""), "->")
	terms = strings.Split(in, ",")
	if len(terms) != len(operands) {
		throw("Einsum", "%q names %d operands, got %d; want as in \"ij,jk->ik\"", spec, len(terms), len(operands))
	}
	if i := strings.IndexFunc(strings.ReplaceAll(in+out, "...", ""), func(r rune) bool {
		return r != ',' && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	}); i >= 0 {
		throw("Einsum", "%q: labels are single letters, want as in \"ij,jk->ik\"", spec)
	}
	if !explicit {
		out = ""
		if strings.Contains(in, "...") {
			out = "..."
		}
		letters := strings.Split(strings.NewReplacer("...", "", ",", "").Replace(in), "")
		slices.Sort(letters)
		for _, l := range letters {
			if strings.Count(in, l) == 1 {
				out += l
			}
		}
	}
	const hidden = "0123456789" // labels of ellipsis axes, the last axis first
	most := 0
	stretched := map[byte]int{}
	for i, t := range terms {
		named := len(t)
		if strings.Contains(t, "...") {
			named -= 3
		}
		extra := operands[i].Rank() - named
		if extra < 0 || extra > 0 && named == len(t) || extra > len(hidden) {
			throw("Einsum", "%q: term %q has %d labels for %s", spec, t, named, operands[i].shape)
		}
		most = max(most, extra)
		labels := []byte(hidden[:extra])
		slices.Reverse(labels)
		terms[i] = strings.Replace(t, "...", string(labels), 1)
		for j := range terms[i] {
			if l := terms[i][j]; l <= '9' {
				stretched[l] = max(stretched[l], operands[i].Dim(j))
			}
		}
	}
	for i, t := range terms {
		for j := len(t) - 1; j >= 0; j-- {
			if l := t[j]; l <= '9' && operands[i].Dim(j) == 1 && stretched[l] > 1 {
				operands[i] = Squeeze(operands[i], j)
				terms[i] = terms[i][:j] + terms[i][j+1:]
			}
		}
	}
	labels := []byte(hidden[:most])
	slices.Reverse(labels)
	return terms, strings.Replace(out, "...", string(labels), 1)
}

// diagonals takes the diagonal of axes that have the same label.
func diagonals(spec string, x *Array, labels string) (*Array, string) {
	for j := 0; j < len(labels); j++ {
		for k := strings.LastIndexByte(labels, labels[j]); k > j; k = strings.LastIndexByte(labels, labels[j]) {
			if x.Dim(j) != x.Dim(k) {
				throw("Einsum", "%q: label %c is %d and %d in %s", spec, labels[j], x.Dim(j), x.Dim(k), x.shape)
			}
			x = Diagonal(x, j, k)
			labels = labels[:k] + labels[k+1:]
		}
	}
	return x, labels
}

// Diagonal picks the elements whose indices along two axes are equal: the first axis gets the length of the diagonal,
// the second goes away. With an offset the second index is larger by so many. (jax.numpy.diagonal moves the diagonal to
// the end.)
func Diagonal(x *Array, axis, second int, offset ...int) *Array {
	axis, second = checkAxis("Diagonal", axis, x.Rank()), checkAxis("Diagonal", second, x.Rank())
	if axis == second || len(offset) > 1 {
		throw("Diagonal", "got the axes %d and %d of %s and %d offsets, want two axes and one offset or none", axis,
			second, x.shape, len(offset))
	}
	above := 0
	if len(offset) == 1 {
		above = offset[0]
	}
	first, next := max(0, -above), max(0, above)
	length := max(0, min(x.shape.Dims[axis]-first, x.shape.Dims[second]-next))
	if length == 0 {
		first, next = 0, 0
	}
	x = SliceAxis(SliceAxis(x, axis, first, first+length), second, next, next+length)
	index := x.shape.with(Int32)
	on := Eq(IotaAxis(index, axis), IotaAxis(index, second))
	if x.DType() == Bool {
		return Any(And(on, x), second)
	}
	return Sum(Select(on, x, ZerosLike(x)), second)
}
