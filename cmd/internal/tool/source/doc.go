// Package source opens contexts on the sources of metrics that a tool's options
// name: a collector, archives, or agents in the tool itself. If that fails it
// prints the reason, as the C tool does or, under "pcp", with what to do next.
//
//	o := source.Parse(env, cli.ParseConfig{Archives: true})
//	if status, exit := o.Done(); exit {
//		return status
//	}
//	c, err := o.Connect(ctx)
//	if err != nil {
//		return 1
//	}
//	defer c.Close()
//
// [Options.SetZone] and [Options.Window] then return the time zone of the report,
// and the part of an archive to report. Package cli has the options themselves.
package source
