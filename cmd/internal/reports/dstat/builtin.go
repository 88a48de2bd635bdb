package dstat

import (
	_ "embed"
	"fmt"
	"strings"
)

// subjects are our own plugins except those of block devices, used if none are installed.
//
//go:embed plugins.conf
var subjects string

// builtin returns our own plugins, in the form of a file.
func builtin() string {
	var b strings.Builder
	b.WriteString(subjects)
	for _, d := range []struct{ kind, metrics, label string }{
		{"disk", "disk.dev", "dsk/%I"},
		{"dm", "disk.dm", "%I"},
		{"md", "disk.md", "dsk/%I"},
		{"part", "disk.partitions", "dsk/%I"},
	} {
		each := func(report, value string, step int, formula string) {
			fmt.Fprintf(&b, "[%s-%s]\nlabel = %%I\ngrouptype = 1\nwidth = 4\nprinttype = f\ncolorstep = %d\n", d.kind, report, step)
			for i, name := range strings.Fields(value) {
				part := strings.Split(formula, ";")[i]
				fmt.Fprintf(&b, "%s = %s\n", name, strings.ReplaceAll(part, "@", d.metrics+"."))
			}
		}
		total := func(name, print, width, read, write, suffix string) {
			fmt.Fprintf(&b, "[%s]\nlabel = %s\ngrouptype = 2\nprinttype = %s\n%s", name, d.label, print, width)
			for _, c := range [][2]string{{"read", read}, {"write", write}} {
				fmt.Fprintf(&b, "%ss = %s.%s%s\n%[1]ss.label = %[5]s\n", c[0], d.metrics, c[0], suffix, c[1])
			}
		}
		const requests = "(delta(@read) + delta(@write))"
		total(d.kind, "b", "", "read", "writ", "_bytes")
		total(d.kind+"-tps", "d", "width = 5\n", "#read", "#writ", "")
		each("avgqu", "avgqu", 10, "@aveq")
		each("avgrq", "avgrq", 10, "(delta(@read_bytes) + delta(@write_bytes)) / "+requests)
		each("svctm", "svctm", 1, "(delta(@avactive) / 1000 / 2) / "+requests)
		each("util", "util", 34, "100 * rate(@avactive)")
		each("wait", "rawait wawait", 1, "delta(@read_rawactive) / delta(@read);delta(@write_rawactive) / delta(@write)")
	}
	return b.String()
}
