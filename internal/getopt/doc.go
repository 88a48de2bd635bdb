// Package getopt reads options as the programs of PCP do, says what is wrong
// with them in the same words, and lays out their usage messages. Tools and
// agents share it.
//
//	p := getopt.New(options, os.Args[1:])
//	for opt, arg := range p.All() {
//		...
//	}
//	names := p.Args()
package getopt
