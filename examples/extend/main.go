// Command extend is xlarun with an environment, a policy, a strategy and a kind of run of its own: a file each. What is
// registered, every command knows.
package main

import "xlarun/cmd/xlarun/cli"

func main() { cli.Main() }
