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
// The numbers of sources, metrics and instances are kept in the files of the agent in Python that this one
// stands in for, and are the same.
//
// Each fetch reads the sources of the metrics that it asks for, all at the same time, and no others. A source that is slow keeps
// only those waiting that ask for it (see [pmda.Preparer]); its metrics have no values then, PM_ERR_AGAIN.
//
// Scripts run as the agent's user. One that others may write to is not run. One that belongs to another user is run as that user
// by an agent of root, else not at all.
//
// # Speed
//
// The text of a source is mostly the same each time but for the values. The agent remembers the series of the
// text in their order, and compares bytes: where the next line begins with the next series, only its value is parsed.
// That allocates nothing.
package openmetrics
