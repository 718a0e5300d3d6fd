package graph

import "slices"

// A dynamic_update_slice on the CPU writes its block by a call of a kernel, where that pays (lower/writes.go).

// smallWrite is the size in bytes up to which it is faster to copy an array for each part that is written.
const smallWrite = 4096

func writesLarge(n *Node, t Target) bool { return n.Outs[0].shape.Bytes() > t.atLeast(smallWrite) }

func alwaysWritesParts(*Node, Target) bool { return true }

// writeKernel writes a block into an array: array, block, then a start index for each axis in config, the axes that the
// block does not fill. Blocks that would leave the array are moved inside.
var writeKernel = &Kernel{Target: "xlarun_write", InPlace: true, evalConfig: func(axes []int, in, out []*Tensor) {
	x, block := in[0], in[1]
	zero := newTensor(Shape{DType: Int32})
	args := []*Tensor{x, block}
	for i := range x.Shape.Dims {
		if k := slices.Index(axes, i); k >= 0 {
			args = append(args, in[2+k])
		} else {
			args = append(args, zero)
		}
	}
	copy(out[0].V, writeBlock(args).V)
}}

// writeWithKernel is the Write rule of dynamic_update_slice.
func writeWithKernel(l *Cursor, n *Node, in []*Array) []*Array {
	axes := partialAxes(n)
	if len(axes) == 0 {
		return in[1:2]
	}
	if !oneRun(axes) && !l.worthCalls() {
		return nil
	}
	args := slices.Clone(in[:2])
	for _, axis := range axes {
		args = append(args, in[2+axis])
	}
	return kernelCall(writeKernel, axes, []Shape{in[0].shape}, args...)
}

// partialAxes are the axes that the block of a dynamic_update_slice does not fill.
func partialAxes(n *Node) []int {
	var axes []int
	for i, d := range n.Inputs[1].Dims() {
		if d < n.Inputs[0].Dims()[i] {
			axes = append(axes, i)
		}
	}
	return axes
}

// blockSeconds is the WriteSeconds of dynamic_update_slice.
func blockSeconds(n *Node) float64 {
	if oneRun(partialAxes(n)) {
		return 0
	}
	return stepPerBlock
}

// oneRun reports whether the block is contiguous: whole rows, as a scan stacks them.
func oneRun(axes []int) bool { return len(axes) == 1 && axes[0] == 0 }

// The time in seconds that a step of a loop has to take for each call that writes in it. The call takes some 0.3 µs. In
// the compiler's own way, with the newer emitters, a block costs next to nothing and a scatter about half of that.
const (
	stepPerBlock   = 4e-6
	stepPerScatter = 2e-6
)

// worthCalls reports whether calls of kernels cost little: they are not in a loop, or its steps take long enough. Rows,
// which every scan writes, are worth it in any case.
func (l *Cursor) worthCalls() bool {
	if l.loop == nil || l.target.atLeast(1) == 0 {
		return true
	}
	needed := 0.
	l.loop.Any(func(n *Node) bool {
		if n.Op.WriteSeconds != nil {
			needed += n.Op.WriteSeconds(n)
		}
		return false
	})
	c := l.loop.Cost(nil)
	return c.Bytes/5e10+c.Transcendentals/1e9 >= needed // at 50 GB/s and a transcendental a nanosecond
}
