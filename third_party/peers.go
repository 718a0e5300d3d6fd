package thirdparty

import "embed"

// Peers are the comparison programs in the folder peers, those that run in Python with the requirements*.txt of their
// environment and those in C, so that an installed binary has them.
//
//go:embed peers/*.py peers/*.c peers/requirements*.txt
var Peers embed.FS
