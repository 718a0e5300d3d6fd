package graph

// What functions of other packages need to read their arguments as the functions of this package do. name is the
// function that an error names.

// Axis resolves a possibly negative axis of an array of the given rank.
func Axis(name string, axis, rank int) int { return checkAxis(name, axis, rank) }

// Axes resolves and sorts axes of an array of the given rank; none means all.
func Axes(name string, axes []int, rank int) []int { return normAxes(name, axes, rank) }

// Operands are arrays or Go numbers, promoted to one dtype and broadcast to one shape.
func Operands(name string, xs ...any) []*Array { return operands(name, xs...) }

// FloatOperands are Operands of a function of floats: integers and bools become float32.
func FloatOperands(name string, xs ...any) []*Array { return floatOperands(name, xs...) }

// AsFloat is x, as float32 unless it is a float or complex.
func AsFloat(x *Array) *Array { return asFloat(x) }

// InFloat32 is x, as float32 unless it is float64 or complex.
func InFloat32(x *Array) *Array { return inFloat32(x) }
