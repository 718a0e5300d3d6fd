package studies

import (
	"encoding/json"
	"fmt"

	"xlarun/studies/rdb"
	"xlarun/studies/study"
)

// namesAttr is the attribute in which Optuna's Study.set_metric_names keeps the names.
const namesAttr = "study:metric_names"

// MetricNames returns a name for each objective of a study: those of its spec, else those that Optuna keeps, else
// "objective 0" and so on.
func MetricNames(d *rdb.DB, st *study.Study) []string {
	var names []string
	if s, err := SpecOf(d, st.ID()); err == nil {
		names = s.Metrics()
	} else if text, err := d.Attr(st.ID(), namesAttr); err == nil {
		_ = json.Unmarshal(text, &names) // a damaged attribute counts as none
	}
	objectives := len(st.Directions())
	names = names[:min(len(names), objectives)]
	for len(names) < objectives {
		names = append(names, fmt.Sprint("objective ", len(names)))
	}
	return names
}
