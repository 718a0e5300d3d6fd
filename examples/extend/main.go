// Command extend is xlarun with three environments, two policies, a strategy, a term of ppo's loss, an emitter and a
// descriptor of qd, and two kinds of run of its own, one file each. Every command knows what is registered.
package main

import "xlarun/cmd/xlarun/cli"

func main() { cli.Main() }
