package notebook

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"os"
)

// Picture shows a picture or an animation: the bytes of a GIF, PNG or JPEG file. title stands above it; "" for none.
func Picture(title string, file []byte) error {
	kind := ""
	for _, f := range []struct{ start, kind string }{{"GIF8", "gif"}, {"\x89PNG", "png"}, {"\xff\xd8", "jpeg"}} {
		if bytes.HasPrefix(file, []byte(f.start)) {
			kind = f.kind
		}
	}
	if kind == "" {
		return fmt.Errorf("notebook.Picture: got %d bytes that are no picture, want a GIF, PNG or JPEG", len(file))
	}
	if !Active() {
		return nil
	}
	head := ""
	if title != "" {
		head = "<div>" + escape(title) + "</div>"
	}
	HTML(fmt.Sprintf(`%s<img style="max-width:100%%" alt="%s" src="data:image/%s;base64,%s">`, head, escape(title),
		kind, base64.StdEncoding.EncodeToString(file)), fmt.Sprintf("%s (%s, %d bytes)", title, kind, len(file)))
	return nil
}

// PictureFile shows a picture or an animation from a file, such as best.gif of a run.
func PictureFile(title, path string) error {
	file, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return Picture(title, file)
}
