package gomlx

import (
	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
)

// lacking are the ops of GoMLX that package graph lacks.
var lacking = map[compute.OpType]bool{
	// axes without a fixed size
	compute.OpTypeDynamicDimensionSize: true, compute.OpTypeDynamicShape: true, compute.OpTypeDynamicReshape: true,
	// several devices
	compute.OpTypeAllReduce: true, compute.OpTypeCollectiveBroadcast: true, compute.OpTypeAllGather: true,
	// GoMLX writes plain ops for these
	compute.OpTypeFusedSoftmax: true, compute.OpTypeFusedLayerNorm: true, compute.OpTypeFusedGelu: true,
	compute.OpTypeFusedDense: true, compute.OpTypeFusedScaledDotProductAttention: true,
	compute.OpTypeFusedScaledDotProductAttentionVJP: true, compute.OpTypeFusedAttentionQKVProjection: true,
	compute.OpTypeFusedQuantizedDense: true, compute.OpTypeQuantizedEmbeddingLookup: true,
	// names without a method of compute.Function
	compute.OpTypeInvalid: true, compute.OpTypeDot: true, compute.OpTypeBlockForDotGeneral: true,
	compute.OpTypeSelectAndScatterSum: true, compute.OpTypeCapturedValue: true,
}

func capabilities() compute.Capabilities {
	c := compute.Capabilities{Functions: true, Operations: map[compute.OpType]bool{}, DTypes: map[dtypes.DType]bool{}}
	for op := compute.OpTypeInvalid; op < compute.OpTypeLast; op++ {
		if !lacking[op] {
			c.Operations[op] = true
		}
	}
	for _, d := range supported {
		c.DTypes[d] = true
	}
	return c
}
