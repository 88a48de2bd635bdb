package main

import (
	"strings"
	"testing"

	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/getopt"
)

// TestExamples checks that each command except agents' programs has examples,
// and that they name it and only options of the command.
func TestExamples(t *testing.T) {
	table := commands()
	each(table, func(c *cli.Command) {
		if len(c.Examples) == 0 && c.Group != cli.AgentPrograms {
			t.Errorf("pcp help %s has no example", c.Name)
		}
		for _, x := range c.Examples {
			if x.Text == "" || strings.HasSuffix(x.Text, ".") {
				t.Errorf("%s: %q: text %q", c.Name, x.Line, x.Text)
			}
			rest, ok := strings.CutPrefix(x.Line, "pcp ")
			if !ok || strings.ContainsAny(rest, "'\"|>$") {
				continue // a command of another program, or for a shell
			}
			own := getopt.New(callOptions(), strings.Fields(rest))
			own.POSIX = true
			for opt, _, ok := own.Next(); ok; opt, _, ok = own.Next() {
				if opt == nil {
					t.Errorf("%s: %q: %s", c.Name, x.Line, own.Problem())
				}
			}
			words := own.Args()
			if len(words) == 0 { // pcp itself
				continue
			}
			e := &cli.Env{Command: cli.Find(table, words[0]), Args: words[1:]}
			if e.Command == nil {
				t.Errorf("%s: %q names a command that does not exist", c.Name, x.Line)
				continue
			}
			e.Resolve()
			switch e.Command.Name {
			case "agent enable", "afm", "err", "date", "replay", "dstat": // the options of another program follow, numbers, or plugins
				continue
			}
			p := getopt.New(e.Command.OptionList(), e.Args)
			for opt, _, ok := p.Next(); ok; opt, _, ok = p.Next() {
				if opt == nil {
					t.Errorf("%s: %q: %s", c.Name, x.Line, p.Problem())
				}
			}
		}
	})
}
