package xlabridge

import (
	"fmt"

	"xlarun/graph"
)

// ShardMap is graph.ShardMap on a mesh of real devices. It splits each leaf of the argument over the mesh by the spec
// in, runs f on all devices at the same time, and returns global arrays whose parts have the spec out. A leaf that is
// already split in this way, such as an earlier result, is not moved. f is traced and compiled once for each structure
// and set of shapes. The call runs immediately, so it cannot be traced, mapped or differentiated. Use transforms inside
// f (see graph.ShardMap for their gradients), or around graph.ShardMap.
func ShardMap[A, R any](c *Client, f func(A) R, m graph.Mesh, in, out graph.Spec,
	options ...JitOptions) func(A) (R, error) {
	var o JitOptions
	if len(options) > 0 {
		o = options[0]
	}
	o.Trace.Mesh = m
	j := newJit(c, []JitOptions{o}, func(args []any) any { return f(as[A](args[0])) })
	return func(a A) (r R, err error) {
		var leaves []*graph.Array
		var tree *graph.Tree
		if err := graph.Try(func() { leaves, tree = graph.Flatten(a) }); err != nil {
			return r, err
		}
		for i, x := range leaves {
			if x.IsTraced() {
				return r, fmt.Errorf("xlabridge: ShardMap: leaf %s of the argument is a %s, but the call runs at "+
					"once and cannot be compiled, mapped or differentiated: transform the function inside, or use "+
					"graph.ShardMap here", tree.Path(i), x)
			}
		}
		parts := make([]*graph.Array, len(leaves))
		key := tree.Key()
		err = graph.Try(func() {
			for i, x := range leaves {
				parts[i] = graph.Abstract(in.Cut(m, x.Shape()))
				key += parts[i].Shape().String()
			}
		})
		if err != nil {
			return r, err
		}
		x, err := j.program(key, []any{tree.Unflatten(parts)})
		if err != nil {
			return r, err
		}
		defer x.release()
		data := make([]*deviceData, len(leaves))
		for i, leaf := range leaves {
			moved := false
			if data[i], moved, err = c.shard(leaf, m, in); err != nil {
				return r, err
			}
			if moved {
				defer data[i].close()
			}
		}
		outs, err := x.run(data)
		if err != nil {
			return r, err
		}
		results := make([]*graph.Array, len(outs))
		for i, d := range outs {
			part := x.Program.Outputs[i]
			var shape graph.Shape
			if err := graph.Try(func() { shape = out.Join(m, part) }); err != nil {
				return r, err
			}
			results[i] = graph.FromData(shape, &shardedData{deviceData: *d, mesh: m, spec: out, part: part,
				shape: shape})
		}
		return as[R](x.Program.OutTree().Unflatten(results)), nil
	}
}
