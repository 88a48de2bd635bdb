// Package simple is an agent that shows the parts of agents: a metric that
// counts, a fixed instance domain, an instance domain that follows a file, values
// that can be stored, help text and labels.
//
//	a, err := simple.New(simple.Config{Domain: simple.Domain})
//
// The instances of simple.now are the words of the first line of
// $PCP_PMDAS_DIR/simple/simple.conf, with commas between: sec, min, hour.
package simple
