package graph_test

import (
	. "xlarun/graph"
	"xlarun/graph/graphtest"
)

func init() { AddComposed(graphtest.Composed()...) }
