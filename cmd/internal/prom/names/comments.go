package names

import (
	"strings"

	"github.com/go-pcp/pcp"
)

// Help returns the help text of a metric in Prometheus: the one-line text of PCP as valid UTF-8.
func Help(text string) string { return strings.ToValidUTF8(text, "\ufffd") }

// AppendHelp appends the line HELP of the text format, with the one-line text of a metric.
func AppendHelp(b []byte, name, text string) []byte {
	b = append(append(append(b, "# HELP "...), name...), ' ')
	text = Help(text)
	for i := range len(text) {
		switch c := text[i]; c {
		case '\\':
			b = append(b, `\\`...)
		case '\n':
			b = append(b, `\n`...)
		default:
			b = append(b, c)
		}
	}
	return append(b, '\n')
}

// AppendType appends the line TYPE of the text format.
func AppendType(b []byte, name string, d *pcp.Desc) []byte {
	b = append(append(append(b, "# TYPE "...), name...), ' ')
	return append(append(b, Type(d)...), '\n')
}
