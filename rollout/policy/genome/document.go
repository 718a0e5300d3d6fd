package genome

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"sort"

	"xlarun/graph"
)

// Document is a genome as people and other programs read it, in JSON. Nodes and connections have their numbers, not
// their places, and there is no padding.
type Document struct {
	Recurrent   bool                 `json:"recurrent"`
	Nodes       []NodeDocument       `json:"nodes"`
	Connections []ConnectionDocument `json:"connections"`
	// Metadata say where the genome is from.
	Metadata map[string]string `json:"metadata,omitempty"`
}

// NodeDocument is a node. Inputs have only a number and a kind.
type NodeDocument struct {
	Number      int     `json:"number"`
	Kind        string  `json:"kind"` // "input", "output" or "hidden"
	Bias        float64 `json:"bias"`
	Response    float64 `json:"response"`
	Activation  string  `json:"activation,omitempty"`
	Aggregation string  `json:"aggregation,omitempty"`
}

// ConnectionDocument is a connection between the nodes with these numbers.
type ConnectionDocument struct {
	Innovation int     `json:"innovation"`
	From       int     `json:"from"`
	To         int     `json:"to"`
	Weight     float64 `json:"weight"`
	Enabled    bool    `json:"enabled"`
}

// Values of NodeDocument.Kind.
const (
	kindInput  = "input"
	kindOutput = "output"
	kindHidden = "hidden"
)

func (n *Network) kind(place int) string {
	switch {
	case place < n.Inputs:
		return kindInput
	case place < n.Inputs+n.Outputs:
		return kindOutput
	}
	return kindHidden
}

// Document returns a concrete genome as a document.
func (n *Network) Document(g Genome) (d Document, err error) {
	read := func(a *graph.Array) (v []float64) {
		if err == nil {
			v, err = graph.Floats(a.Convert(graph.Float64)) // whole numbers of 32 bits are exact
		}
		return v
	}
	number, bias, response := read(g.Nodes.Number), read(g.Nodes.Bias), read(g.Nodes.Response)
	activation, aggregation := read(g.Nodes.Activation), read(g.Nodes.Aggregation)
	c := g.Connections
	innovation, from, to, weight := read(c.Number), read(c.From), read(c.To), read(c.Weight)
	enabled := read(c.Enabled.Convert(graph.Int32))
	if err != nil {
		return d, err
	}
	d.Recurrent, d.Nodes, d.Connections = n.Recurrent, []NodeDocument{}, []ConnectionDocument{}
	for i, k := range number {
		if k == None {
			continue
		}
		node := NodeDocument{Number: int(k), Kind: n.kind(i)}
		if i >= n.Inputs {
			node.Bias, node.Response = bias[i], response[i]
			node.Activation, node.Aggregation = n.Activations[int(activation[i])], n.Aggregations[int(aggregation[i])]
		}
		d.Nodes = append(d.Nodes, node)
	}
	for i, k := range innovation {
		if k != None {
			d.Connections = append(d.Connections, ConnectionDocument{int(k), int(number[int(from[i])]),
				int(number[int(to[i])]), weight[i], enabled[i] != 0})
		}
	}
	return d, nil
}

// ReadDocument reads a document from JSON, and checks it. It also reads networks that neat-python's export_network_json
// wrote.
func ReadDocument(text []byte) (d Document, err error) {
	var other struct {
		Type string `json:"network_type"`
	}
	if json.Unmarshal(text, &other) == nil && other.Type != "" {
		return readPython(text)
	}
	if err := decode(text, &d, "a genome", true); err != nil {
		return d, err
	}
	if err := complete(text); err != nil {
		return d, err
	}
	return d, d.check()
}

const wantsSingle = "a finite number that float32 holds"

// single reports whether float32 holds a number, rounded.
func single(x float64) bool { return !math.IsNaN(x) && !math.IsInf(float64(float32(x)), 0) }

// check finds the first mistake.
func (d Document) check() error {
	kinds, rank := map[int]string{}, []string{kindInput, kindOutput, kindHidden}
	last := 0
	for _, n := range d.Nodes {
		at := slices.Index(rank, n.Kind)
		switch {
		case at < 0:
			return fmt.Errorf("node %d is of kind %q, want input, output or hidden", n.Number, n.Kind)
		case at < last:
			return fmt.Errorf("node %d comes too late: inputs come first, then outputs, then hidden nodes", n.Number)
		case n.Number < 0 || n.Number >= None || kinds[n.Number] != "":
			return fmt.Errorf("node %d: want numbers from 0 on, each once", n.Number)
		case at > 0 && !slices.Contains(ActivationNames(), n.Activation):
			return fmt.Errorf("node %d has the activation %q, want one of %v", n.Number, n.Activation,
				ActivationNames())
		case at > 0 && !slices.Contains(AggregationNames(), n.Aggregation):
			return fmt.Errorf("node %d has the aggregation %q, want one of %v", n.Number, n.Aggregation,
				AggregationNames())
		case !single(n.Bias):
			return fmt.Errorf("node %d has the bias %g, want %s", n.Number, n.Bias, wantsSingle)
		case !single(n.Response):
			return fmt.Errorf("node %d has the response %g, want %s", n.Number, n.Response, wantsSingle)
		}
		last, kinds[n.Number] = at, n.Kind
	}
	seen := map[int]bool{}
	for _, c := range d.Connections {
		switch {
		case c.Innovation < 0 || c.Innovation >= None || seen[c.Innovation]:
			return fmt.Errorf("connection %d: want innovation numbers from 0 on, each once", c.Innovation)
		case kinds[c.From] == "" || kinds[c.To] == "":
			return fmt.Errorf("connection %d is from node %d to node %d, want nodes of the genome", c.Innovation,
				c.From, c.To)
		case kinds[c.To] == kindInput:
			return fmt.Errorf("connection %d ends at the input %d", c.Innovation, c.To)
		case !single(c.Weight):
			return fmt.Errorf("connection %d has the weight %g, want %s", c.Innovation, c.Weight, wantsSingle)
		}
		seen[c.Innovation] = true
	}
	if _, cycle := d.layers(); cycle && !d.Recurrent {
		return errors.New("its connections form a cycle, but recurrent is false")
	}
	return nil
}

// layers returns the length of the longest path to each node, by its number, over connections that are on. cycle
// reports whether there is a cycle: a path as long as the number of nodes passes one of them twice.
func (d Document) layers() (layer map[int]int, cycle bool) {
	layer = map[int]int{}
	changed := true
	for turn := 0; changed && turn <= len(d.Nodes); turn++ {
		changed = false
		for _, c := range d.Connections {
			if c.Enabled && layer[c.To] <= layer[c.From] && layer[c.From] < len(d.Nodes) {
				layer[c.To], changed = layer[c.From]+1, true
				cycle = cycle || layer[c.To] >= len(d.Nodes)
			}
		}
	}
	return layer, cycle
}

// Genome returns the arrays of a document. It wants the network's inputs and outputs, and room for the rest.
func (n *Network) Genome(d Document) (g Genome, err error) {
	if err := d.check(); err != nil {
		return g, err
	}
	count := map[string]int{}
	for _, node := range d.Nodes {
		count[node.Kind]++
	}
	switch {
	case count[kindInput] != n.Inputs || count[kindOutput] != n.Outputs:
		return g, fmt.Errorf("the genome has %d inputs and %d outputs, want %d and %d", count[kindInput],
			count[kindOutput], n.Inputs, n.Outputs)
	case len(d.Nodes) > n.Nodes:
		return g, fmt.Errorf("the genome has %d nodes, and there is room for %d: --policy.nodes", len(d.Nodes), n.Nodes)
	case len(d.Connections) > n.Connections:
		return g, fmt.Errorf("the genome has %d connections, and there is room for %d: --policy.connections",
			len(d.Connections), n.Connections)
	case d.Recurrent && !n.Recurrent:
		return g, errors.New("the genome is recurrent, and the policy is not: give its setting recurrent")
	case !d.Recurrent && n.Recurrent:
		return g, errors.New("the genome is not recurrent, and the policy is: a node would read the values of the " +
			"step before")
	}
	number, bias, response := make([]int32, n.Nodes), make([]float32, n.Nodes), make([]float32, n.Nodes)
	activation, aggregation := make([]int32, n.Nodes), make([]int32, n.Nodes)
	place := map[int]int32{}
	for i := range number {
		if number[i], response[i] = None, 1; i >= len(d.Nodes) {
			continue
		}
		node := d.Nodes[i]
		number[i], place[node.Number] = int32(node.Number), int32(i)
		if i < n.Inputs {
			continue
		}
		a, b := slices.Index(n.Activations, node.Activation), slices.Index(n.Aggregations, node.Aggregation)
		if a < 0 || b < 0 {
			return g, fmt.Errorf("node %d has the activation %s and the aggregation %s, and the policy has %v and %v",
				node.Number, node.Activation, node.Aggregation, n.Activations, n.Aggregations)
		}
		bias[i], response[i] = float32(node.Bias), float32(node.Response)
		activation[i], aggregation[i] = int32(a), int32(b)
	}
	innovation, from, to := make([]int32, n.Connections), make([]int32, n.Connections), make([]int32, n.Connections)
	weight, enabled := make([]float32, n.Connections), make([]bool, n.Connections)
	ordered := slices.Clone(d.Connections)
	sort.Slice(ordered, func(i, j int) bool { return ordered[i].Innovation < ordered[j].Innovation })
	for i := range innovation {
		if innovation[i] = None; i >= len(ordered) {
			continue
		}
		c := ordered[i]
		innovation[i], from[i], to[i] = int32(c.Innovation), place[c.From], place[c.To]
		weight[i], enabled[i] = float32(c.Weight), c.Enabled
	}
	return Genome{Nodes{graph.Int32s(number), graph.Float32s(bias), graph.Float32s(response), graph.Int32s(activation),
		graph.Int32s(aggregation)}, Connections{graph.Int32s(innovation), graph.Int32s(from), graph.Int32s(to),
		graph.Float32s(weight), graph.Of(enabled)}}, nil
}
