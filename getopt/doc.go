// Package getopt reads options as the programs of PCP do (pmgetopt_r(3)), reports
// mistakes in the same words, and lays out their usage messages
// (pmUsageMessage(3)). Tools and agents share it.
//
//	p := getopt.New(options, os.Args[1:])
//	for opt, arg := range p.All() {
//		...
//	}
//	names := p.Args()
package getopt
