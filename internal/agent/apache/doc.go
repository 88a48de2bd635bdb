// Package apache is the agent for the web server Apache: the page of its module mod_status.
//
//	a, err := apache.New(apache.Config{URL: "http://localhost:80/server-status"})
//
// Names and numbers of metrics are those of pmdaapache(1). Metrics that the page does not have, as without ExtendedStatus, have no values.
package apache
