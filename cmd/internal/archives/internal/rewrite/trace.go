package rewrite

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/debug"
	"github.com/go-pcp/pcp/internal/debugname"
	"github.com/go-pcp/pcp/internal/hashorder"
)

// The changes of metadata for -D appl1, in the layout of the C tool. Those of labels are not traced.

// tracing returns the log if it is for changes of metadata, else nil.
func (r *Rules) tracing() *debug.Log {
	if log := r.cfg.Debug; log.On(debugname.Appl1) {
		return log
	}
	return nil
}

// inTableOrder returns the descriptors in the order of the C tool's hash table.
func inTableOrder(descs []pcp.Desc) []pcp.Desc {
	keys := make([]uint32, len(descs))
	for i := range descs {
		keys[i] = uint32(descs[i].PMID)
	}
	list := make([]pcp.Desc, 0, len(descs))
	for _, i := range hashorder.Of(keys) {
		list = append(list, descs[i])
	}
	return list
}

// use changes the number of metrics in an instance domain by n for a metric, and traces it.
func (w *rewriter) use(what string, id pcp.InDom, n int, metric pcp.PMID) {
	w.uses[id] += n
	w.rules.tracing().Printf("%s InDom: %s refcnt: %d (for PMID: %s)\n", what, id, w.uses[id], metric)
}

// trace traces the change of a metric.
func (s *metricSpec) trace(log *debug.Log) {
	if log == nil || s.flags == 0 {
		return
	}
	if s.flags&metricDelete != 0 {
		log.Printf("Delete: pmDesc for %s\n", s.old.PMID)
		return
	}
	text := fmt.Appendf(nil, "Rewrite: pmDesc for %s", s.old.PMID)
	if !log.On(debugname.Version7) {
		log.Write(append(text, '\n'))
		return
	}
	text = append(text, ':')
	for _, part := range [...]struct {
		flag int
		name string
	}{
		{metricPMID, " pmid"}, {metricName, " name"}, {metricType, " type"}, {metricInDom, " indom"}, {metricSem, " sem"}, {metricUnits, " units"},
	} {
		if s.flags&part.flag != 0 {
			text = append(text, part.name...)
		}
	}
	log.Write(append(text, '\n'))
}

// trace traces the changes of the instances in list, as they were.
func (s *indomSpec) trace(log *debug.Log, list []archive.Change) {
	if log == nil {
		return
	}
	for i := range s.insts {
		c := &s.insts[i]
		if slices.ContainsFunc(list, func(x archive.Change) bool { return x.Inst == c.inst }) {
			c.trace(log, s.old)
		}
	}
}

func (c *instChange) trace(log *debug.Log, id pcp.InDom) {
	switch {
	case c.deleted:
		log.Printf("Delete: instance %s (%d) for indom %s\n", c.name, c.inst, id)
	case c.changed():
		inst, name := c.result()
		log.Printf("Rewrite: instance %s (%d) -> %s (%d) for indom %s\n", c.name, c.inst, name, inst, id)
	}
}

// trace traces the change of a help text.
func (s *textSpec) trace(log *debug.Log) {
	if log == nil || s.flags == 0 {
		return
	}
	old, to, link := textOf(s.kind, s.ident), textOf(s.kind, s.newIdent), " to\n" // and two spaces, as C prints
	if log.On(debugname.Version7) {
		link = " to "
	} else {
		old, to = strings.Replace(old, " for ", " for  ", 1), strings.Replace(to, " for ", " for  ", 1)
	}
	if s.flags&textDelete != 0 {
		log.Printf("Delete: %s\n", old)
		return
	}
	if s.flags&textText != 0 {
		old, to = old+` "`+s.text+`"`, to+` "`+s.newText+`"`
	}
	log.Printf("Rewrite: %s%s%s\n", old, link, to)
}

// textOf describes a help text.
func textOf(kind pcp.TextKind, ident uint32) string {
	what := "full"
	if kind&pcp.TextOneLine != 0 {
		what = "one line"
	}
	if kind&pcp.TextInDom != 0 {
		return fmt.Sprintf("%s help text for indom %s", what, pcp.InDom(ident))
	}
	return fmt.Sprintf("%s help text for metric %s", what, pcp.PMID(ident))
}
