package report

import (
	"bytes"
	"fmt"

	"github.com/go-pcp/pcp"
)

// AppendDesc appends the two lines by which most tools describe a metric
// (pmPrintDesc(3)), or only the first one if the metric is not supported.
func AppendDesc(b []byte, d *pcp.Desc) []byte { return d.AppendPrint(b, false) }

// AppendFullDesc is AppendDesc in pminfo's layout: all metrics have two lines.
// With number it also shows the instance domain as a decimal number.
func AppendFullDesc(b []byte, d *pcp.Desc, number bool) []byte {
	if !number {
		return d.AppendPrint(b, true)
	}
	const hex = " 0x" // comes after the domain, which the first of them is
	return append(b, bytes.Replace(d.AppendPrint(nil, true), []byte(hex), fmt.Appendf(nil, " = %d =%s", uint32(d.InDom), hex), 1)...)
}

// AppendTabbedDesc appends the descriptor as one line for scripts: after each tab the type, the instance domain, the
// semantics, and the units, without their names.
func AppendTabbedDesc(b []byte, d *pcp.Desc, number bool) []byte {
	text := AppendFullDesc(nil, d, number)
	for _, label := range []string{"    Data Type: ", "  InDom: ", "\n    Semantics: ", "  Units: "} {
		text = bytes.Replace(text, []byte(label), []byte("\t"), 1)
	}
	return append(b, text...)
}
