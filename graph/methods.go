package graph

// Methods of Array. Each is the function of the same name with the array as its first argument, so that a formula reads
// from left to right: ratio.Mul(advantage).Min(clipped.Mul(advantage)).Mean().Neg(). An argument y is what the function
// takes: an Array or a Go number, broadcast and promoted alike. Where the constant comes first, use the function:
// Sub(1, x).
//
// They are not inlined, and neither are the functions and checks of this package that are called most: programs call
// them at thousands of places. A copy of the body at each of them, with its lines, made cmd/xlarun a megabyte larger.

// Arithmetic, comparison and logic, element by element.

// Add returns x + y.
//
//go:noinline
func (a *Array) Add(y any) *Array { return Add(a, y) }

// Sub returns x - y.
//
//go:noinline
func (a *Array) Sub(y any) *Array { return Sub(a, y) }

// Mul returns x * y.
//
//go:noinline
func (a *Array) Mul(y any) *Array { return Mul(a, y) }

// Div returns x / y.
//
//go:noinline
func (a *Array) Div(y any) *Array { return Div(a, y) }

// Pow returns x to the power of y.
//
//go:noinline
func (a *Array) Pow(y any) *Array { return Pow(a, y) }

// Rem returns the remainder of x / y, with the sign of x.
//
//go:noinline
func (a *Array) Rem(y any) *Array { return Rem(a, y) }

// Mod returns x modulo y, with the sign of y.
//
//go:noinline
func (a *Array) Mod(y any) *Array { return Mod(a, y) }

// Max returns the larger of x and y, element by element; ReduceMax is the largest element.
//
//go:noinline
func (a *Array) Max(y any) *Array { return Max(a, y) }

// Min returns the smaller of x and y, element by element; ReduceMin is the smallest element.
//
//go:noinline
func (a *Array) Min(y any) *Array { return Min(a, y) }

// Eq returns x == y.
//
//go:noinline
func (a *Array) Eq(y any) *Array { return Eq(a, y) }

// Ne returns x != y.
//
//go:noinline
func (a *Array) Ne(y any) *Array { return Ne(a, y) }

// Lt returns x < y.
//
//go:noinline
func (a *Array) Lt(y any) *Array { return Lt(a, y) }

// Le returns x <= y.
//
//go:noinline
func (a *Array) Le(y any) *Array { return Le(a, y) }

// Gt returns x > y.
//
//go:noinline
func (a *Array) Gt(y any) *Array { return Gt(a, y) }

// Ge returns x >= y.
//
//go:noinline
func (a *Array) Ge(y any) *Array { return Ge(a, y) }

// And returns x and y, bit by bit for integers.
//
//go:noinline
func (a *Array) And(y any) *Array { return And(a, y) }

// Or returns x or y, bit by bit for integers.
//
//go:noinline
func (a *Array) Or(y any) *Array { return Or(a, y) }

// Xor returns x exclusive-or y, bit by bit for integers.
//
//go:noinline
func (a *Array) Xor(y any) *Array { return Xor(a, y) }

// Functions of one argument, element by element.

// Neg returns -x.
//
//go:noinline
func (a *Array) Neg() *Array { return Neg(a) }

// Not returns not x, bit by bit for integers.
//
//go:noinline
func (a *Array) Not() *Array { return Not(a) }

// Abs returns |x|.
//
//go:noinline
func (a *Array) Abs() *Array { return Abs(a) }

// Sign returns the sign of x: -1, 0 or 1.
//
//go:noinline
func (a *Array) Sign() *Array { return Sign(a) }

// Exp returns e to the power of x.
//
//go:noinline
func (a *Array) Exp() *Array { return Exp(a) }

// Log returns the natural logarithm of x.
//
//go:noinline
func (a *Array) Log() *Array { return Log(a) }

// Sqrt returns the square root of x.
//
//go:noinline
func (a *Array) Sqrt() *Array { return Sqrt(a) }

// Rsqrt returns 1 / the square root of x.
//
//go:noinline
func (a *Array) Rsqrt() *Array { return Rsqrt(a) }

// Square returns x * x.
//
//go:noinline
func (a *Array) Square() *Array { return Square(a) }

// Reciprocal returns 1 / x.
//
//go:noinline
func (a *Array) Reciprocal() *Array { return Reciprocal(a) }

// Tanh returns the hyperbolic tangent of x.
//
//go:noinline
func (a *Array) Tanh() *Array { return Tanh(a) }

// Sin returns the sine of x.
//
//go:noinline
func (a *Array) Sin() *Array { return Sin(a) }

// Cos returns the cosine of x.
//
//go:noinline
func (a *Array) Cos() *Array { return Cos(a) }

// Floor returns the largest whole number that is at most x.
//
//go:noinline
func (a *Array) Floor() *Array { return Floor(a) }

// Round returns x rounded to the nearest whole number, halves to even.
//
//go:noinline
func (a *Array) Round() *Array { return Round(a) }

// IsNaN returns whether x is NaN, bool.
//
//go:noinline
func (a *Array) IsNaN() *Array { return IsNaN(a) }

// IsFinite returns whether x is neither NaN nor infinite, bool.
//
//go:noinline
func (a *Array) IsFinite() *Array { return IsFinite(a) }

// Clamp returns the array with each element moved into [lo, hi].
//
//go:noinline
func (a *Array) Clamp(lo, hi any) *Array { return Clamp(lo, a, hi) }

// Convert returns the array as another dtype.
//
//go:noinline
func (a *Array) Convert(to DType) *Array { return Convert(a, to) }

// Reductions over axes; without axes, over all of them. Negative axes count from the last.

// Sum returns the sum over axes.
//
//go:noinline
func (a *Array) Sum(axes ...int) *Array { return Sum(a, axes...) }

// Mean returns the mean over axes.
//
//go:noinline
func (a *Array) Mean(axes ...int) *Array { return Mean(a, axes...) }

// Prod returns the product over axes.
//
//go:noinline
func (a *Array) Prod(axes ...int) *Array { return Prod(a, axes...) }

// ReduceMax returns the largest element over axes.
//
//go:noinline
func (a *Array) ReduceMax(axes ...int) *Array { return ReduceMax(a, axes...) }

// ReduceMin returns the smallest element over axes.
//
//go:noinline
func (a *Array) ReduceMin(axes ...int) *Array { return ReduceMin(a, axes...) }

// Any returns whether any element is true over axes.
//
//go:noinline
func (a *Array) Any(axes ...int) *Array { return Any(a, axes...) }

// All returns whether all elements are true over axes.
//
//go:noinline
func (a *Array) All(axes ...int) *Array { return All(a, axes...) }

// Variance returns the variance over axes.
//
//go:noinline
func (a *Array) Variance(axes ...int) *Array { return Variance(a, axes...) }

// Std returns the standard deviation over axes.
//
//go:noinline
func (a *Array) Std(axes ...int) *Array { return Std(a, axes...) }

// ArgMax returns the index of the largest element along an axis, i32.
//
//go:noinline
func (a *Array) ArgMax(axis int) *Array { return ArgMax(a, axis) }

// ArgMin returns the index of the smallest element along an axis, i32.
//
//go:noinline
func (a *Array) ArgMin(axis int) *Array { return ArgMin(a, axis) }

// Shapes and elements.

// Reshape returns the elements in another shape. One dimension may be -1: it follows from the others.
//
//go:noinline
func (a *Array) Reshape(dims ...int) *Array { return Reshape(a, dims...) }

// Transpose returns the array with its axes in another order; without arguments, in reverse.
//
//go:noinline
func (a *Array) Transpose(perm ...int) *Array { return Transpose(a, perm...) }

// MoveAxis returns the array with one axis moved to another place.
//
//go:noinline
func (a *Array) MoveAxis(from, to int) *Array { return MoveAxis(a, from, to) }

// ExpandDims returns the array with a new axis of size 1.
//
//go:noinline
func (a *Array) ExpandDims(axis int) *Array { return ExpandDims(a, axis) }

// Squeeze returns the array without axes of size 1.
//
//go:noinline
func (a *Array) Squeeze(axes ...int) *Array { return Squeeze(a, axes...) }

// BroadcastTo returns the array repeated to a shape.
//
//go:noinline
func (a *Array) BroadcastTo(dims ...int) *Array { return BroadcastTo(a, dims...) }

// SplitAxis returns the array with one axis as several: SplitAxis(x, 0, 4, 8) of f32[32, 3] is f32[4, 8, 3].
//
//go:noinline
func (a *Array) SplitAxis(axis int, sizes ...int) *Array { return SplitAxis(a, axis, sizes...) }

// MergeAxes returns the array with n axes from first on as one: MergeAxes(x, 0, 2) of f32[4, 8, 3] is f32[32, 3].
//
//go:noinline
func (a *Array) MergeAxes(first, n int) *Array { return MergeAxes(a, first, n) }

// Index returns element i along axis 0, for a Go number i.
//
//go:noinline
func (a *Array) Index(i int) *Array { return Index(a, i) }

// Dot returns the product of matrices or vectors.
//
//go:noinline
func (a *Array) Dot(y *Array) *Array { return Dot(a, y) }
