// Package nir reads and writes graphs of the Neuromorphic Intermediate Representation (Pedersen et al., "Neuromorphic
// intermediate representation: A unified instruction set for interoperable brain-inspired computing", 2024), as version
// 1.0.8 of its Python package nir does, and converts them to and from layers of package nn.
//
// A Graph is the contents of a file, with nodes of any type. Layers and FromLayers support chains of Input, Output,
// Affine, Linear, Conv2d, Flatten (of all axes), LIF, CubaLIF and LI. A spiking node can have a Linear from itself to
// itself, either flat or in a nested NIRGraph. They refuse padding that differs before and after, padding "same" with
// strides, Conv1d, pooling, and recurrent convolutions.
package nir

import (
	"fmt"
	"maps"
	"os"
	"slices"

	"xlarun/graph/nn/nir/hdf5"
)

// Version is the version of the Python package nir in written files.
const Version = "1.0.8"

// Graph is nodes by name, and edges from one to another.
type Graph struct {
	Nodes map[string]*Node
	Edges [][2]string
}

// Node is a node's type, such as "LIF", and its parameters by name. Times are in seconds; the file does not state other
// units.
type Node struct {
	Type   string
	Params map[string]*hdf5.Set
	Sub    *Graph // of the type NIRGraph
	// Metadata is free-form data of the file's writer; nil: none.
	Metadata *hdf5.Group
}

const graphType = "NIRGraph"

// largestFile bounds the size of a file that is read, which is held in memory.
const largestFile = 1 << 31

// ReadFile reads a file of at most 2 GiB.
func ReadFile(name string) (*Graph, error) {
	info, err := os.Stat(name)
	switch {
	case err != nil:
		return nil, fmt.Errorf("nir: %w", err)
	case !info.Mode().IsRegular(): // opening a pipe would wait
		return nil, fmt.Errorf("nir: %s: it is no file", name)
	case info.Size() > largestFile:
		return nil, fmt.Errorf("nir: %s: it has %d bytes, want at most %d", name, info.Size(), int64(largestFile))
	}
	b, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("nir: %w", err)
	}
	g, err := Read(b)
	if err != nil {
		return nil, fmt.Errorf("nir: %s: %w", name, err)
	}
	return g, nil
}

// WriteFile writes a file.
func (g *Graph) WriteFile(name string) error {
	b, err := g.Write()
	if err != nil {
		return err
	}
	return os.WriteFile(name, b, 0o644)
}

// Read reads the bytes of a file.
func Read(file []byte) (*Graph, error) {
	root, err := hdf5.Read(file)
	if err != nil {
		return nil, err
	}
	top, ok := root.Items["node"].(*hdf5.Group)
	if !ok {
		return nil, fmt.Errorf("the file has no group node: it is no graph of nir")
	}
	n, err := readNode(top)
	if err != nil {
		return nil, err
	}
	if n.Sub == nil {
		return nil, fmt.Errorf("the file holds a %s by itself, want a %s", n.Type, graphType)
	}
	return n.Sub, nil
}

func readNode(g *hdf5.Group) (*Node, error) {
	n := &Node{Params: map[string]*hdf5.Set{}}
	for name, item := range g.Items {
		switch item := item.(type) {
		case *hdf5.Set:
			n.Params[name] = item
		case *hdf5.Group:
			if name == "metadata" {
				n.Metadata = item
			}
		}
	}
	kind, ok := n.Params["type"]
	if !ok {
		return nil, fmt.Errorf("a node has no type")
	}
	delete(n.Params, "type")
	var err error
	if n.Type, err = kind.Text(); err != nil {
		return nil, fmt.Errorf("a node's type: %w", err)
	}
	if n.Type != graphType {
		return n, nil
	}
	n.Sub = &Graph{Nodes: map[string]*Node{}}
	nodes, ok := g.Items["nodes"].(*hdf5.Group)
	if !ok {
		return nil, fmt.Errorf("a %s has no nodes", graphType)
	}
	for name, item := range nodes.Items {
		sub, ok := item.(*hdf5.Group)
		if !ok {
			return nil, fmt.Errorf("the node %s is no group", name)
		}
		if n.Sub.Nodes[name], err = readNode(sub); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	if edges := n.Params["edges"]; edges != nil && edges.Len() > 0 {
		ends, ok := edges.Data.([]string)
		if !ok || len(edges.Dims) != 2 || edges.Dims[1] != 2 {
			return nil, fmt.Errorf("edges are of dims %v, want names [n, 2]", edges.Dims)
		}
		for pair := range slices.Chunk(ends, 2) {
			n.Sub.Edges = append(n.Sub.Edges, [2]string{pair[0], pair[1]})
		}
	}
	delete(n.Params, "edges")
	return n, nil
}

// Write encodes a file with the graph.
func (g *Graph) Write() ([]byte, error) {
	if err := g.check(); err != nil {
		return nil, err
	}
	root := hdf5.NewGroup()
	top, err := g.group()
	if err != nil {
		return nil, err
	}
	root.Items["version"], root.Items["node"] = text(Version), top
	return hdf5.Write(root)
}

// check checks that the ends of all edges are nodes.
func (g *Graph) check() error {
	for _, e := range g.Edges {
		for _, end := range e {
			if g.Nodes[end] == nil {
				return fmt.Errorf("nir: there is an edge %s to %s, but no node %s; there are %v", e[0], e[1], end,
					slices.Sorted(maps.Keys(g.Nodes)))
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(g.Nodes)) {
		if sub := g.Nodes[name].Sub; sub != nil {
			if err := sub.check(); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	return nil
}

func text(s string) *hdf5.Set { return &hdf5.Set{Data: []string{s}} }

func (g *Graph) group() (*hdf5.Group, error) {
	nodes := hdf5.NewGroup()
	for name, n := range g.Nodes {
		sub := hdf5.NewGroup()
		if n.Sub != nil {
			var err error
			if sub, err = n.Sub.group(); err != nil {
				return nil, err
			}
		}
		for key, set := range n.Params {
			sub.Items[key] = set
		}
		sub.Items["type"] = text(n.Type)
		if n.Metadata != nil {
			sub.Items["metadata"] = n.Metadata
		}
		nodes.Items[name] = sub
	}
	var ends []string
	for _, e := range g.Edges {
		ends = append(ends, e[0], e[1])
	}
	top := hdf5.NewGroup()
	top.Items["type"], top.Items["nodes"] = text(graphType), nodes
	top.Items["edges"] = &hdf5.Set{Dims: []int{len(g.Edges), 2}, Data: ends}
	return top, nil
}
