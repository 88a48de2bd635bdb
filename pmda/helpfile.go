package pmda

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"strings"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/helpfile"
	"github.com/go-pcp/pcp/pmns"
)

// maxHelpSource is the largest source of help texts that is compiled, in bytes.
const maxHelpSource = 16 << 20

// openHelp reads the file of help texts at path for an agent. If the file cannot
// be read, it logs that, and the agent continues as in C.
func openHelp(path string, a Agent, name string, log *slog.Logger) Texter {
	if path == "" {
		return nil
	}
	f, err := helpfile.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		if st, e := os.Stat(path); e == nil && st.Mode().IsRegular() {
			f, err = compileHelp(path, st.Size(), a, log)
		}
	}
	if err != nil {
		// These are the words of libpcp_pmda, which operators look for.
		log.Warn(fmt.Sprintf("PMDA %s: Unable to open help text file(s) from %q: %s", name, path, reason(err)))
		return nil
	}
	log.Debug("help texts", "path", path)
	return f
}

// reason returns the message of pmErrStr(3) for an error, if it has one.
func reason(err error) string {
	if code := pcp.Code(err); code != pcp.ErrGeneric {
		return code.Error()
	}
	return err.Error()
}

// compileHelp reads a source. The messages of newhelp(1) go to the log.
func compileHelp(path string, size int64, a Agent, log *slog.Logger) (*helpfile.File, error) {
	if size > maxHelpSource {
		return nil, fmt.Errorf("%d bytes: %w", size, pcp.ErrTooBig)
	}
	r, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	names := pmns.New()
	if n, ok := a.(NameSpacer); ok {
		names = n.NameSpace()
	}
	var said strings.Builder
	c := helpfile.Compiler{Lookup: names.Lookup, Program: "help", Stderr: &said}
	err = c.Add(r, path)
	for line := range strings.Lines(said.String()) {
		log.Warn(strings.TrimSpace(line))
	}
	if err != nil {
		return nil, err
	}
	return helpfile.Parse(c.Dir(), c.Pag())
}

// list writes to the log what an agent has, as libpcp_pmda does with -D libpmda.
// It leaves out the flags and kinds of tables, which only that library has.
func (d *Daemon) list(domain int, a Agent, log *slog.Logger) {
	r := &rows{}
	if t, ok := a.(interface{ present() *rows }); ok {
		r = t.present()
	}
	indoms := make(map[pcp.InDom]int)
	for i, m := range r.list {
		if m.indom == nil {
			continue
		}
		if _, ok := indoms[m.indom.id]; !ok {
			indoms[m.indom.id] = len(indoms)
		}
		log.Debug(fmt.Sprintf("pmdaInit: PMDA %s: Metric %v(%d) matched to indom %v(%d)",
			d.Name, m.desc.PMID, i, m.indom.id, indoms[m.indom.id]))
	}
	for _, l := range []struct {
		name  string
		value any
	}{
		{"name       ", d.Name},
		{"domain     ", domain},
		{"num metrics", len(r.list)},
		{"num indom  ", len(r.indoms)},
	} {
		log.Info(fmt.Sprintf("%s = %v", l.name, l.value))
	}
}
