package policy

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// nirType is a type of layers.
type nirType struct {
	name      string
	cell      nirCell // nil: weights
	bias      bool    // the weights have a bias
	recurrent bool    // the neurons feed themselves
}

// nirTypes are the types of layers that the setting layers may have.
var nirTypes = []nirType{
	{name: "affine", bias: true},
	{name: "linear"},
	{name: "lif", cell: lifCell{}},
	{name: "rlif", cell: lifCell{}, recurrent: true},
	{name: "cubalif", cell: cubaLIFCell{}},
	{name: "rcubalif", cell: cubaLIFCell{}, recurrent: true},
	{name: "li", cell: liCell{}},
}

// nirKind is the structure of a layer.
type nirKind struct {
	nirType
	in, out int
}

// dense reports whether the layer is weights.
func (t nirType) dense() bool { return t.cell == nil }

// integrates reports whether the layer is neurons that send no spikes.
func (t nirType) integrates() bool { return t.cell != nil && !t.cell.spikes() }

func (k nirKind) String() string {
	if k.dense() {
		return fmt.Sprintf("%s:%d:%d", k.name, k.in, k.out)
	}
	return fmt.Sprintf("%s:%d", k.name, k.out)
}

// readKinds reads the setting layers.
func readKinds(text string) (all []nirKind, err error) {
	for part := range strings.SplitSeq(text, ",") {
		name, sizes, _ := strings.Cut(part, ":")
		var names []string
		i := slices.IndexFunc(nirTypes, func(t nirType) bool {
			names = append(names, t.name)
			return t.name == name
		})
		if i < 0 {
			return nil, fmt.Errorf("there is no layer %q among %s", name, strings.Join(names, ", "))
		}
		k := nirKind{nirType: nirTypes[i]}
		var numbers []int
		for text := range strings.SplitSeq(sizes, ":") {
			n, err := strconv.Atoi(text)
			if err != nil || n < 1 || n > maxWidth {
				return nil, fmt.Errorf("%s has the size %q, want 1 to %d", part, text, maxWidth)
			}
			numbers = append(numbers, n)
		}
		want := 1
		if k.dense() {
			want = 2
		}
		if len(numbers) != want {
			return nil, fmt.Errorf("%s has %d sizes, want %d", part, len(numbers), want)
		}
		k.in, k.out = numbers[0], numbers[want-1]
		if len(all) > 0 && all[len(all)-1].out != k.in {
			return nil, fmt.Errorf("%s takes %d inputs, the layer before gives %d", part, k.in, all[len(all)-1].out)
		}
		all = append(all, k)
	}
	return all, nil
}

// structure returns the setting layers of the network.
func (p *NIR) structure() string {
	var parts []string
	for _, k := range p.layers {
		parts = append(parts, k.String())
	}
	return strings.Join(parts, ",")
}

// levels reports whether layer i is an LI after weights. Its step is v' = v + (1 - decay)*(x - v). So the
// weights equal those of a file with r = 1, for any time constant.
func (p *NIR) levels(i int) bool { return p.layers[i].integrates() && i > 0 && p.layers[i-1].dense() }

// resize changes the number of outputs: that of the last linear layer, and of the neurons behind it.
func (p *NIR) resize(outputs int) error {
	last := len(p.layers) - 1
	for ; last >= 0 && !p.layers[last].dense(); last-- {
		if p.layers[last].recurrent {
			return errors.New("its last neurons feed themselves")
		}
	}
	if last < 0 {
		return errors.New("it has no weights")
	}
	p.firstResized = last
	p.layers = slices.Clone(p.layers)
	for i := last; i < len(p.layers); i++ {
		if p.layers[i].out = outputs; i > last {
			p.layers[i].in = outputs
		}
	}
	return nil
}
