package docpage

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestBlocks(t *testing.T) {
	const text = `# A page

    echo one   # a command
    echo two \
      three

    echo four

Text.
    not a block
- a list

` + "```yaml\n# a.yml\nb: c\n```\n\n```go\nx := 1\n```\n    echo five\n"
	want := []Block{
		{Line: 3, Text: "echo one   # a command\necho two \\\n  three\n"},
		{Line: 7, Text: "echo four\n"},
		{Line: 14, Kind: "yaml", File: "a.yml", Text: "# a.yml\nb: c\n"},
		{Line: 19, Kind: "go", Text: "x := 1\n"},
	}
	p := &Page{Name: "page", Blocks: blocks(text)}
	if d := cmp.Diff(want, p.Blocks); d != "" {
		t.Errorf("want -, got +:\n%s", d)
	}
	commands := []Command{{"page", 3, "echo one   # a command"}, {"page", 4, "echo two \\\n  three"}, {"page", 7, "echo four"}}
	if d := cmp.Diff(commands, p.Commands()); d != "" {
		t.Errorf("want -, got +:\n%s", d)
	}
	s := &Shell{Dir: t.TempDir(), Env: []string{"PATH=/bin:/usr/bin"}, Replace: []string{"one", "1"}}
	if got := s.Run(t, commands[0]); got != "1\n" {
		t.Errorf("printed %q", got)
	}
	if got := s.Run(t, commands[1]); got != "two three\n" {
		t.Errorf("printed %q", got)
	}
	if got := p.File(t, "a.yml"); got != "# a.yml\nb: c\n" {
		t.Errorf("file %q", got)
	}
}

func TestTyped(t *testing.T) {
	const text = "# A page\n\n    $ echo one\n    one\n    $ echo two \\\n      three\n    two three\n\n    pages: [1]\n\n    X=1 echo four\n    other five\n\n```sh\necho six\n```\n\n```go\necho := 7\n```\n"
	p := &Page{Name: "page", Blocks: blocks(text)}
	want := []Command{{"page", 3, "echo one"}, {"page", 5, "echo two \\\n  three"}, {"page", 11, "X=1 echo four"}, {"page", 12, "other five"}, {"page", 15, "echo six"}}
	if d := cmp.Diff(want, p.Typed(func(name string) bool { return name == "echo" })); d != "" {
		t.Errorf("want -, got +:\n%s", d)
	}
}
