package options

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/agent/builtin"
	"github.com/go-pcp/pcp/config"
	"github.com/go-pcp/pcp/getopt"
	"github.com/go-pcp/pcp/internal/daemonlog"
	"github.com/go-pcp/pcp/internal/debugname"
	"github.com/go-pcp/pcp/internal/helpfile"
	"github.com/go-pcp/pcp/internal/version"
	"github.com/go-pcp/pcp/pmapi"
	"github.com/go-pcp/pcp/pmcd/conf"
	"github.com/go-pcp/pcp/pmda"
	"github.com/go-pcp/pcp/pmns"
)

// A localDSO is one line of the table of agents for local contexts.
type localDSO struct {
	domain     int // -1: taken away again
	path, init string
	asked      bool // with -K, and not for being among what the collector runs
}

// A localTable lists the agents of a local context: at first those of the
// collector's configuration (connectlocal.c).
type localTable struct {
	loaded bool
	list   []localDSO
}

// SpecLocal changes the table of agents that local contexts have, as -K does. The error
// describes the mistake in the argument (pmSpecLocalPMDA(3)):
//
//	add,domain,path,init
//	del,domain  or  del,,path
//	clear
func (o *Sources) SpecLocal(spec string) error {
	if msg := o.changeLocal(spec); msg != "" {
		return errors.New(msg)
	}
	return nil
}

func (o *Sources) changeLocal(spec string) string {
	op, rest, ok := "", "", false
	for _, op = range []string{"add", "del", "clear"} {
		if rest, ok = strings.CutPrefix(spec, op); ok {
			break
		}
	}
	switch {
	case !ok:
		return "bad op in spec"
	case op == "clear" && rest != "":
		return "unexpected text after clear op in spec"
	case op == "clear":
		o.local = localTable{loaded: true}
		return ""
	case !strings.HasPrefix(rest, ","):
		return "expected , after op in spec"
	}
	add := op == "add"
	fields := strings.SplitN(rest[1:], ",", 3)
	for len(fields) < 3 {
		fields = append(fields, "")
	}
	d := localDSO{domain: -1, path: fields[1], init: fields[2], asked: true}
	switch {
	case fields[0] != "":
		n, ok := getopt.Atoi(fields[0])
		if !ok || n < 0 || n > pcp.MaxAgentDomain {
			return "bad domain in spec"
		}
		d.domain = n
	case add || rest == ",":
		return "missing domain in spec"
	}
	switch {
	case add && d.path == "" && !strings.Contains(rest[1:], ",,"):
		return "missing dso-path in spec"
	case add && d.path != "" && d.init == "":
		return "missing init-routine in spec"
	case d.domain < 0 && d.path == "":
		return "missing domain and dso-path in spec"
	}
	if err := o.loadLocal(); err != nil {
		return "__pmLocalPMDA: " + getopt.ErrText(err)
	}
	if add {
		o.local.list = append(o.local.list, d)
		return ""
	}
	found := false
	for i := range o.local.list {
		have := &o.local.list[i]
		if d.domain >= 0 && have.domain == d.domain || d.path != "" && have.path == d.path {
			have.domain, found = -1, true
		}
	}
	if !found {
		return "__pmLocalPMDA: " + pcp.ErrInDom.Error()
	}
	return ""
}

// loadLocal takes the agents of the collector's configuration into the table. On a
// host without an installation, where no setting names that file, they are the agents
// that a collector would run there by default.
func (o *Sources) loadLocal() error {
	if o.local.loaded {
		return nil
	}
	cfg := o.config()
	return o.loadLocalFrom(cfg.Get("PCP_PMCDCONF_PATH"), cfg.Named("PCP_PMCDCONF_PATH"), cfg.Get("PCP_PMDAS_DIR"))
}

// loadLocalFrom is loadLocal for the configuration at path, which must exist if it
// was named.
func (o *Sources) loadLocalFrom(path string, named bool, pmdas string) error {
	text, err := readConf(path)
	if err != nil && (named || !errors.Is(err, fs.ErrNotExist)) {
		return err
	}
	o.local.loaded = true
	if err != nil {
		for _, b := range builtins() {
			if !b.Sample && !b.Asked && !b.OfCollector && !b.Sought() {
				o.local.list = append(o.local.list, localDSO{domain: b.Domain, path: "pmda_" + b.Name, init: b.Name + "_init"})
			}
		}
		return nil
	}
	o.local.list = append(o.local.list, parseLocal(text, pmdas)...)
	return nil
}

// maxConf is the longest configuration of a collector that is looked at.
const maxConf = 1 << 20

func readConf(path string) (string, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return "", err
	case info.IsDir():
		return "", &fs.PathError{Op: "read", Path: path, Err: syscall.EISDIR}
	case !info.Mode().IsRegular():
		return "", fmt.Errorf("%s: not a file: %w", path, pcp.ErrGeneric)
	case info.Size() > maxConf:
		return "", fmt.Errorf("%s: more than %d bytes: %w", path, maxConf, pcp.ErrTooBig)
	}
	text, err := os.ReadFile(path)
	return string(text), err
}

// parseLocal finds the agents for local contexts in the configuration of a
// collector: DSOs, and the process linux, which is there as a DSO as well. The agent pmcd is about a collector. Their lines need not
// be right (build_dsotab in src/libpcp/src/connectlocal.c).
func parseLocal(text, pmdas string) []localDSO {
	var list []localDSO
	for _, a := range conf.Lenient(strings.NewReader(text)) {
		switch {
		case strings.HasPrefix(a.Name, "pmcd"):
		case strings.HasPrefix(a.Name, "linux"):
			list = append(list, localDSO{domain: 60, path: filepath.Join(pmdas, "linux/pmda_linux.so"), init: "linux_init"})
		case a.Kind == conf.DSO && a.Path != "" && a.Domain <= pcp.MaxAgentDomain:
			list = append(list, localDSO{domain: a.Domain, path: a.Path, init: a.Entry})
		}
	}
	return list
}

// OpenLocal opens a context on agents in this process (-L): those of this module with the names
// in the table. About others it prints an error on standard error, as the C library does for a
// DSO that it cannot load: at once if -K named them, else when their metrics are requested.
func (o *Sources) OpenLocal(ctx context.Context) (*pmapi.Context, error) {
	if err := o.loadLocal(); err != nil {
		return nil, err
	}
	cfg := o.config()
	log := slog.New(daemonlog.NewHandler(o.program().Stderr, o.program().Name, slog.LevelError))
	var agents []pmapi.LocalAgent
	for i := range o.local.list {
		d := &o.local.list[i]
		taken := func(a pmapi.LocalAgent) bool { return a.Domain == d.domain }
		if d.domain <= 0 {
			continue
		}
		b, msg := d.find(cfg.Get("PCP_PMDAS_DIR"))
		if slices.ContainsFunc(agents, taken) && (msg == "" || !d.asked) {
			continue // the first of a domain counts
		}
		if msg == "" {
			// What an agent would log, such as an MMV file whose owner has gone, is
			// no business of the tool: C agents are silent there, too.
			a, err := b.Open(builtin.Env{Domain: d.domain, Form: builtin.AsDSO, Version: version.String(), Config: cfg})
			if err == nil {
				agents = append(agents, pmapi.LocalAgent{Name: b.Name, Domain: d.domain, Agent: a, Help: helpOf(b, cfg)})
				continue
			}
			msg = fmt.Sprintf("initialization routine \"%s\" failed in DSO \"%s\": %s\n", d.init, d.path, getopt.ErrText(err))
		}
		tell := func() {
			o.msg().Printf("__pmConnectLocal: Warning: %s", msg)
			o.msg().Flush()
		}
		if !d.asked {
			agents = append(agents, pmapi.LocalAgent{Name: d.init, Domain: d.domain, Agent: &absentAgent{tell: tell}})
			continue
		}
		tell()
		d.domain = -1
	}
	container := o.opts.Container
	if container == "" {
		container = o.config().Getenv("PCP_CONTAINER")
	}
	c, err := pmapi.OpenLocalOptions(pmapi.LocalOptions{
		Debug:     o.opts.DebugLog(),
		Container: container, LabelsDir: cfg.Get("PCP_SYSCONF_DIR"), HostRoot: cfg.Get("PCP_HOST_ROOT"), Log: log, Names: o.localNames(),
	}, agents...)
	if err != nil {
		return nil, err
	}
	o.prepare(c)
	return c, nil
}

// localNames returns a function that loads the name space of PMNS_DEFAULT, else the
// installed one. If neither is there, it returns nil: the agents' own names are used. As with
// the C library only a look-up finds out that the file of PMNS_DEFAULT is missing.
func (o *Sources) localNames() func() (*pmns.Tree, error) {
	path := pmns.DefaultPath(o.config())
	if o.config().IsSet("PMNS_DEFAULT") {
		path = o.config().Getenv("PMNS_DEFAULT") // if only empty
	} else if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return func() (*pmns.Tree, error) { return o.loadNames(path) }
}

func (o *Sources) loadNames(path string) (*pmns.Tree, error) {
	if path == "" { // which to a Loader is the default
		o.msg().Printf("Error Parsing ASCII PMNS: Cannot open \"\"\n")
		o.msg().Flush()
		return nil, pcp.ErrNoPMNS
	}
	log := o.opts.DebugLog()
	if log.On(debugname.PMNS) {
		log.Printf("pmGetPMNSLocation: Loading local PMNS for local PMAPI context\n")
	}
	tree, err := (&pmns.Loader{DupOK: true, Raw: true, Config: o.config(), Stderr: o.program().Stderr, Debug: log}).Load(path)
	if err != nil {
		if pe, ok := errors.AsType[*pmns.ParseError](err); ok {
			o.msg().Printf("%s", pe.Diagnostic)
			o.msg().Flush()
		}
		return nil, fmt.Errorf("%w: %w", pcp.ErrNoPMNS, err)
	}
	return tree, nil
}

// find returns our agent for a DSO, or the reason that there is none.
func (d *localDSO) find(pmdas string) (builtin.Spec, string) {
	file, ok := agentOf("", d.path)
	if ok && !file.OfCollector && strings.HasPrefix(filepath.Base(d.path), "pmda_") {
		b, _ := agentOf(d.init, d.path)
		if d.init == b.Name+"_init" && cmp.Or(b.File, b.Name) == file.Name {
			return b, ""
		}
		path, _ := d.locate(pmdas)
		return file, fmt.Sprintf("couldn't find init function \"%s\" in DSO \"%s\"\n", d.init, path)
	}
	path, last := d.locate(pmdas)
	if last != "" {
		return builtin.Spec{}, fmt.Sprintf("cannot find DSO at \"%s\" or \"%s\"\n", last, d.path)
	}
	why := "this program has no agent of that name and does not load shared objects"
	if !isELF(path) {
		why = "invalid ELF header"
	}
	return builtin.Spec{}, fmt.Sprintf("error attaching DSO \"%s\"\n%s: %s\n\n", path, path, why)
}

// locate returns where the file of d is; if it is nowhere then where it should be
// and the last place at which it was looked for.
func (d *localDSO) locate(pmdas string) (path, last string) {
	under := pmdas + "/" + d.path
	for _, last = range []string{d.path, under, under + ".so", d.path + ".so"} {
		if _, err := os.Stat(last); err == nil {
			return last, ""
		}
	}
	return d.path, last
}

// An installedHelp has the help texts that are installed for an agent. The file is read when a text
// is wanted, which few programs do.
type installedHelp struct {
	open func() (*helpfile.File, error)
}

// helpOf returns the installed help texts of an agent, nil if there are none.
func helpOf(b builtin.Spec, cfg *config.Config) pmda.Texter {
	path := b.HelpFile(cfg)
	if path == "" {
		return nil
	}
	return installedHelp{sync.OnceValues(func() (*helpfile.File, error) { return helpfile.Open(path) })}
}

// Text implements pmda.Texter.
func (h installedHelp) Text(ctx context.Context, ident uint32, kind pcp.TextKind) (string, error) {
	f, err := h.open()
	if err != nil {
		return "", err // the agent has its own
	}
	return f.Text(ctx, ident, kind)
}

func isELF(path string) bool {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return false
	}
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	var magic [4]byte
	n, _ := f.Read(magic[:])
	return bytes.Equal(magic[:n], []byte("\x7fELF"))
}
