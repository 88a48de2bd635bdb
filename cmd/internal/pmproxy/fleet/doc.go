// Package fleet answers requests below /fleet: a table of many hosts, and one metric on all of them.
//
//	f := fleet.New(fleet.Config{Source: fleet.Queries(engine, data), Hosts: hosts})
//	defer f.Close()
//	handler := f.Handler(fleet.View{Source: source})
//
// The values come from a [Source], which evaluates PromQL: Prometheus' engine over the archives and the collector of this
// host, or a server with an engine of its own. There is one query for a column of the table, for all hosts together.
//
// # Refreshing
//
// While clients ask for it, the table is refreshed once per [Step] in the background: each refresh requests only the newest points
// again. A table for a time in the past is computed once and kept for a while. One table is computed at a time, and clients
// get the last one, or a note that the first is not ready, in the meantime.
//
// # History
//
// The answer for all hosts has the newest values only, so that it is small. The history of hosts is requested by their names, as
// a row of bytes for each: see [Row].
package fleet
