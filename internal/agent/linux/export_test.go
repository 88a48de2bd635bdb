package linux

import "github.com/go-pcp/pcp"

// Metrics calls fn for each metric with its name, in the order of the tables.
func (a *Agent) Metrics(fn func(name string, id pcp.PMID)) { a.engine.Metrics(fn) }
