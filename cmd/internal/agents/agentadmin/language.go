package agentadmin

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
)

// A language of agents has a module of the C implementation. The scripts of agents print
// their domain.h and the names of their metrics.
type language struct {
	kind     string // as in perl_opt
	suffixes []string
	try      []string // arguments with which the interpreter looks for the module
	module   string
	variable string // prefix of the variables that make a script print
}

var languages = []language{
	{"perl", []string{".perl", ".pl"}, []string{"-e", "use PCP::PMDA"}, "PCP::PMDA of Perl", "PCP_PERL_"},
	{"python", []string{".python", ".py"}, []string{"-c", "from pcp import pmda"}, "pcp.pmda of Python", "PCP_PYTHON_"},
}

func languageOf(kind string) (l language, ok bool) {
	for _, l := range languages {
		if l.kind == kind {
			return l, true
		}
	}
	return language{}, false
}

// interpreter returns the program that runs scripts of a language.
func (p *procedure) interpreter(l language) string {
	if program := p.cfg.Get("PCP_PYTHON_PROG"); l.kind == "python" && program != "" {
		return program
	}
	return map[string]string{"perl": "perl", "python": "python3"}[l.kind]
}

// scriptOf returns the agent's script in a language, "" if there is none.
func (p *procedure) scriptOf(l language) string {
	paths := []string{p.v[l.kind+"_name"]}
	if paths[0] == "" {
		paths = nil
		for _, suffix := range l.suffixes {
			paths = append(paths, "pmda"+p.v["iam"]+suffix)
		}
	}
	for _, path := range paths {
		path = p.path(path)
		if st, err := os.Stat(path); err == nil && st.Mode().IsRegular() {
			return path
		}
	}
	return ""
}

// describe has the agent's script write the files domain.h and pmns with the kind as suffix.
func (p *procedure) describe(ctx context.Context, l language) error {
	path := p.scriptOf(l)
	if path == "" {
		if name := p.v[l.kind+"_name"]; name != "" {
			return p.sayf("Error: there is no %s", p.path(name))
		}
		return p.sayf("Error: there is neither pmda%[1]s%[2]s nor pmda%[1]s%[3]s in %[4]s", p.v["iam"], l.suffixes[0], l.suffixes[1], p.v["pmda_dir"])
	}
	program := p.interpreter(l)
	if out, err := exec.CommandContext(ctx, program, l.try...).CombinedOutput(); err != nil {
		p.printf("%s", out)
		return p.sayf("Error: %s cannot load the module %s, which is part of the C implementation: %s", program, l.module, cli.ErrText(err))
	}
	for _, what := range []struct{ file, variable string }{{"domain.h", "DOMAIN"}, {"pmns", "PMNS"}} {
		cmd := exec.CommandContext(ctx, program, path)
		cmd.Dir, cmd.Stderr = p.v["pmda_dir"], p.env.ChildStderr()
		cmd.Env = append(cmd.Environ(), l.variable+what.variable+"=1")
		text, err := cmd.Output()
		if err != nil {
			return p.sayf("Error: %s does not print its %s: %s", path, what.file, cli.ErrText(err))
		}
		if len(text) > maxFile {
			return p.sayf("Error: %s prints more than %d bytes for %s", path, maxFile, what.file)
		}
		if err := writeWhole(filepath.Join(p.v["pmda_dir"], what.file+"."+l.kind), text, false); err != nil {
			return err
		}
	}
	return nil
}

// describeAll does so for the languages in which the agent can be installed. It is an error if one of them
// cannot be used, unless there is another kind of agent.
func (p *procedure) describeAll(ctx context.Context) error {
	others := p.is("dso_opt") || p.is("daemon_opt")
	for _, l := range languages {
		if !p.is(l.kind+"_opt") || others && p.scriptOf(l) == "" {
			continue
		}
		if others && exec.CommandContext(ctx, p.interpreter(l), l.try...).Run() != nil {
			continue
		}
		if err := p.describe(ctx, l); err != nil {
			return err
		}
	}
	return nil
}

// domainFile returns the text that defines the domain: that of domain.h, or if there is none of what a
// script has printed.
func (p *procedure) domainFile() ([]byte, error) {
	path := filepath.Join(p.v["pmda_dir"], "domain.h")
	text, err := readLimited(path)
	for _, l := range languages {
		if os.IsNotExist(err) {
			text, err = readLimited(path + "." + l.kind)
		}
	}
	return text, err
}

// useScript makes the names that the script of a chosen language has printed those to install, if the
// Install script has no others.
func (p *procedure) useScript(l language) error {
	path := filepath.Join(p.v["pmda_dir"], "pmns."+l.kind)
	if _, err := os.Stat(path); err != nil {
		return p.sayf("Error: %s cannot load the module %s, which is part of the C implementation, or there is no script of the agent", p.interpreter(l), l.module)
	}
	if p.v["pmns_source"] == "pmns" && !strings.Contains(strings.TrimSpace(p.v["pmns_name"]), " ") {
		p.set("pmns_source", filepath.Base(path))
	}
	return nil
}
