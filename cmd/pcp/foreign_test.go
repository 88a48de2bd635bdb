package main

import (
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
		for i, w := range words {
			if w == "pcp" && i+1 < len(words) && cli.Find(table, strings.Trim(words[i+1], ",.")) == nil {
				t.Errorf("%q: %q names a command that does not exist", name, use)
			}
		}
	}
}
