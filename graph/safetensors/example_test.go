package safetensors_test

import (
	"fmt"
	"log"
	"os"
	"path/filepath"

	"xlarun/graph"
	"xlarun/graph/safetensors"
)

// A tree is saved by the names of its leaves, and read back into a tree of the same type.
func Example() {
	type layer struct{ Kernel, Bias *graph.Array }
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "layer.safetensors")
	saved := layer{graph.Of([]float32{1, 2}), graph.Scalar(3)}
	if err := safetensors.Save(file, saved, map[string]string{"task": "an example"}); err != nil {
		log.Fatal(err)
	}
	read, err := safetensors.Load(file, saved) // shapes and types of the example are checked
	fmt.Println(read.Kernel, read.Bias, err)
	// Output: f32[2] {1 2} f32[] 3 <nil>
}
