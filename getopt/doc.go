// Package getopt is for tools and agents with the options of PCP's programs: it parses them (pmgetopt_r(3)), reports
// mistakes in the same words, and formats usage messages (pmUsageMessage(3)).
//
//	p := getopt.New(options, os.Args[1:])
//	for opt, arg := range p.All() {
//		...
//	}
//	names := p.Args()
package getopt
