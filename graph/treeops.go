package graph

// SelectTree returns yes where cond is true and no elsewhere, leaf by leaf. cond broadcasts against each leaf as in
// Select.
func SelectTree[T any](cond *Array, yes, no T) T {
	return MapTree2(func(yes, no *Array) *Array { return Select(cond, yes, no) }, yes, no)
}

// AddTree returns the sum of two trees of the same structure, leaf by leaf.
func AddTree[T any](x, y T) T { return MapTree2(func(x, y *Array) *Array { return Add(x, y) }, x, y) }

// ZerosLikeTree returns a tree of zeros with the shapes and dtypes of another.
func ZerosLikeTree[T any](tree T) T { return MapTree(ZerosLike, tree) }

// Pair is a tree of two values. With it a function has two results under a transform that takes one:
//
//	values, actions := VMap(func(x *Array) Pair[*Array, *Array] { return PairOf(f(x), g(x)) })(xs).Unpack()
type Pair[A, B any] struct {
	First  A
	Second B
}

// PairOf returns two values as one.
func PairOf[A, B any](first A, second B) Pair[A, B] { return Pair[A, B]{first, second} }

// Unpack returns both values.
func (p Pair[A, B]) Unpack() (A, B) { return p.First, p.Second }
