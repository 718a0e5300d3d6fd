// Command xlarun-study has the commands study, serve, work and copy. xlarun hands these over to it, so that xlarun
// itself needs no database, no message server and no client of object stores.
package main

import (
	_ "xlarun/cmd/xlarun-study/command"
	"xlarun/cmd/xlarun/cli"
)

func main() { cli.Main() }
