package safetensors

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"xlarun/graph"
)

// flatten lists a tree's arrays and their names in a file.
func flatten(tree any) (leaves []*graph.Array, t *graph.Tree, names []string, err error) {
	if err := graph.Try(func() { leaves, t = graph.Flatten(tree) }); err != nil {
		return nil, nil, nil, err
	}
	taken := map[string]int{}
	for i := range leaves {
		name := Name(t.Path(i))
		if other, ok := taken[name]; ok {
			return nil, nil, nil, fmt.Errorf("%s and %s would both be tensor %q: rename a field or map key",
				t.Path(other), t.Path(i), name)
		}
		if name == metadataKey || !utf8.ValidString(name) {
			return nil, nil, nil, fmt.Errorf("%s cannot be the name of a tensor: rename the map key", t.Path(i))
		}
		taken[name] = i
		names = append(names, name)
	}
	return leaves, t, names, nil
}

// Name is the tensor's name of an array at a path of a tree: the parts joined by dots, as Python names parameters.
// ".Layers[0].W" is "Layers.0.W", `.Nets["actor"].B` is "Nets.actor.B"; a tree that is one array is "value".
func Name(path string) string {
	var parts []string
	for path != "" {
		if path[0] != '[' {
			path = strings.TrimPrefix(path, ".")
			end := strings.IndexAny(path, ".[")
			if end < 0 {
				end = len(path)
			}
			parts, path = append(parts, path[:end]), path[end:]
			continue
		}
		key := path[1:]
		if quoted, err := strconv.QuotedPrefix(key); err == nil {
			text, _ := strconv.Unquote(quoted)
			parts, path = append(parts, text), strings.TrimPrefix(key[len(quoted):], "]")
			continue
		}
		end := strings.IndexByte(key, ']')
		if end < 0 {
			return strings.Join(append(parts, key), ".")
		}
		parts, path = append(parts, key[:end]), key[end+1:]
	}
	return strings.Join(parts, ".")
}
