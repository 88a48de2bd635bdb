package logconf

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/go-pcp/pcp/internal/ctext"
)

// writeOptions appends the first section of a pmrep configuration.
func (s *Set) writeOptions(b *bytes.Buffer) {
	b.WriteString("\n[options]\nversion=1\nignore_unknown=yes\n")
	for _, o := range s.cfg.Options {
		b.WriteString(o + "\n")
	}
	b.WriteString("\n")
}

// letter returns the letter for s in configurations.
func (s State) letter() string {
	switch s {
	case Include:
		return "y"
	case Exclude:
		return "x"
	default:
		return "n"
	}
}

// writePmrep appends the group in the format of a pmrep configuration.
func (g *Group) writePmrep(b *bytes.Buffer) {
	fmt.Fprintf(b, "%s%s:%s:\n", groupHead, g.Tag, g.final.letter())
	if g.final != Exclude {
		g.writeIdent(b)
	}
	b.WriteString(groupEnd + "\n")
}

// writeMetrics appends the metrics of the included groups, sorted by name, without duplicates. Text after a name
// in a group, instances or a comment, is ignored.
func (s *Set) writeMetrics(b *bytes.Buffer) {
	var names []string
	for _, g := range s.groups {
		if !g.valid || g.final != Include {
			continue
		}
		for _, m := range g.Metrics {
			end := 0
			for end < len(m) && !ctext.IsSpace(m[end]) && m[end] != '#' {
				end++
			}
			names = append(names, m[:end])
		}
	}
	slices.Sort(names)
	b.WriteString("\n[metrics]\n")
	for _, name := range slices.Compact(names) {
		if name != "" {
			fmt.Fprintf(b, "%s = %s\n", name, name)
		}
	}
	b.WriteString("\n")
}
