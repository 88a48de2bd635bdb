// Package options is for tools that read metrics: it parses the options that all tools of PCP have, and opens the
// sources of metrics that they name (pmGetOptions(3), pmGetContextOptions(3)).
//
//	o := options.Parse(&getopt.Program{
//		Synopsis: "[options] metric ...",
//		Options:  getopt.General,
//	}, os.Args)
//	if status, exit := o.Done(); exit {
//		os.Exit(status)
//	}
//	c, err := o.Open(ctx)
//	if err != nil {
//		os.Exit(o.Fatal(err))
//	}
//	defer c.Close()
//	for s, err := range o.Watch(ctx, c, o.Args...) {
//		...
//	}
//
// This program reads metrics of a collector (-h), of archives (-a), or of agents in the process
// itself, if getopt.OptLocalPMDA is in its table; each second or at the interval of -t, as many
// times as -s sets, within the window of -S, -T, -A and -O, and reports in the zone of -z or -Z. The
// environment can replace options (PCP_HOST, PCP_ARCHIVE and others, see PCPIntro(1)). Its messages
// and exit status are those of a C program. [getopt.Program] describes the other choices, and how a
// program adds its own options.
package options
