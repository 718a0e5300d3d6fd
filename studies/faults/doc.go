// Package faults is a test bench: studies whose processes are killed and suspended, whose links are cut, slow and
// lossy, whose clocks are set, whose disks are full, whose database is restarted, whose coordinator moves and whose
// workers are of another version. It has tests only.
//
// A history is one study with a coordinator, a database and four workers, each a process in a network of its own. A
// seed gives the list of faults. At the end a checker looks at what the database and the coordinators have recorded.
// XLARUN_LONG=1 makes 200 histories. XLARUN_FAULTS=SEED makes the one of a seed, and XLARUN_FAULTS=1-20 those of the
// seeds 1 to 20, of the same form.
package faults
