package gomlx

import (
	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"

	"xlarun/graph"
)

// DotGeneral implements compute.Function. By default the result has the dtype of the operands.
func (f *Function) DotGeneral(x compute.Value, xContract, xBatch []int, y compute.Value, yContract, yBatch []int,
	config compute.DotGeneralConfig) (compute.Value, error) {
	return f.one(compute.OpTypeDotGeneral, func(in []*graph.Array) *graph.Array {
		x, y := in[0], in[1]
		result := x.DType()
		if result != y.DType() {
			graph.Throw("DotGeneral", "got %s and %s, want one dtype", x.Shape(), y.Shape())
		}
		var options []graph.DotOption
		switch d := config.AccumulatorDType; {
		case d == dtypes.InvalidDType:
		case widens(result, d):
			options = append(options, graph.PreferredDType(d))
		default:
			x, y = x.Convert(d), y.Convert(d)
		}
		if d := config.OutputDType; d != dtypes.InvalidDType {
			result = d
		}
		return graph.DotGeneral(x, y, xBatch, yBatch, xContract, yContract, options...).Convert(result)
	}, x, y)
}

// widens reports whether products of narrow numbers can be summed in a wider dtype as they are (graph.PreferredDType).
// Kernels for narrow numbers multiply them so. Other operands are converted first.
func widens(narrow, wide graph.DType) bool {
	return wide.Size() > narrow.Size() && (narrow.IsFloat() && wide.IsFloat() ||
		narrow.IsInt() && wide.IsInt() && (narrow.IsUnsigned() || !wide.IsUnsigned()))
}

func (f *Function) ConvGeneral(x, kernel compute.Value, axes compute.ConvolveAxesConfig, strides []int,
	paddings [][2]int, dilations, kernelDilations []int, channelGroups, batchGroups int) (compute.Value, error) {
	return f.one(compute.OpTypeConvGeneral, func(in []*graph.Array) *graph.Array {
		x, kernel := in[0], in[1]
		if x.DType() != kernel.DType() {
			graph.Throw("ConvGeneral", "got %s and %s, want one dtype", x.Shape(), kernel.Shape())
		}
		rank := x.Rank()
		options := []graph.WindowOption{graph.Layout(
			letters(rank, 'N', axes.InputBatch, 'C', axes.InputChannels, axes.InputSpatial),
			letters(rank, 'I', axes.KernelInputChannels, 'O', axes.KernelOutputChannels, axes.KernelSpatial),
			letters(rank, 'N', axes.OutputBatch, 'C', axes.OutputChannels, axes.OutputSpatial))}
		for _, o := range []struct {
			values []int
			option func(...int) graph.WindowOption
		}{{strides, graph.Strides}, {dilations, graph.BaseDilation}, {kernelDilations, graph.WindowDilation}} {
			if len(o.values) > 0 {
				options = append(options, o.option(o.values...))
			}
		}
		if len(paddings) > 0 {
			options = append(options, graph.Padding(paddings...))
		}
		if channelGroups > 1 {
			options = append(options, graph.FeatureGroups(channelGroups))
		}
		if batchGroups > 1 {
			options = append(options, graph.BatchGroups(batchGroups))
		}
		return graph.Conv(x, kernel, options...)
	}, x, kernel)
}

// letters is a layout for graph.Layout: two named axes, and a letter for each spatial axis.
func letters(rank int, first byte, firstAt int, second byte, secondAt int, spatial []int) string {
	layout := make([]byte, rank)
	set := func(at int, letter byte) {
		if at < 0 || at >= rank || layout[at] != 0 {
			graph.Throw("ConvGeneral", "axes %d, %d and %v do not number %d axes", firstAt, secondAt, spatial, rank)
		}
		layout[at] = letter
	}
	set(firstAt, first)
	set(secondAt, second)
	for i, at := range spatial {
		set(at, "abdefghjklm"[i])
	}
	return string(layout)
}
