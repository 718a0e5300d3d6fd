package runfolder

import "encoding/json"

// WriteJSON puts a value in the folder, as indented JSON, whole or not at all.
func (f *Folder) WriteJSON(name string, value any) error {
	text, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return err
	}
	return f.Write(name, append(text, '\n'))
}
