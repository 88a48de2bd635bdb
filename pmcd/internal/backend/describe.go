package backend

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/go-pcp/pcp/pmcd/conf"
	"github.com/go-pcp/pcp/wire"
)

func (l *local) Describe(b *strings.Builder) {
	spec := &l.ag.spec
	lib, entry := spec.Path, spec.Entry
	if lib == "" {
		lib = "built-in"
	}
	if entry == "" {
		entry = fmt.Sprintf("%T", l.run.Agent())
	}
	fmt.Fprintf(b, "%-12s %3d               %3d dso i:%d  lib=%s entry=%s\n",
		l.ag.Name(), spec.Domain, wire.PDUVersion, pmdaInterface, lib, entry)
}

func (r *remote) Describe(b *strings.Builder) {
	a, spec := r.ag, &r.ag.spec
	fmt.Fprintf(b, "%-12s %3d %5d %3d %3d %3d bin ", a.Name(), spec.Domain, cmp.Or(a.pid.Load(), -1), r.inFD, r.outFD, wire.PDUVersion)
	command := strings.Join(spec.Args, " ")
	switch {
	case spec.Kind == conf.Pipe:
		b.WriteString("pipe cmd=" + command)
	default:
		b.WriteString("sock dom=" + spec.Family() + " port=" + spec.Address)
		if command != "" {
			b.WriteString(" cmd=" + command)
		}
	}
	b.WriteByte('\n')
}

// pmdaInterface is the version of the interface between collector and agent
// that agents in process have in full (PMDA_INTERFACE_7).
const pmdaInterface = 7
