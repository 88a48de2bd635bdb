// Package openmetrics is the agent that makes metrics of what programs show to Prometheus, in its text format or in that
// of OpenMetrics (pmdaopenmetrics(1)).
//
//	a, err := openmetrics.New(openmetrics.Config{Dirs: []string{"/etc/example/sources"}})
//	if err != nil {
//		return err
//	}
//	defer a.Close()
//
// A folder has a file for each source: NAME.url has a URL on its first line, and an executable file is a script
// that prints the text. The metrics are called openmetrics.NAME.*; folders within the folder are parts of names.
// The numbers of sources, metrics and instances are those of the agent in Python, and are kept in
// its files.
//
// Each fetch reads the sources of the requested metrics, all at the same time, and no others. A slow source delays
// only requests for its metrics (see [pmda.Preparer]), which then fail with PM_ERR_AGAIN.
//
// Scripts run as the agent's user. A script that others may write to is not run. An agent of root runs a script of another
// user as that user; other agents do not run it.
//
// # Speed
//
// From one reading to the next mostly values change in the text of a source. The agent remembers the series of the
// text in their order, and compares bytes: where the next line begins with the next series, only its value is parsed.
// That allocates nothing.
package openmetrics
