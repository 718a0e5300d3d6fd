package thirdparty

import "embed"

// Peers holds the comparison programs in Python and C, and the requirements*.txt of their Python environments. They are
// embedded so that an installed binary has them.
//
//go:embed peers/*.py peers/*.c peers/requirements*.txt
var Peers embed.FS
