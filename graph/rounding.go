package graph

// roundFirst returns arrays whose elements are rounded to their dtype before another operation reads them. Without it
// XLA computes sums of products as it likes. It rounds a·b + c once or twice, so that the last digit of a result
// depends on the operations around it. It makes (a + b)·c of a·c + b·c, and a + b may overflow.
func roundFirst(x ...*Array) []*Array { return Barrier(x...) }
