// Package docpage reads the examples of a page of the documentation and runs its commands, so that a test fails when they no longer work.
//
//	page := docpage.Read(t, "docs/grafana.md")
//	sh := &docpage.Shell{Dir: t.TempDir(), Env: env, Replace: []string{"localhost:44323", address}}
//	for _, line := range page.Commands() {
//		sh.Run(t, line)
//	}
package docpage

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/go-pcp/pcp/internal/testing/await"
	"github.com/go-pcp/pcp/internal/testing/testdir"
)

// patience is how long a command may run.
const patience = 2 * time.Minute

// A Page has the examples of a page.
type Page struct {
	Name   string
	Text   string
	Blocks []Block
}

// A Block is an example: an indented one, which has commands for the shell, or one between fences.
type Block struct {
	Line int    // of its first line, from 1
	Kind string // the word after the fence, such as yaml; "" for indented blocks
	File string // the name of a file, if the first line between fences is a comment with only that, as in "# prometheus.yml"
	Text string
}

// fileName returns the name of a file that the first line of a text has as a comment.
func fileName(text string) string {
	first, _, _ := strings.Cut(text, "\n")
	name, ok := strings.CutPrefix(first, "# ")
	if !ok || strings.ContainsAny(name, " /") || !strings.Contains(name, ".") {
		return ""
	}
	return name
}

// Read reads a page of the repository.
func Read(t testing.TB, name string) *Page {
	t.Helper()
	text, err := os.ReadFile(testdir.Repo(t, name))
	if err != nil {
		t.Fatal(err)
	}
	return &Page{Name: name, Text: string(text), Blocks: blocks(string(text))}
}

// blocks returns the examples of a text in Markdown. An indented block follows an empty line or another block: other indented lines continue a list.
func blocks(text string) []Block {
	var list []Block
	var b *Block
	fenced, empty := false, true
	for i, line := range strings.Split(text, "\n") {
		rest, indented := strings.CutPrefix(line, "    ")
		switch {
		case fenced && strings.HasPrefix(line, "```"):
			b.File = fileName(b.Text)
			fenced, b = false, nil
		case fenced:
			b.Text += line + "\n"
		case strings.HasPrefix(line, "```"):
			list = append(list, Block{Line: i + 2, Kind: strings.TrimSpace(strings.Trim(line, "`"))})
			b, fenced = &list[len(list)-1], true
		case indented && (b != nil || empty):
			if b == nil {
				list = append(list, Block{Line: i + 1})
				b = &list[len(list)-1]
			}
			b.Text += rest + "\n"
		default:
			b = nil
		}
		empty = line == ""
	}
	return list
}

// A Command is a line for the shell. Lines that end in \ are joined with the next.
type Command struct {
	Page string
	Line int
	Text string
}

// Commands returns the commands of all indented blocks.
func (p *Page) Commands() []Command {
	var list []Command
	for _, b := range p.Blocks {
		if b.Kind != "" {
			continue
		}
		joined := false
		for i, line := range strings.Split(strings.TrimSuffix(b.Text, "\n"), "\n") {
			if joined {
				list[len(list)-1].Text += "\n" + line
			} else if strings.TrimSpace(line) != "" {
				list = append(list, Command{p.Name, b.Line + i, line})
			}
			joined = strings.HasSuffix(line, `\`)
		}
	}
	return list
}

// Typed returns the commands that a reader types: those of blocks for the shell whose first line begins with a program. In a block with
// prompts ("$ ") these are the lines with one, and the others are output.
func (p *Page) Typed(program func(name string) bool) []Command {
	var list []Command
	for _, b := range p.Blocks {
		lines := strings.Split(strings.TrimSuffix(b.Text, "\n"), "\n")
		first, prompted := strings.CutPrefix(lines[0], "$ ")
		words := strings.Fields(first)
		if b.Kind != "" && b.Kind != "sh" || len(words) == 0 || !prompted && !program(words[0]) && !assigned().MatchString(words[0]) {
			continue
		}
		joined := false
		for i, line := range lines {
			text, prompt := strings.CutPrefix(line, "$ ")
			switch {
			case joined:
				list[len(list)-1].Text += "\n" + line
			case prompt || !prompted && strings.TrimSpace(line) != "":
				list = append(list, Command{p.Name, b.Line + i, strings.TrimSpace(text)})
			default:
				continue
			}
			joined = strings.HasSuffix(line, `\`)
		}
	}
	return list
}

// assigned returns an expression for a word that sets a variable for a command.
var assigned = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Z_]+=\S*$`) })

// File returns the text of a file that the page has.
func (p *Page) File(t testing.TB, name string) string {
	t.Helper()
	for _, b := range p.Blocks {
		if b.File == name {
			return b.Text
		}
	}
	t.Fatalf("%s has no file %s", p.Name, name)
	return ""
}

// A Shell runs commands.
type Shell struct {
	Dir     string
	Env     []string
	Replace []string // pairs: text of the page, and what takes its place in the test
}

// Text returns a text of the page as the test has it.
func (s *Shell) Text(text string) string { return strings.NewReplacer(s.Replace...).Replace(text) }

// Write writes a file of the page to the directory of the shell.
func (s *Shell) Write(t testing.TB, name, text string) string {
	t.Helper()
	path := filepath.Join(s.Dir, name)
	if err := os.WriteFile(path, []byte(s.Text(text)), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// Start starts a command that runs until it is stopped, by SIGTERM at the end of the test.
func (s *Shell) Start(t testing.TB, c Command) {
	t.Helper()
	cmd := exec.Command("sh", "-e", "-c", "exec "+strings.TrimSpace(s.Text(c.Text)))
	cmd.Dir, cmd.Env = s.Dir, s.Env
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatalf("%s:%d: %s: %v", c.Page, c.Line, c.Text, err)
	}
	t.Cleanup(func() {
		cmd.Process.Signal(syscall.SIGTERM)
		await.Exit(t, cmd)
		if t.Failed() {
			t.Logf("%s:%d: %s:\n%.2000s", c.Page, c.Line, c.Text, &out)
		}
	})
}

// Run runs a command and returns its standard output. A command that fails fails the test, which continues.
func (s *Shell) Run(t testing.TB, c Command) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-e", "-c", s.Text(c.Text))
	cmd.Dir, cmd.Env = s.Dir, s.Env
	cmd.WaitDelay = time.Second
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		t.Errorf("%s:%d: %s: %v\n%.1000s%.1000s", c.Page, c.Line, c.Text, err, out.String(), errs.String())
	}
	return out.String()
}
