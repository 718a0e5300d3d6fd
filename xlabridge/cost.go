package xlabridge

/*
#include "shim.h"
*/
import "C"

import (
	"fmt"
	"unsafe"
)

// Cost returns the compiler's counts of the program's work, by the compiler's names ("flops", "bytes accessed",
// "transcendentals", ...). A loop's body is counted once. Plugins without counts (CPU) return an error that wraps a
// PluginError of code 12.
func (e *Executable) Cost() (map[string]float64, error) {
	if err := e.use(); err != nil {
		return nil, err
	}
	defer e.h.release()
	if e.ahead != nil {
		return e.ahead.Cost, nil
	}
	cost, err := e.client.lib.costOf(e.raw)
	if err != nil {
		err = fmt.Errorf("xlabridge: cost of program %s: %w", e.name, err)
	}
	return cost, err
}

// costOf asks the plugin for the work of a program.
func (l *library) costOf(raw *C.xp_executable) (map[string]float64, error) {
	var args C.xp_cost_args
	if err := l.takeError(C.xb_cost(l.slot, raw, &args)); err != nil {
		return nil, err
	}
	cost := map[string]float64{}
	properties := unsafe.Slice(args.properties, int(args.num_properties))
	for i := range properties {
		property := &properties[i]
		name := C.GoStringN(property.name, C.int(property.name_size))
		switch property._type {
		case C.XP_FLOAT:
			cost[name] = float64(C.xb_value_float(property))
		case C.XP_INT64:
			cost[name] = float64(C.xb_value_int64(property))
		}
	}
	return cost, nil
}
