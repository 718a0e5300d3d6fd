package runfolder

import (
	"io"

	"xlarun/graph"
	"xlarun/graph/safetensors"
)

// ReadFile reads a file of the folder.
func (f *Folder) ReadFile(name string) ([]byte, error) {
	file, err := f.current().Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	return io.ReadAll(io.NewSectionReader(file, 0, info.Size()))
}

// openArrays opens a safetensors file, which has size bytes, and calls read.
func (f *Folder) openArrays(name string, read func(in *safetensors.File, file io.ReaderAt, size int64) error) error {
	file, err := f.current().Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	in, err := safetensors.New(file, info.Size())
	if err != nil {
		return err
	}
	return read(in, file, info.Size())
}

func allArrays(in *safetensors.File) (map[string]*graph.Array, error) {
	arrays := map[string]*graph.Array{}
	for _, name := range in.Names() {
		var err error
		if arrays[name], err = in.Array(name); err != nil {
			return nil, err
		}
	}
	return arrays, nil
}
