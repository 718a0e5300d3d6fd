package graph

// Arguments reads the arguments of functions in other packages as those of this one are read. name is the function that
// an error names.
var Arguments arguments

type arguments struct{}

// Axis resolves a possibly negative axis of an array of the given rank.
func (arguments) Axis(name string, axis, rank int) int { return checkAxis(name, axis, rank) }

// Axes resolves and sorts axes of an array of the given rank; none means all.
func (arguments) Axes(name string, axes []int, rank int) []int { return normAxes(name, axes, rank) }

// Operands are arrays or Go numbers, promoted to one dtype and broadcast to one shape.
func (arguments) Operands(name string, xs ...any) []*Array { return operands(name, xs...) }

// Floats are Operands of a function of floats: integers and bools become float32.
func (arguments) Floats(name string, xs ...any) []*Array { return floatOperands(name, xs...) }

// Float is x, as float32 unless it is a float or complex.
func (arguments) Float(x *Array) *Array { return asFloat(x) }

// Float32 is x, as float32 unless it is float64 or complex.
func (arguments) Float32(x *Array) *Array { return inFloat32(x) }
