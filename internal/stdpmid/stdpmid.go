package stdpmid

import (
	"fmt"
	"iter"
	"strings"
)

// A Domain is the default number of an agent's domain, with its name in files of names.
type Domain struct {
	Name   string // in capitals, such as LINUX
	Number int
}

// MaxNumber is the largest number in a table: that of dynamic names, which is not an
// agent's.
const MaxNumber = 511

// All returns the domains in the order of their numbers.
func All() iter.Seq[Domain] {
	return func(yield func(Domain) bool) {
		for _, d := range domains {
			if !yield(d) {
				return
			}
		}
	}
}

// Number returns the number of a domain, or false if PCP has given none to an agent of
// that name.
func Number(name string) (int, bool) {
	for _, d := range domains {
		if d.Name == name {
			return d.Number, true
		}
	}
	return 0, false
}

// Source returns the table in the form of the file stdpmid.pcp, from which, with the
// other files stdpmid.*, the file stdpmid is made.
func Source() string {
	var b strings.Builder
	b.WriteString("# Default domains of agents: a name and a number on each line. Put your own into\n# stdpmid.local, with numbers from 510 downwards, and run \"pcp ns stdpmid\".\n\n")
	for _, d := range domains {
		fmt.Fprintf(&b, "%s\t%d\n", d.Name, d.Number)
	}
	return b.String()
}

// Header returns a file stdpmid, which files of names include, with these domains.
func Header(domains iter.Seq[Domain]) string {
	var b strings.Builder
	b.WriteString("/* Made of the files stdpmid.* by \"pcp ns stdpmid\": change those, not this. */\n\n#ifndef __STDPMID\n#define __STDPMID\n\n")
	for d := range domains {
		fmt.Fprintf(&b, "#define %s\t%d\n", d.Name, d.Number)
	}
	b.WriteString("\n#endif\n")
	return b.String()
}

// Include returns the file stdpmid, and false for any other name.
func Include(name string) (text string, ok bool) {
	if name != "stdpmid" {
		return "", false
	}
	return Header(All()), true
}
