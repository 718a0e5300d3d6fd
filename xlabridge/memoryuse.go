package xlabridge

// ProgramMemory is the memory that a program needs on one device, in bytes, as computed by the compiler.
type ProgramMemory struct {
	// Code is the size of the machine code; some plugins report 0.
	Code int64 `json:"code"`
	// Arguments and Outputs are the sizes of the arguments and the results.
	Arguments int64 `json:"arguments"`
	Outputs   int64 `json:"outputs"`
	// Aliases is the size of the results that reuse donated arguments.
	Aliases int64 `json:"aliases"`
	// Temporaries is the size of all intermediate values.
	Temporaries int64 `json:"temporaries"`
	// Peak is the largest use at any time; 0 means not known.
	Peak int64 `json:"peak"`
}

// Total is the memory that must be free to run the program.
func (m ProgramMemory) Total() int64 {
	return m.Code + m.Arguments + m.Outputs - m.Aliases + m.Temporaries
}

// DeviceMemory is the use of a device's memory, in bytes.
type DeviceMemory struct {
	// InUse is the current use, Peak the largest since the start of the client, or on CPU of the process.
	InUse int64 `json:"in_use"`
	Peak  int64 `json:"peak"`
	// Limit is the available memory; 0 means not known.
	Limit int64 `json:"limit"`
	// Process reports that the numbers are of the whole process. On CPU, the devices share memory that the plugin does
	// not count.
	Process bool `json:"process"`
}
