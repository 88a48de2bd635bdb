// Package conf reads the configuration files of pmrep and of the programs that share them
// (pmrep.conf(5)): settings, and sets of metrics that users call by name, as in "pmrep :vmstat".
//
//	files, err := conf.Files("/etc/pcp/pmrep")
//	c := conf.New(conf.PmrepKeys())
//	for _, f := range files {
//		err = c.ReadFile(f) // errors are those that the program prints
//	}
//	set, err := c.Metricset("vmstat")
//
// The files are those of Python's configparser: sections, "key = value" or "key: value", values that continue
// in indented lines, comments that begin with # or ;, and %(name)s and %% in values.
package conf
