// Package attr has the attributes of ops that passes of lowering read: plain data, never changed.
package attr

import (
	"slices"

	"github.com/gomlx/compute/dtypes"
)

// Axis is the axis of a concatenate, and of other ops that work along one.
type Axis struct{ Axis int }

// Broadcast is of broadcast_in_dim: the result's dims, and the place of each of the operand's axes.
type Broadcast struct{ Dims, Axes []int }

// Slice is of slice: bounds and step of each axis.
type Slice struct{ Start, Limit, Stride []int }

// Cumulative is of cumulative; kinds are those of Reduce.
type Cumulative struct {
	Kind    string
	Axis    int
	Reverse bool
}

// Reduce is of reduce.
type Reduce struct {
	Kind string
	Axes []int
	NaN  NaN
}

// NaN says how a maximum or minimum of floats treats NaN on CPUs (ops_reduce_extremes.go).
type NaN int

// Function is of function: its number in the program.
type Function struct{ Number int }

// Gather is of gather and scatter.
type Gather struct {
	Offset     []int  // axes of the result (gather) or updates (scatter) that run over the window
	Collapsed  []int  // axes of the operand that the index drops
	Batch      []int  // axes of the operand that are shared with the indices
	IndexBatch []int  // the same axes in the indices
	IndexMap   []int  // operand axis of each coordinate
	Sizes      []int  // slice sizes, one an operand axis
	Kind       string // scatter: set, sum, prod, max, min
	Unique     bool   // scatter: the caller promises that no two updates meet
}

// Scan is of scan: the inputs are the constants, the carry, and one array per scanned input, whose axis 0 is time. The
// body maps constants, carry and one slice of each scanned input to the new carry and one slice of each output.
type Scan struct {
	Consts, Carry, Length int
	Reverse               bool
	Unroll                int
	Name                  string
}

// While is of while: the inputs are constants of the condition, constants of the body, and the carry.
type While struct {
	CondConsts, BodyConsts int
	Name                   string // see graph.LoopName
	Apart                  bool   // the loop does not become one function (pass "loops")
	Tiled                  bool   // its products are laid out for tiles of registers
}

// Collective names the axis that a collective runs over. For a device axis, Stride is the distance between neighbors
// along it and Devices the number of all devices; both are 0 for a vmapped one.
type Collective struct {
	Axis            string
	Size            int
	Stride, Devices int
	// Rendezvous is the number of an all_gather that calls a kernel, from 1 on; 0: it is the compiler's (pass
	// "gathers").
	Rendezvous int
}

// AxisName is the name of the axis.
func (a Collective) AxisName() string { return a.Axis }

// Collective is the part of a collective's attributes that all have.
func (a Collective) Collective() Collective { return a }

// Groups lists the devices that run one collective together: those that differ in this axis only.
func (a Collective) Groups() [][]int {
	var out [][]int
	for d := range a.Devices {
		if d/a.Stride%a.Size == 0 {
			g := make([]int, a.Size)
			for i := range g {
				g[i] = d + i*a.Stride
			}
			out = append(out, g)
		}
	}
	return out
}

// Dot is of dot_general: batch axes of the operands, which the result has first, and the axes that are contracted.
type Dot struct {
	LeftBatch, RightBatch, LeftContract, RightContract []int
	// Preferred is of sums and of the result; 0: that of the operands.
	Preferred dtypes.DType
}

// Of is a product of other axes with the same dtypes.
func (a Dot) Of(leftBatch, rightBatch, leftContract, rightContract []int) Dot {
	return Dot{leftBatch, rightBatch, leftContract, rightContract, a.Preferred}
}

// Transposes is the name of the kernel that transposes matrices.
const Transposes = "xlarun_transpose"

// leastSplit is the number of multiplications from which Eigen may cut a product into parts: its cost model has a
// second thread for 210,000 cycles, and counts at most a cycle for a multiplication.
const leastSplit = 1 << 17

// Split reports whether Eigen may cut a product of two shapes into parts for threads.
func (a Dot) Split(left, right []int) bool {
	rows, inner, columns := a.Matrices(left, right)
	return min(rows, columns) > 1 && rows*inner*columns >= leastSplit
}

// Free lists the axes of operands of two ranks that are neither batch axes nor contracted.
func (a Dot) Free(left, right int) (l, r []int) {
	return others(left, a.LeftBatch, a.LeftContract), others(right, a.RightBatch, a.RightContract)
}

func others(rank int, lists ...[]int) []int {
	free := []int{}
	for axis := range rank {
		if !slices.ContainsFunc(lists, func(list []int) bool { return slices.Contains(list, axis) }) {
			free = append(free, axis)
		}
	}
	return free
}

// Matrices are the sizes of the matrices [rows, inner] and [inner, columns] that are multiplied for each element of the
// batch axes, of operands of some dims.
func (a Dot) Matrices(left, right []int) (rows, inner, columns int) {
	l, r := a.Free(len(left), len(right))
	product := func(sizes []int) int {
		n := 1
		for _, size := range sizes {
			n *= size
		}
		return n
	}
	return product(At(left, l)), product(At(left, a.LeftContract)), product(At(right, r))
}

// At lists the numbers at some places, such as the sizes of some axes.
func At(numbers, places []int) []int {
	at := make([]int, len(places))
	for i, place := range places {
		at[i] = numbers[place]
	}
	return at
}
