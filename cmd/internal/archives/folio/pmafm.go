package folio

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
)

// Command is pmafm.
var Command = &cli.Command{
	Name:     "afm",
	Link:     "pmafm",
	Group:    cli.SeePast,
	Summary:  "use the archives of a folio",
	Synopsis: "folioname [command [arg ...]]",
	Doc: `Lists the archives of a folio, a file with the names of several archives, selects some by host or
number, and runs a tool on each.`,
	Examples: []cli.Example{
		{Line: `pcp afm myfolio list`, Text: `list the archives of a folio`},
		{Line: `pcp afm myfolio repeat pmval -s 3 kernel.all.load`, Text: `run a tool on each archive in turn`},
	},
	SeeAlso:     []string{"mkaf(1)"},
	DieOnSignal: true,
	Run:         run,
}

const usageText = "Usage: pmafm folioname [command [arg ...]]\n"

// The output of "help", which scripts see. The layout is the C tool's.
const helpText = `PCP Archive Folio Manager

Commands:
  archives		- select all archives
  archives N[,...]	- select archives with these ordinal numbers
  archives name[,...]	- select archives with these names
  check			- integrity check for folio
  help			- this message
  hosts 		- select archives for all hosts (the default)
  hosts hostname[,...]	- select archives for just these hosts
  list [verbose]	- display folio contents
  quit			- exit
  remove		- echo the sh(1) command to delete all files
			  associated with the folio
  repeat tool [arg ...]	- execute a known PCP tool on each archive in turn
  replay		- replay archives using the tool that created the folio
  [run] tool [arg ...]	- execute a known PCP tool on the selected archives
  selections		- list selected archives
  
Selection:
  If specified, both the "archives" and the "hosts" selection criteria
  are applied as a conjunction.
`

// maxFolio is the maximum size of a folio in bytes.
const maxFolio = 16 << 20

// An entry is an archive of the folio.
type entry struct{ host, base string }

// A program is one run.
type program struct {
	ctx context.Context
	env *cli.Env

	name    string   // of the folio's file
	dir     string   // its directory, with a slash; "" for the current directory
	lines   []string // of the folio
	entries []entry
	tools   toolbox

	hosts    []string // selected, nil for all
	archives []string

	status int // of the last command
}

func run(ctx context.Context, env *cli.Env) int {
	p := &program{ctx: ctx, env: env}
	if len(env.Args) == 0 {
		p.complain("%s", usageText)
		return 1
	}
	path := env.Args[0]
	if st, err := os.Stat(path); err != nil || !st.Mode().IsRegular() {
		if path == "-?" || path == "--help" {
			p.complain("%s", usageText)
			p.printf("\n")
			p.complain("%s", helpText)
		} else {
			p.complain("pmafm: cannot open folio \"%s\"\n", path)
		}
		return 1
	}
	if err := p.read(path); err != nil {
		p.complain("pmafm: %v\n", err)
		return 1
	}
	if err := p.load(); err != nil {
		p.complain("pmafm: %v\n", err)
		return 1
	}
	if len(env.Args) > 1 {
		p.command(env.Args[1], strings.Join(env.Args[2:], " "))
		return p.status
	}
	p.converse()
	return 0
}

// printf writes output without buffering, since output of other programs may follow.
func (p *program) printf(format string, args ...any) {
	fmt.Fprintf(p.env.Stdout, format, args...)
}

func (p *program) complain(format string, args ...any) {
	p.env.FlushOut()
	fmt.Fprintf(p.env.Stderr, format, args...)
}

// read reads the folio. It is less strict than package internal/folio, so that users can
// also look at a folio with mistakes.
func (p *program) read(path string) error {
	p.name = filepath.Base(path)
	if dir := filepath.Dir(path); dir != "." {
		abs, err := filepath.Abs(dir)
		if err != nil {
			return err
		}
		p.dir = strings.TrimSuffix(abs, "/") + "/"
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxFolio+1))
	if err != nil {
		return err
	}
	if len(b) > maxFolio {
		return fmt.Errorf("%s: more than %d bytes", path, maxFolio)
	}
	p.lines = strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
	starts := func(with string) bool {
		return slices.ContainsFunc(p.lines, func(l string) bool { return strings.HasPrefix(l, with) })
	}
	if !starts("PCPFolio") || !starts("Version:") {
		return fmt.Errorf("\"%s%s\" is not in PCP archive folio format", p.dir, p.name)
	}
	for _, line := range p.lines {
		if w := strings.Fields(line); len(w) > 0 && w[0] == "Archive:" {
			w = append(w, "", "")
			p.entries = append(p.entries, entry{w[1], w[2]})
		}
	}
	return nil
}

// path returns the path of an archive or another file of the folio.
func (p *program) path(name string) string {
	if p.dir == "" || strings.HasPrefix(name, "/") {
		return name
	}
	return p.dir + name
}

// converse reads commands from standard input.
func (p *program) converse() {
	in := bufio.NewReader(p.env.Stdin)
	for {
		p.printf("pmafm> ")
		p.env.FlushOut()
		line, err := in.ReadString('\n')
		for err == nil && strings.HasSuffix(line, "\\\n") {
			// A line continues after a backslash.
			var more string
			more, err = in.ReadString('\n')
			line = line[:len(line)-2] + more
		}
		if err != nil || p.ctx.Err() != nil {
			p.printf("\n")
			return
		}
		line = strings.ReplaceAll(strings.TrimSpace(line), "\\", "")
		cmd, args := line, ""
		if i := strings.IndexAny(line, " \t"); i >= 0 {
			cmd, args = line[:i], strings.TrimSpace(line[i:])
		}
		if cmd != "" && p.command(cmd, args) {
			return
		}
	}
}

// verbs are the commands, with the shortest abbreviation of each.
var verbs = []struct {
	name  string
	least int
	run   func(p *program, args string)
}{
	{"archives", 1, (*program).selectArchives},
	{"check", 1, (*program).check},
	{"debug", 1, func(p *program, _ string) { p.complain("pmafm: debug is not supported\n") }},
	{"help", 2, func(p *program, _ string) { p.printf("%s", helpText) }},
	{"hosts", 2, (*program).selectHosts},
	{"list", 1, (*program).list},
	{"run", 2, func(p *program, args string) { p.runTool(args, false) }},
	{"repeat", 4, func(p *program, args string) { p.runTool(args, true) }},
	{"remove", 3, func(p *program, _ string) { p.remove() }},
	{"replay", 4, func(p *program, _ string) { p.replay() }},
	{"selections", 1, func(p *program, _ string) { p.selections() }},
}

// command executes a command, and reports whether it was the last.
func (p *program) command(cmd, args string) (quit bool) {
	p.status = 0
	if p.tools.knows(cmd) {
		p.execute(cmd, strings.Fields(args), false)
		return false
	}
	if cmd == "?" {
		cmd = "help"
	}
	if strings.HasPrefix("quit", cmd) {
		return true
	}
	for _, v := range verbs {
		if len(cmd) >= v.least && strings.HasPrefix(v.name, cmd) {
			v.run(p, args)
			return false
		}
	}
	p.printf("Unknown command \"%s\" ... enter \"help\" for more information\n", cmd)
	return false
}

// words splits arguments at commas and blanks.
func words(args string) []string { return strings.Fields(strings.ReplaceAll(args, ",", " ")) }

func (p *program) selectArchives(args string) {
	p.archives = nil
	for _, want := range words(args) {
		i := slices.IndexFunc(p.entries, func(e entry) bool { return e.base == want })
		// Whichever comes first: an archive of that name or of that number.
		for k := range p.entries {
			if (i < 0 || k < i) && strconv.Itoa(k+1) == want {
				i = k
			}
		}
		if i < 0 {
			p.printf("Warning: archive \"%s\" not in folio ... ignored\n", want)
			continue
		}
		p.archives = append(p.archives, p.entries[i].base)
	}
}

func (p *program) selectHosts(args string) {
	p.hosts = nil
	for _, host := range words(args) {
		if !slices.ContainsFunc(p.entries, func(e entry) bool { return e.host == host }) {
			p.printf("Warning: host \"%s\" not in folio ... ignored\n", host)
			continue
		}
		p.hosts = append(p.hosts, host)
	}
}

// selected returns the selected archives.
func (p *program) selected() []string {
	list := p.archives
	if list == nil {
		for _, e := range p.entries {
			if e.base != "" {
				list = append(list, e.base)
			}
		}
	}
	if p.hosts == nil {
		return list
	}
	return slices.DeleteFunc(slices.Clone(list), func(base string) bool { return !slices.Contains(p.hosts, p.hostOf(base)) })
}

// hostOf returns the host of an archive from the folio.
func (p *program) hostOf(base string) string {
	for _, e := range p.entries {
		if e.base == base {
			return e.host
		}
	}
	return ""
}

func (p *program) selections() {
	list := p.selected()
	if len(list) == 0 {
		p.printf("Error: no selected archives\n")
	}
	for _, base := range list {
		p.printf("Archive: %s\n", p.path(base))
	}
}

func (p *program) list(args string) {
	verbose := args != "" && strings.HasPrefix("verbose", args)
	if args != "" && !verbose {
		p.printf("Illegal option \"%s\" ... ignored\n", args)
	}
	p.printf("\nPCP Archive Folio: %s\n", p.name)
	if p.dir != "" {
		p.printf("Folio Directory: %s\n", p.dir)
	}
	for _, line := range p.lines {
		if w := strings.Fields(line); len(w) > 0 && (w[0] == "Created:" || w[0] == "Creator:") {
			p.printf("%s\n", line)
		}
	}
	p.printf("\nOrdinal Hostname             Archive Basename\n")
	for i, e := range p.entries {
		p.printf("  [%3d] %-20s %s\n", i+1, e.host, e.base)
		if verbose {
			label, _ := p.label(p.path(e.base))
			for line := range strings.Lines(label) {
				p.printf("\t%s", line)
			}
		}
	}
	if p.hosts != nil {
		p.printf("Host Selections: %s\n", strings.Join(p.hosts, " "))
	}
	if p.archives == nil {
		p.status = 1 // as in the script
		return
	}
	p.printf("Archive Selections: %s\n", strings.Join(p.archives, " "))
}

func (p *program) check(string) {
	for _, e := range p.entries {
		path := p.path(e.base)
		p.printf("Archive: %s ... ", path)
		var errs []string
		for _, part := range []string{"index", "meta", "0"} {
			file, err := findFile(path + "." + part)
			if err != nil {
				// The script calls its helper without the argument.
				p.complain("Usage: _is_archive file\n")
			}
			if err != nil || !isArchive(file) {
				errs = append(errs, fmt.Sprintf("No such file: %s.%s", path, part))
			}
		}
		if errs == nil {
			label, _ := p.label(path)
			if host := hostOfLabel(label); host != e.host {
				errs = append(errs, fmt.Sprintf("Hostname mismatch: folio=%s archive=%s", e.host, host))
			}
		}
		if errs == nil {
			p.printf("OK\n")
			continue
		}
		p.printf("Errors\n")
		for _, msg := range errs {
			p.printf("\t%s\n", msg)
		}
	}
}

// hostOfLabel returns the host in the output of pmdumplog -l.
func hostOfLabel(label string) string {
	for line := range strings.Lines(label) {
		if i := strings.LastIndex(line, " host "); i >= 0 && strings.HasPrefix(line, "Performance metrics") {
			return strings.TrimSuffix(line[i+len(" host "):], "\n")
		}
	}
	return ""
}
