package logdiff

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// report lists the pairs "name|value|value" that differ enough: new metrics, those that
// grew, the largest growth first, those that shrank, and missing ones.
func (t *tool) report(pairs []string) []string {
	var lines []string
	for _, pair := range pairs {
		fields := strings.Split(pair, "|")
		for len(fields) < 3 {
			fields = append(fields, "")
		}
		if line := t.line(fields[0], fields[1], fields[2]); line != "" {
			lines = append(lines, line)
		}
	}
	type item struct {
		line   string
		ratio  float64
		behind string
	}
	items := make([]item, len(lines))
	for i, line := range lines {
		third, fourth := field(line, 3), field(line, 4)
		items[i] = item{line, leading(line[third:fourth]), line[fourth:]}
	}
	slices.SortFunc(items, func(a, b item) int {
		return cmp.Or(cmp.Compare(b.ratio, a.ratio), strings.Compare(a.behind, b.behind), strings.Compare(a.line, b.line))
	})
	var groups [5][]string
	for _, it := range items {
		line := strings.Replace(it.line, "100+", ">100", 1)
		if i := indexSmall(line); i >= 0 {
			line = line[:i] + "<0.001 " + line[i+len(" 0.001-"):]
		}
		words := strings.Fields(line)
		if len(words) < 3 {
			continue
		}
		switch w := words[2]; {
		case w == "|+|":
			groups[0] = append(groups[0], line)
		case w == ">100":
			groups[1] = append(groups[1], line)
		case w[0] >= '0' && w[0] <= '9':
			groups[2] = append(groups[2], line)
		case w == "<0.001":
			groups[3] = append(groups[3], line)
		case w == "|-|":
			groups[4] = append(groups[4], line)
		}
	}
	return slices.Concat(groups[:]...)
}

// indexSmall finds " 0.001-", with any character for the point.
func indexSmall(line string) int {
	for i := 0; i+7 <= len(line); i++ {
		if line[i:i+2] == " 0" && line[i+3:i+7] == "001-" {
			return i
		}
	}
	return -1
}

// field returns the start of field n of a line as sort(1) counts: including the blanks
// before it.
func field(line string, n int) int {
	i := 0
	for ; n > 1; n-- {
		for i < len(line) && blank(line[i]) {
			i++
		}
		for i < len(line) && !blank(line[i]) {
			i++
		}
	}
	return i
}

func blank(c byte) bool { return c == ' ' || c == '\t' }

// leading returns the number that s starts with, 0 if there is none.
func leading(s string) float64 {
	s = strings.TrimLeft(s, " \t")
	n := 0
	if strings.HasPrefix(s, "-") {
		n++
	}
	for n < len(s) && (s[n] == '.' || '0' <= s[n] && s[n] <= '9') {
		n++
	}
	for ; n > 0; n-- {
		if v, err := strconv.ParseFloat(s[:n], 64); err == nil {
			return v
		}
	}
	return 0
}

// line returns the line about a metric, "" if there is nothing to report.
func (t *tool) line(name, before, after string) string {
	a, b := leading(before), leading(after)
	if a == 0 || b == 0 {
		if before == after || a == b && before != "" && after != "" {
			return ""
		}
		sign := "|+|"
		if b == 0 {
			sign = "|-|"
		}
		return t.value(a) + t.value(b) + "   " + sign + "   " + name
	}
	if a/b < t.threshold && b/a < t.threshold {
		return ""
	}
	ratio := ""
	switch r := b / a; {
	case r < 0.001:
		ratio = " 0.001-"
	case r < 0.01:
		ratio = fmt.Sprintf("%6.3f ", r)
	case r > 100:
		ratio = " 100+  "
	default:
		ratio = fmt.Sprintf("%5.2f  ", r)
	}
	return t.value(a) + t.value(b) + " " + ratio + " " + name
}

// value formats a value for its column; larger values get fewer digits.
func (t *tool) value(v float64) string {
	extra := t.digits - 3
	column := func(width, digits, behind int) string {
		return fmt.Sprintf("%*.*f%*s", width, digits, v, behind, " ")
	}
	switch {
	case v > 99999999:
		return column(15+extra, 0, 1)
	case v > 999:
		return column(11, 0, 2+t.digits)
	case v > 99:
		return column(13+extra, 1+extra, 3)
	case v > 9:
		return column(14+extra, 2+extra, 2)
	}
	return column(15+extra, t.digits, 1)
}
