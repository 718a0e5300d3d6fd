// Package fetch downloads pinned files into the cache folder. A file is fetched from the first source that has it, an
// interrupted download is resumed, and the pinned size and sha256 decide whether the file is accepted. The package also
// holds the lock between processes that install files. Its users know the registries: xlabridge/plugin knows Python's
// package index, rollout/dataset knows npm.
package fetch
