package xlabridge

// CompileInfo describes how a program was compiled or loaded.
type CompileInfo struct {
	// Cache is cache.Hit, cache.Miss or cache.Off.
	Cache string `json:"cache"`
	// Reason says why it is not a hit, why it was not stored, and which default options the plugin did not accept. Of a
	// hit, it says whether the program was compiled without its device.
	Reason string `json:"reason,omitempty"`
	// Stored reports whether the program is in the cache.
	Stored bool `json:"stored"`
	// Trouble is a problem in Reason as one sentence for the user: an entry that is damaged or not trusted, or a cache
	// that cannot be written. It may be empty.
	Trouble string `json:"trouble,omitempty"`
	// Key is the program's key in the cache; empty without a cache.
	Key string `json:"key,omitempty"`
	// Seconds is the time of lowering and of loading or compiling.
	Seconds float64 `json:"seconds"`
	// Bytes is the size of the serialized program; 0 if it was not serialized.
	Bytes int `json:"bytes"`
}
