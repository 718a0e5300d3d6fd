package thirdparty

import _ "embed"

// Topologies is the text of topologies.toml. The comment at the top of the file describes the fields.
//
//go:embed topologies.toml
var Topologies []byte
