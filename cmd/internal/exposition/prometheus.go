package exposition

import (
	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/prom/names"
)

// AppendSeries appends a name with labels, and a space.
func AppendSeries(b []byte, name string, sets []pcp.LabelSet, own *pcp.LabelSet, inst int32, instName string) []byte {
	return appendSeries(b, name, names.Merge(sets, own, inst, instName, names.Label))
}

// AppendBucket is AppendSeries for a bucket of a histogram with an upper bound.
func AppendBucket(b []byte, name string, sets []pcp.LabelSet, bound string) []byte {
	list := names.Merge(sets, nil, pcp.InNull, "", names.Label)
	return appendSeries(b, name, names.Set(list, names.Bound, names.Quote(bound)))
}

func appendSeries(b []byte, name string, list []names.Pair) []byte {
	b = append(b, name...)
	if len(list) == 0 {
		return append(b, ' ')
	}
	b = append(b, '{')
	for i, l := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, l.Name...)
		b = append(b, `="`...)
		b = appendLabelValue(b, l.Text())
		b = append(b, '"')
	}
	return append(b, "} "...)
}

// appendLabelValue appends the value of a label without its quotes.
func appendLabelValue(b []byte, s string) []byte {
	for i := range len(s) {
		switch c := s[i]; c {
		case '\\', '"':
			b = append(b, '\\', c)
		case '\n':
			b = append(b, `\n`...)
		default:
			b = append(b, c)
		}
	}
	return b
}
