package thirdparty

import _ "embed"

// Targets is the text of targets.toml. The comment at the top of the file describes the fields.
//
//go:embed targets.toml
var Targets []byte
