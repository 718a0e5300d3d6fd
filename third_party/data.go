package thirdparty

import _ "embed"

// DataPins is the text of data.toml. The comment at the top of the file describes the fields.
//
//go:embed data.toml
var DataPins []byte
