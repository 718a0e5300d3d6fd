// Command xlarun-study has the commands study, serve and work. xlarun hands these over to it, so that xlarun itself
// needs neither databases nor a message server.
package main

import (
	_ "xlarun/cmd/xlarun-study/command"
	"xlarun/cmd/xlarun/cli"
)

func main() { cli.Main() }
