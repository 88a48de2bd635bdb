package folio

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
)

// runTool implements the commands run and repeat.
func (p *program) runTool(args string, repeat bool) {
	words := strings.Fields(args)
	switch {
	case len(words) == 0:
		p.printf("Error: missing PCP tool name\n")
		p.known()
	case words[0] == "?":
		p.known()
	case p.tools.knows(filepath.Base(words[0])):
		p.execute(words[0], words[1:], repeat)
	default:
		p.printf("Error: Unknown PCP tool: %s\n", words[0])
		p.known()
	}
}

// known lists the tools.
func (p *program) known() {
	p.printf("Known PCP tools:\n")
	list := strings.Split(strings.TrimLeft(p.tools.single+p.tools.multi, " "), " ")
	slices.Sort(list)
	for len(list) > 0 && list[0] == "" {
		p.printf("\t\n")
		list = list[1:]
	}
	for _, line := range fill(list) {
		p.printf("\t%s\n", line)
	}
}

// execute runs a tool on the selected archives: on all at once if the tool can, unless
// repeat is set.
func (p *program) execute(tool string, args []string, repeat bool) {
	list := p.selected()
	if len(list) == 0 {
		p.printf("Error: no selected archives\n")
		return
	}
	name := filepath.Base(tool)
	switch {
	case repeat || has(p.tools.single, name):
		if len(list) > 1 {
			p.printf("Note: running %s serially, once per archive\n", tool)
		}
		for _, base := range list {
			if p.ctx.Err() != nil {
				return
			}
			p.printf("Host: %s Archive: %s\n", p.hostOf(base), p.path(base))
			if has(p.tools.special, name) {
				p.start(tool, slices.Concat(args, []string{p.path(base)}))
				p.status = 0
			} else {
				p.status = p.start(tool, slices.Concat([]string{"-a", p.path(base)}, args))
			}
		}
	case has(p.tools.multi, name):
		var all []string
		for _, base := range list {
			all = append(all, "-a", p.path(base))
		}
		p.status = p.start(tool, slices.Concat(all, args))
	default:
		p.printf("Sorry, don't know how to run \"%s\" ...\n", tool)
	}
}

// start runs one of our tools, or another program, and returns its exit status.
func (p *program) start(tool string, args []string) int {
	p.env.FlushOut()
	if c := p.find(tool); c != nil {
		env := *p.env
		env.Name, env.Args, env.Command = tool, args, c
		status := c.Run(p.ctx, &env)
		p.env.FlushOut()
		return status
	}
	cmd := exec.CommandContext(p.ctx, tool, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = p.env.Stdin, p.env.Stdout, p.env.ChildStderr()
	err := cmd.Run()
	if err == nil {
		return 0
	}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		if code := exit.ExitCode(); code >= 0 {
			return code // the tool has reported its errors itself
		}
		p.complain("pmafm: %s: %v\n", tool, err)
		return 1
	}
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, os.ErrNotExist) {
		p.complain("pmafm: %s: not found\n", tool)
		return 127
	}
	p.complain("pmafm: %s: %v\n", tool, err)
	return 126
}

// find returns our tool of a name.
func (p *program) find(tool string) *cli.Command {
	if strings.ContainsRune(tool, '/') || !strings.HasPrefix(tool, "pm") {
		return nil
	}
	return cli.Find(p.env.Commands, tool)
}

// label returns the output of pmdumplog -l for an archive.
func (p *program) label(path string) (string, bool) {
	c := p.find("pmdumplog")
	if c == nil {
		p.complain("pmafm: pmdumplog: not found\n")
		return "", false
	}
	var out bytes.Buffer
	p.env.FlushOut()
	env := *p.env
	env.Name, env.Args, env.Command, env.Stdout = "pmdumplog", []string{"-l", path}, c, &out
	status := c.Run(p.ctx, &env)
	return out.String(), status == 0
}

// replay runs the tool that made the folio.
func (p *program) replay() {
	creator, conf := "", ""
	for _, line := range p.lines {
		if rest, ok := strings.CutPrefix(line, "Creator:"); ok {
			words := append(strings.Fields(rest), "", "")
			if creator, conf = words[0], words[1]; len(words) > 4 {
				creator, conf = "", "" // too many fields: ignore them
			}
		}
	}
	if creator == "" {
		p.printf("Error: cannot determine folio creator\n")
		return
	}
	var args []string
	if conf != "" {
		conf = p.path(conf)
		p.printf("Configuration File: %s\n", conf)
		if st, err := os.Stat(conf); err != nil || !st.Mode().IsRegular() {
			p.printf("Error: cannot find Configuration File\n")
			return
		}
		args = []string{"-c", conf}
	}
	if !has(p.tools.replay, creator) {
		p.printf("Error: I don't know how to replay a folio created by \"%s\"\n", creator)
		p.printf("       ... choose a PCP tool and use the \"run\" command to replay\n")
		return
	}
	p.execute(creator, args, false)
}

// remove prints the command that removes all files of the folio.
func (p *program) remove() {
	if p.dir != "" {
		p.printf("( cd %s; ", p.dir)
	}
	p.printf("rm -f %s", p.name)
	for _, line := range p.lines {
		if w := strings.Fields(line); len(w) > 2 && w[0] == "Creator:" {
			p.printf(" %s", w[2])
			break
		}
	}
	for _, e := range p.entries {
		if e.base == "" {
			continue
		}
		for _, part := range append([]string{"log", "config", "meta", "index"}, p.volumes(e.base)...) {
			file, _ := findFile(e.base + "." + part)
			p.printf(" %s", file)
		}
	}
	if p.dir != "" {
		p.printf(" )")
	}
	p.printf("\n")
}

// volumes returns the numbers of the volumes that the index of an archive names.
func (p *program) volumes(base string) []string {
	a, err := archive.Options{AnyFeatures: true}.Open(p.path(base))
	if err != nil {
		return nil
	}
	defer a.Close()
	var list []string
	for _, e := range a.Index() {
		list = append(list, strconv.Itoa(int(e.Vol)))
	}
	slices.Sort(list)
	return slices.Compact(list)
}
