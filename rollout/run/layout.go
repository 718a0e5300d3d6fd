package run

// Layout has the settings of how members are computed together on a device (plan.Plan); 0: chosen. Results depend on it
// in the last digits. They do not depend on the number of devices.
type Layout struct {
	Tile      int  `set:"tile" advanced:"" min:"1" max:"16777216" zero:"the default" help:"members that play together on a device; 0 to choose"`
	BatchLast bool `set:"batch-last" advanced:"" help:"keep the members on the last axis"`
	Unroll    int  `set:"unroll" advanced:"" min:"1" max:"64" zero:"the default" help:"steps in one iteration of the loop; 0 to choose"`
}
