package report

import (
	"strconv"
	"strings"

	"github.com/go-pcp/pcp"
)

// AppendLabelSets appends sets, the answer to a request for the labels of
// ident at a level, with their indexes (pmPrintLabelSets(3)).
func AppendLabelSets(b []byte, ident uint32, level pcp.LabelFlags, sets []pcp.LabelSet) []byte {
	for i := range sets {
		s := &sets[i]
		b = append(b, "    "...)
		switch level.Level() {
		case pcp.LabelContext:
			b = append(b, "Context"...)
		case pcp.LabelDomain:
			b = strconv.AppendUint(append(b, "Domain "...), uint64(ident), 10)
		case pcp.LabelInDom, pcp.LabelInstances:
			b = append(append(b, "InDom "...), pcp.InDom(ident).String()...)
		case pcp.LabelCluster:
			id := pcp.PMID(ident).String()
			b = append(append(b, "Cluster "...), id[:max(0, strings.LastIndexByte(id, '.'))]...)
		case pcp.LabelItem:
			b = pcp.PMID(ident).AppendText(append(b, "PMID "...))
		}
		if level&pcp.LabelInstances != 0 {
			b = append(strconv.AppendUint(append(b, '['), uint64(uint32(s.Inst)), 10), ']')
		}
		b = strconv.AppendInt(append(b, " labels ("...), int64(len(s.JSON)), 10)
		b = append(append(append(b, " bytes): "...), s.JSON...), '\n')
		for i, l := range s.Index {
			b = strconv.AppendInt(append(b, "        ["...), int64(i), 10)
			b = strconv.AppendUint(append(b, "] name("...), uint64(l.Name), 10)
			b = strconv.AppendUint(append(b, ','), uint64(l.NameLen), 10)
			b = strconv.AppendUint(append(b, ") : value("...), uint64(l.Value), 10)
			b = strconv.AppendUint(append(b, ','), uint64(l.ValueLen), 10)
			b = append(append(append(b, ") ["...), l.Flags.String()...), "]\n"...)
		}
	}
	return b
}
