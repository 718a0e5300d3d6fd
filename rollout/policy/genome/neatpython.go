package genome

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// pythonNetwork is a network as the function export_network_json of the package neat-python (2.0.0, neat.export) writes
// it: format 1.0, with the nodes and connections that its outputs need.
type pythonNetwork struct {
	Version  string         `json:"format_version"`
	Type     string         `json:"network_type"`
	Metadata map[string]any `json:"metadata"`
	Topology struct {
		Inputs  []int `json:"input_keys"`
		Outputs []int `json:"output_keys"`
	} `json:"topology"`
	Nodes []struct {
		ID                      int
		Activation, Aggregation struct {
			Name   string
			Custom bool
		}
		Bias, Response float64
	} `json:"nodes"`
	Connections []struct {
		From, To int
		Weight   float64
		Enabled  bool
	} `json:"connections"`
}

// pythonActivations are neat-python's activations that are one of ours of a multiple of its input. Ours are not clamped
// before: only the sine differs then, beyond ±60.
var pythonActivations = map[string]struct {
	name     string
	multiple float64
}{
	"sigmoid": {"sigmoid", 5}, "tanh": {"tanh", 2.5}, "sin": {"sin", 5}, "gauss": {"gauss", math.Sqrt(5)},
	"relu": {"relu", 1}, "identity": {"identity", 1}, "clamped": {"clamped", 1}, "abs": {"abs", 1}, "hat": {"hat", 1},
	"square": {"square", 1},
}

// readPython returns a network of neat-python as a document. Inputs, outputs and hidden nodes get new numbers in this
// order.
func readPython(text []byte) (d Document, err error) {
	var p pythonNetwork
	if err := decode(text, &p, "a network of neat-python", false); err != nil {
		return d, err
	}
	switch {
	case p.Version != "1.0":
		return d, fmt.Errorf("has the format %q of neat-python, want 1.0", p.Version)
	case p.Type != "feedforward" && p.Type != "recurrent":
		return d, fmt.Errorf("is a network of the type %q, want feedforward or recurrent", p.Type)
	}
	d.Recurrent, d.Metadata = p.Type == "recurrent", map[string]string{}
	for key, v := range p.Metadata {
		d.Metadata[key] = fmt.Sprint(v)
	}
	number := map[int]int{}
	// Nodes that neat-python does not compute are 0 in it.
	add := func(id int, kind string) {
		if _, ok := number[id]; ok {
			return
		}
		number[id] = len(d.Nodes)
		node := NodeDocument{Number: len(d.Nodes), Kind: kind}
		if kind != kindInput {
			node.Activation, node.Aggregation = "identity", "sum"
		}
		d.Nodes = append(d.Nodes, node)
	}
	for _, id := range p.Topology.Inputs {
		add(id, kindInput)
	}
	for _, id := range p.Topology.Outputs {
		add(id, kindOutput)
	}
	for _, n := range p.Nodes {
		add(n.ID, kindHidden)
	}
	for _, c := range p.Connections {
		add(c.From, kindHidden)
		add(c.To, kindHidden)
		d.Connections = append(d.Connections, ConnectionDocument{Innovation: len(d.Connections), From: number[c.From],
			To: number[c.To], Weight: c.Weight, Enabled: c.Enabled})
	}
	for _, n := range p.Nodes {
		if slices.Contains(p.Topology.Inputs, n.ID) {
			continue
		}
		f, ok := pythonActivations[n.Activation.Name]
		if !ok || n.Activation.Custom {
			return d, fmt.Errorf("node %d has the activation %q, which genomes do not have", n.ID, n.Activation.Name)
		}
		if n.Aggregation.Custom || !slices.Contains(AggregationNames(), n.Aggregation.Name) {
			return d, fmt.Errorf("node %d has the aggregation %q, want one of %v", n.ID, n.Aggregation.Name,
				AggregationNames())
		}
		node := &d.Nodes[number[n.ID]]
		node.Activation, node.Aggregation = f.name, n.Aggregation.Name
		node.Bias, node.Response = f.multiple*n.Bias, f.multiple*n.Response
	}
	return d, d.check()
}

// Settings are the settings of the policy "genome" that has room for the document.
func (d Document) Settings() map[string]any {
	var activations, aggregations []string
	for _, n := range d.Nodes {
		if n.Kind != kindInput && !slices.Contains(activations, n.Activation) {
			activations = append(activations, n.Activation)
		}
		if n.Kind != kindInput && !slices.Contains(aggregations, n.Aggregation) {
			aggregations = append(aggregations, n.Aggregation)
		}
	}
	return map[string]any{"nodes": len(d.Nodes), "connections": max(1, len(d.Connections)), "initial": "none",
		"recurrent": d.Recurrent, "activations": strings.Join(activations, ","),
		"aggregations": strings.Join(aggregations, ",")}
}
