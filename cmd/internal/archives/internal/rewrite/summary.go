package rewrite

import (
	"fmt"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
)

// AppendSummary appends the changes of the rules, in the words of pmlogrewrite -v.
func (r *Rules) AppendSummary(b []byte) []byte {
	if r.cfg.Seven {
		b = append(b, "PCP Archive Rewrite Specifications Summary\n"...)
	} else {
		b = append(b, "PCP Archive Log Rewrite Specifications Summary\n"...)
	}
	b = r.global.appendSummary(b, r)
	for s := range fromLast(r.indoms) {
		b = s.appendSummary(b)
	}
	for s := range fromLast(r.metrics) {
		b = s.appendSummary(b, r)
	}
	for s := range fromLast(r.texts) {
		b = s.appendSummary(b)
	}
	for s := range fromLast(r.labels) {
		b = s.appendSummary(b)
	}
	if !r.summarized() {
		b = append(b, "No changes\n"...)
	}
	return b
}

// summarized reports whether the summary is not empty.
func (r *Rules) summarized() bool {
	if r.global.any() {
		return true
	}
	for _, s := range r.indoms {
		if s.new != s.old || s.changesInsts() {
			return true
		}
	}
	for _, s := range r.metrics {
		if s.flags != 0 || s.insts != nil {
			return true
		}
	}
	for _, s := range r.texts {
		if s.flags != 0 {
			return true
		}
	}
	for _, s := range r.labels {
		if s.flags != 0 {
			return true
		}
	}
	return false
}

func (g *global) appendSummary(b []byte, r *Rules) []byte {
	label := r.meta.Label()
	if g.setHost {
		b = fmt.Appendf(b, "Hostname:\t%s -> %s\n", label.Host, g.host)
	}
	if g.setTimeZone {
		b = fmt.Appendf(b, "Timezone:\t%s -> %s\n", label.TimeZone, g.timeZone)
	}
	if g.setZoneInfo {
		zone := label.ZoneInfo
		if label.Version < archive.Version3 {
			zone = "(null)" // as printf(3) has it
		}
		b = fmt.Appendf(b, "Zoneinfo:\t%s -> %s\n", zone, g.zoneInfo)
	}
	if g.setFeatures {
		b = fmt.Appendf(b, "Features:\t%d -> %d\n", int32(label.Features), int32(g.features))
	}
	if g.setTime {
		sign, sec := "", g.sec
		if sec < 0 {
			sign, sec = "-", -sec
		}
		// The C tool starts again with each year.
		hours := sec / 3600
		if sec >= 365*24*3600 {
			hours = yearHours(sec)
		}
		b = fmt.Appendf(b, "Delta:\t\t-> %s%02d:%02d:%02d.%09d\n", sign, hours, sec/60%60, sec%60, g.nsec)
	}
	return b
}

// yearHours returns the hours since the start of the year, from 1970 on.
func yearHours(sec int64) int64 {
	t := pcp.Timestamp{Sec: sec}.Time().UTC()
	return int64(t.YearDay()-1)*24 + int64(t.Hour())
}

func (s *indomSpec) appendSummary(b []byte) []byte {
	headed := false
	head := func() {
		if !headed {
			b = fmt.Appendf(b, "\nInstance Domain: %s\n", s.old)
			headed = true
		}
	}
	if s.new != s.old {
		head()
		b = fmt.Appendf(b, "pmInDom:\t-> %s\n", s.new)
	}
	for i := range s.insts {
		c := &s.insts[i]
		if !c.changed() {
			continue
		}
		head()
		b = fmt.Appendf(b, "Instance:\t[%d] \"%s\" -> ", c.inst, c.name)
		if c.deleted {
			b = append(b, "DELETE\n"...)
			continue
		}
		inst, name := c.result()
		b = fmt.Appendf(b, "[%d] \"%s\"\n", inst, name)
	}
	return b
}

func (s *metricSpec) appendSummary(b []byte, r *Rules) []byte {
	if s.flags != 0 || s.insts != nil {
		if names := r.meta.Names(s.old.PMID); r.cfg.Seven && len(names) > 1 { // from the last one
			b = fmt.Appendf(b, "\nMetrics: %s [", names[len(names)-1])
			for i := len(names) - 2; i >= 0; i-- {
				b = append(b, names[i]...)
				if i > 0 {
					b = append(b, ' ')
				}
			}
			b = fmt.Appendf(b, "] (%s)\n", s.old.PMID)
		} else {
			b = fmt.Appendf(b, "\nMetric: %s (%s)\n", s.name, s.old.PMID)
		}
	}
	if s.flags&metricPMID != 0 {
		b = fmt.Appendf(b, "pmID:\t\t%s -> %s\n", s.old.PMID, s.new.PMID)
	}
	if s.flags&metricName != 0 {
		b = fmt.Appendf(b, "Name:\t\t%s -> %s\n", s.name, s.newName)
	}
	if s.flags&metricType != 0 {
		b = fmt.Appendf(b, "Type:\t\t%s -> %s\n", s.old.Type, s.new.Type)
	}
	if s.flags&metricInDom != 0 {
		b = fmt.Appendf(b, "InDom:\t\t%s -> %s\n", s.old.InDom, s.new.InDom)
		if s.output != outputAll {
			b = s.appendOutput(append(b, "Output:\t\t"...))
		}
	}
	if s.insts != nil {
		b = fmt.Appendf(b, "Inst Changes:\t<- InDom %s\n", s.insts.old)
	}
	if s.flags&metricSem != 0 {
		b = fmt.Appendf(b, "Semantics:\t%s -> %s\n", semText(s.old.Sem), semText(s.new.Sem))
	}
	if s.flags&metricUnits != 0 {
		b = fmt.Appendf(b, "Units:\t\t%s -> %s", s.old.Units, s.new.Units)
		if s.flags&metricRescale != 0 {
			b = append(b, " (rescale)"...)
		}
		b = append(b, '\n')
	}
	for _, v := range s.values {
		b = fmt.Appendf(b, "Value:\t\t/%s/ -> \"%s\"\n", v.pattern, v.with)
	}
	if s.flags&metricDelete != 0 {
		b = append(b, "DELETE\n"...)
	}
	return b
}

func (s *metricSpec) appendOutput(b []byte) []byte {
	single := s.old.InDom == pcp.InDomNull
	one := func(what string) []byte {
		return fmt.Appendf(b, "%s and only value (output instance %d)\n", what, s.oneInst)
	}
	what := map[output]string{
		outputFirst: "first", outputLast: "last", outputMin: "smallest", outputMax: "largest", outputSum: "sum", outputAvg: "average",
	}[s.output]
	switch {
	case s.output == outputOne && single:
		return fmt.Appendf(b, "the only value (output instance %d)\n", s.oneInst)
	case s.output == outputOne:
		b = append(b, "value for instance"...)
		if s.oneInst != pcp.InNull {
			b = fmt.Appendf(b, " %d", s.oneInst)
		}
		if s.named {
			b = fmt.Appendf(b, " \"%s\"", s.oneName)
		}
		return append(b, '\n')
	case single && s.output == outputFirst && s.oneInst == pcp.InNull:
		name := s.oneName
		if !s.named {
			name = "(null)"
		}
		return fmt.Appendf(b, "first and only value (output instance \"%s\")\n", name)
	case single:
		return one(what)
	case s.output == outputSum || s.output == outputAvg:
		return fmt.Appendf(b, "%s value (output instance %d)\n", what, s.oneInst)
	}
	return append(append(b, what...), " value\n"...)
}

func (s *textSpec) appendSummary(b []byte) []byte {
	if s.flags == 0 {
		return b
	}
	kind, object, id := "full", "pmID", pcp.PMID(s.ident).String()
	to := pcp.PMID(s.newIdent).String()
	if s.kind&pcp.TextOneLine != 0 {
		kind = "One Line"
	}
	if s.kind&pcp.TextPMID == 0 {
		object, id, to = "pmInDom", pcp.InDom(s.ident).String(), pcp.InDom(s.newIdent).String()
	}
	b = fmt.Appendf(b, "\nHelp Text: %s %s (%s)\n", kind, object, id)
	if s.flags&textIdent != 0 {
		b = fmt.Appendf(b, "ID:\t\t%s -> %s\n", id, to)
	}
	if s.flags&textText != 0 {
		b = fmt.Appendf(b, "Text:\t\t\"%s\"\n\t\t->\n\t\t\"%s\"\n", s.text, s.newText)
	}
	if s.flags&textDelete != 0 {
		b = append(b, "DELETE\n"...)
	}
	return b
}

// identText names the owner of labels, as the C library does.
func identText(level pcp.LabelFlags, ident uint32) string {
	switch level {
	case pcp.LabelDomain:
		return "Domain " + fmt.Sprint(ident)
	case pcp.LabelInDom, pcp.LabelInstances:
		return "InDom " + pcp.InDom(ident).String()
	case pcp.LabelCluster:
		return "Cluster " + cluster(ident)
	case pcp.LabelItem:
		return "PMID " + pcp.PMID(ident).String()
	case pcp.LabelContext:
		return "Context"
	}
	return ""
}

// changedIdent names it in the form of the summary for a change.
func changedIdent(level pcp.LabelFlags, ident uint32) string {
	switch level {
	case pcp.LabelCluster:
		return "Cluster " + pcp.PMID(ident).String()
	case pcp.LabelInDom:
		return "Indom " + pcp.InDom(ident).String()
	case pcp.LabelInstances:
		return "Instances " + pcp.InDom(ident).String()
	case pcp.LabelContext:
		return ""
	}
	return identText(level, ident)
}

func (s *labelSpec) appendSummary(b []byte) []byte {
	if s.flags == 0 {
		return b
	}
	b = fmt.Appendf(b, "\nLabel: %s", identText(s.level, s.ident))
	if s.level == pcp.LabelInstances {
		if s.inst != -1 {
			b = fmt.Appendf(b, ", Instance: %d", s.inst)
		} else {
			b = append(b, ", Instances: ALL"...)
		}
	}
	if s.name != "" {
		b = fmt.Appendf(b, ", Label: %s", s.name)
	}
	if s.value != "" {
		b = fmt.Appendf(b, ", Value: %s", s.value)
	}
	b = append(b, '\n')
	if s.flags&labelNew != 0 {
		b = append(b, "NEW:\n"...)
		b = appendLabelSet(b, s.level, s.newIdent, &s.newSet)
	}
	if s.flags&labelIdent != 0 {
		b = fmt.Appendf(b, "ID:\t\t%s -> %s\n", changedIdent(s.level, s.ident), changedIdent(s.level, s.newIdent))
	}
	all := func(s string) string {
		if s == "" {
			return "ALL"
		}
		return s
	}
	if s.flags&labelName != 0 {
		b = fmt.Appendf(b, "Label:\t\t%s -> %s\n", all(s.name), s.newName)
	}
	if s.flags&labelValue != 0 {
		b = fmt.Appendf(b, "Value:\t\t%s -> %s\n", all(s.value), s.newValue)
	}
	if s.flags&labelDelete != 0 {
		b = append(b, "DELETE\n"...)
	}
	return b
}

// appendLabelSet appends a set as pmPrintLabelSets(3) does.
func appendLabelSet(b []byte, level pcp.LabelFlags, ident uint32, set *pcp.LabelSet) []byte {
	b = fmt.Appendf(b, "    %s", identText(level, ident))
	if level == pcp.LabelInstances {
		b = fmt.Appendf(b, "[%d]", uint32(set.Inst))
	}
	b = fmt.Appendf(b, " labels (%d bytes): %s\n", len(set.JSON), set.JSON)
	for i, x := range set.Index {
		b = fmt.Appendf(b, "        [%d] name(%d,%d) : value(%d,%d) [%s]\n", i, x.Name, x.NameLen, x.Value, x.ValueLen, x.Flags)
	}
	return b
}
