package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
)

// TestForeign checks that the messages about names from elsewhere name existing
// commands, and that no command has such a name.
func TestForeign(t *testing.T) {
	table := commands()
	for name, use := range cli.ForeignNames() {
		if cli.Find(table, name) != nil {
			t.Errorf("%q is a command and is said not to be one", name)
		}
		words := strings.Fields(use)
		var c *cli.Command
		for i, w := range words {
			switch w = strings.Trim(w, ",.;"); {
			case i > 0 && words[i-1] == "pcp":
				if c = cli.Find(table, w); c == nil {
					t.Errorf("%q: %q names a command that does not exist", name, use)
				}
			case strings.HasPrefix(w, "--") && c != nil && !slices.ContainsFunc(c.OptionList(), func(o cli.Option) bool { return "--"+o.Long == w }):
				t.Errorf("%q: %q names an option that does not exist", name, use)
			}
		}
	}
}
