package bytecode

import (
	"fmt"
	"strconv"
	"strings"
)

// form is how an op of VHLO is written as text. An op has its attributes in the alphabetical order of their names.
type form struct {
	attributes string // their names
	head       func(w *writer, o *operation, a attributes) string
}

// attributes has the indices of the attributes of one op, by name.
type attributes struct {
	m  *module
	at map[string]uint64
}

func (a attributes) list(name string) []int64    { return a.m.list(a.at[name]) }
func (a attributes) integer(name string) int64   { return a.m.integer(a.at[name]) }
func (a attributes) truth(name string) bool      { return a.m.truth(a.at[name]) }
func (a attributes) text(name string) string     { return a.m.text(a.at[name]) }
func (a attributes) brackets(name string) string { return brackets(a.list(name)) }

// brackets are numbers as text: "[1, 2]".
func brackets(numbers []int64) string {
	words := make([]string, len(numbers))
	for i, n := range numbers {
		words[i] = strconv.FormatInt(n, 10)
	}
	return "[" + strings.Join(words, ", ") + "]"
}

// attributesOf reads the attributes of an op.
func (w *writer) attributesOf(o *operation, f form) attributes {
	a := attributes{w.module, map[string]uint64{}}
	c := &cursor{"property section", o.properties}
	for _, name := range strings.Fields(f.attributes) {
		a.at[name] = c.number()
	}
	if len(c.data) > 0 {
		refuse("%s has more attributes than are known here", o.what())
	}
	return a
}

// withList is a form with one list after the operands.
func withList(attribute, word string) form {
	return form{attribute, func(w *writer, o *operation, a attributes) string {
		return " " + w.operands(o) + ", " + word + " = " + a.brackets(attribute)
	}}
}

// forms are the ops with attributes, by name and version. An op whose only attribute is its accuracy is like one
// without.
var forms = map[string]form{
	"constant_v1": {"value", constantHead},
	"iota_v1": {"iota_dimension", func(_ *writer, _ *operation, a attributes) string {
		return fmt.Sprintf(" dim = %d", a.integer("iota_dimension"))
	}},
	"compare_v1": {"compare_type comparison_direction", func(w *writer, o *operation, a attributes) string {
		direction := w.word(a.at["comparison_direction"], directionAttribute, "EQ", "NE", "GE", "GT", "LE", "LT")
		kind := w.word(a.at["compare_type"], comparisonAttribute, "NOTYPE", "FLOAT", "TOTALORDER", "SIGNED", "UNSIGNED")
		return fmt.Sprintf(" %s, %s, %s", direction, w.operands(o), kind)
	}},
	"broadcast_in_dim_v1": withList("broadcast_dimensions", "dims"),
	"transpose_v1":        withList("permutation", "dims"),
	"reverse_v1":          withList("dimensions", "dims"),
	"dynamic_slice_v1":    withList("slice_sizes", "sizes"),
	"slice_v1":            {"limit_indices start_indices strides", sliceHead},
	"concatenate_v1": {"dimension", func(w *writer, o *operation, a attributes) string {
		return fmt.Sprintf(" %s, dim = %d", w.operands(o), a.integer("dimension"))
	}},
	"pad_v1": {"edge_padding_high edge_padding_low interior_padding",
		func(w *writer, o *operation, a attributes) string {
			return fmt.Sprintf(" %s, low = %s, high = %s, interior = %s", w.operands(o), a.brackets("edge_padding_low"),
				a.brackets("edge_padding_high"), a.brackets("interior_padding"))
		}},
	"dot_general_v1": {"lhs_batching_dimensions lhs_contracting_dimensions precision_config rhs_batching_dimensions " +
		"rhs_contracting_dimensions", dotHead},
	"dot_general_v2": {"accumulation_type allow_imprecise_accumulation lhs_batching_dimensions lhs_component_count " +
		"lhs_contracting_dimensions lhs_precision_type num_primitive_operations precision_config " +
		"rhs_batching_dimensions rhs_component_count rhs_contracting_dimensions rhs_precision_type", dotHead},
	"convolution_v1": {"batch_group_count feature_group_count input_batch_dimension input_feature_dimension " +
		"input_spatial_dimensions kernel_input_feature_dimension kernel_output_feature_dimension " +
		"kernel_spatial_dimensions lhs_dilation output_batch_dimension output_feature_dimension " +
		"output_spatial_dimensions padding precision_config rhs_dilation window_reversal window_strides",
		convolutionHead},
	"gather_v1": {"collapsed_slice_dims index_vector_dim indices_are_sorted offset_dims slice_sizes start_index_map",
		gatherHead},
	"gather_v2": {"collapsed_slice_dims index_vector_dim indices_are_sorted offset_dims operand_batching_dims " +
		"slice_sizes start_index_map start_indices_batching_dims", gatherHead},
	"scatter_v1": {"index_vector_dim indices_are_sorted inserted_window_dims scatter_dims_to_operand_dims " +
		"unique_indices update_window_dims", scatterHead},
	"scatter_v2": {"index_vector_dim indices_are_sorted input_batching_dims inserted_window_dims " +
		"scatter_dims_to_operand_dims scatter_indices_batching_dims unique_indices update_window_dims", scatterHead},
	"sort_v1": {"dimension is_stable", func(w *writer, o *operation, a attributes) string {
		return fmt.Sprintf("(%s) <{dimension = %d : i64}>", w.operands(o), a.integer("dimension"))
	}},
	"reduce_window_v1": {"base_dilations padding window_dilations window_dimensions window_strides",
		func(w *writer, o *operation, a attributes) string {
			return fmt.Sprintf("(%s) <{base_dilations = %s, padding = %s, window_dilations = %s, "+
				"window_dimensions = %s, window_strides = %s}>", w.operands(o), a.brackets("base_dilations"),
				a.brackets("padding"), a.brackets("window_dilations"), a.brackets("window_dimensions"),
				a.brackets("window_strides"))
		}},
	"select_and_scatter_v1": {"padding window_dimensions window_strides",
		func(w *writer, o *operation, a attributes) string {
			return fmt.Sprintf("(%s) <{padding = %s, window_dimensions = %s, window_strides = %s}>", w.operands(o),
				a.brackets("padding"), a.brackets("window_dimensions"), a.brackets("window_strides"))
		}},
	"rng_bit_generator_v1": {"rng_algorithm", func(w *writer, o *operation, a attributes) string {
		return " " + w.operands(o) + ", algorithm = " + w.word(a.at["rng_algorithm"], rngAttribute, "DEFAULT",
			"THREE_FRY", "PHILOX")
	}},
	"reduce_precision_v1": {"exponent_bits mantissa_bits", func(w *writer, o *operation, a attributes) string {
		return fmt.Sprintf(" %s, format = e%dm%d", w.operands(o), a.integer("exponent_bits"),
			a.integer("mantissa_bits"))
	}},
	"fft_v1": {"fft_length fft_type", func(w *writer, o *operation, a attributes) string {
		kind := w.word(a.at["fft_type"], fftAttribute, "FFT", "IFFT", "RFFT", "IRFFT")
		return " " + w.operands(o) + ", type = " + kind + ", length = " + a.brackets("fft_length")
	}},
	"call_v1": {"callee", func(w *writer, o *operation, a attributes) string {
		return " @" + w.symbol(a.text("callee")) + "(" + w.operands(o) + ")"
	}},
	"composite_v1": {"composite_attributes decomposition name version", compositeHead},
	"composite_v2": {"composite_attributes decomposition name version", compositeHead},
	"custom_call_v1": {"api_version backend_config call_target_name called_computations has_side_effect " +
		"operand_layouts output_operand_aliases result_layouts", customCallHead},
	"custom_call_v2": {"api_version backend_config call_target_name called_computations has_side_effect " +
		"operand_layouts output_operand_aliases result_layouts result_tilings", customCallHead},
}

func constantHead(w *writer, o *operation, a attributes) string {
	_, raw := w.tensor(a.at["value"])
	return fmt.Sprintf(` dense<"0x%X">`, raw)
}

func sliceHead(w *writer, o *operation, a attributes) string {
	start, limit, stride := a.list("start_indices"), a.list("limit_indices"), a.list("strides")
	if len(limit) != len(start) || len(stride) != len(start) {
		refuse("a slice has %d starts, %d limits and %d strides", len(start), len(limit), len(stride))
	}
	bounds := make([]string, len(start))
	for i := range start {
		bounds[i] = fmt.Sprintf("%d:%d:%d", start[i], limit[i], stride[i])
	}
	return " " + w.operands(o) + " [" + strings.Join(bounds, ", ") + "]"
}

func dotHead(w *writer, o *operation, a attributes) string {
	return fmt.Sprintf(" %s, batching_dims = %s x %s, contracting_dims = %s x %s", w.operands(o),
		a.brackets("lhs_batching_dimensions"), a.brackets("rhs_batching_dimensions"),
		a.brackets("lhs_contracting_dimensions"), a.brackets("rhs_contracting_dimensions"))
}

// convolutionHead writes the order of the axes as letters: b and f are batch and features, i and o the features of
// the kernel, numbers are spatial.
func convolutionHead(w *writer, o *operation, a attributes) string {
	order := func(first, second, spatial, letters string) string {
		places := a.list(spatial)
		axes := make([]string, len(places)+2)
		put := func(place int64, letter string) {
			if place < 0 || place >= int64(len(axes)) || axes[place] != "" {
				refuse("a convolution has an axis %d of %d twice or outside", place, len(axes))
			}
			axes[place] = letter
		}
		put(a.integer(first), letters[:1])
		put(a.integer(second), letters[1:])
		for i, place := range places {
			put(place, strconv.Itoa(i))
		}
		return "[" + strings.Join(axes, ", ") + "]"
	}
	pads := a.list("padding")
	pairs := make([]string, len(pads)/2)
	for i := range pairs {
		pairs[i] = brackets(pads[2*i : 2*i+2])
	}
	return fmt.Sprintf("(%s) dim_numbers = %sx%s->%s, window = {stride = %s, pad = [%s], lhs_dilate = %s, "+
		"rhs_dilate = %s, reverse = %s} {batch_group_count = %d : i64, feature_group_count = %d : i64}", w.operands(o),
		order("input_batch_dimension", "input_feature_dimension", "input_spatial_dimensions", "bf"),
		order("kernel_input_feature_dimension", "kernel_output_feature_dimension", "kernel_spatial_dimensions", "io"),
		order("output_batch_dimension", "output_feature_dimension", "output_spatial_dimensions", "bf"),
		a.brackets("window_strides"), strings.Join(pairs, ", "), a.brackets("lhs_dilation"), a.brackets("rhs_dilation"),
		truths(a.list("window_reversal")), a.integer("batch_group_count"), a.integer("feature_group_count"))
}

// truths are truth values as text: "[false, true]".
func truths(values []int64) string {
	return strings.NewReplacer("0", "false", "1", "true").Replace(brackets(values))
}

func gatherHead(w *writer, o *operation, a attributes) string {
	var lists strings.Builder
	for _, name := range []string{"offset_dims", "collapsed_slice_dims", "operand_batching_dims",
		"start_indices_batching_dims", "start_index_map"} {
		if _, ok := a.at[name]; ok {
			lists.WriteString(name + " = " + a.brackets(name) + ", ")
		}
	}
	sizes := strings.Trim(a.brackets("slice_sizes"), "[]")
	return fmt.Sprintf("(%s) <{dimension_numbers = #stablehlo.gather<%sindex_vector_dim = %d>, "+
		"slice_sizes = array<i64: %s>}>", w.operands(o), lists.String(), a.integer("index_vector_dim"), sizes)
}

func scatterHead(w *writer, o *operation, a attributes) string {
	var lists strings.Builder
	for _, name := range []string{"update_window_dims", "inserted_window_dims", "input_batching_dims",
		"scatter_indices_batching_dims", "scatter_dims_to_operand_dims"} {
		if _, ok := a.at[name]; ok {
			lists.WriteString(name + " = " + a.brackets(name) + ", ")
		}
	}
	return fmt.Sprintf("(%s) <{scatter_dimension_numbers = #stablehlo.scatter<%sindex_vector_dim = %d>, "+
		"unique_indices = %t}>", w.operands(o), lists.String(), a.integer("index_vector_dim"),
		a.truth("unique_indices"))
}

func compositeHead(w *writer, o *operation, a attributes) string {
	return fmt.Sprintf(" %q %s {decomposition = @%s}", word(a.text("name")), w.operands(o),
		w.symbol(a.text("decomposition")))
}

func customCallHead(w *writer, o *operation, a attributes) string {
	head := " @" + word(a.text("call_target_name")) + "(" + w.operands(o) + ")"
	if o.others > 0 {
		head += " {" + w.counted(w.config(o.others-1)) + "}"
	}
	return head
}
