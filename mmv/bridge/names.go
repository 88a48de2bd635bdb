package bridge

import (
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	nameMax = 200 // leaves room for the agent's prefix
	instMax = 255 // of the format
)

// Name converts a foreign name to a name of PCP, as described in the package
// comment. It does not look for collisions.
func Name(foreign string) string {
	var b strings.Builder
	for part := range strings.SplitSeq(foreign, ".") {
		if part == "" {
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('.')
		}
		if !isLetter(rune(part[0])) {
			b.WriteByte('x')
		}
		for _, ch := range part {
			if !isLetter(ch) && (ch < '0' || ch > '9') {
				ch = '_'
			}
			b.WriteRune(ch)
		}
	}
	if b.Len() == 0 {
		return "x"
	}
	name := b.String()
	if len(name) > nameMax {
		name = strings.TrimRight(name[:nameMax-9], ".") + "_" + hashOf(foreign)
	}
	return name
}

func isLetter(ch rune) bool { return ch >= 'a' && ch <= 'z' || ch >= 'A' && ch <= 'Z' }

func hashOf(s string) string {
	h := fnv.New32a()
	h.Write([]byte(s))
	return fmt.Sprintf("%08x", h.Sum32())
}

// names are the names in use. A name is true if it is a metric's, false if it is
// a group of them.
type names map[string]bool

// take returns name, changed if necessary, and keeps it. The name with any of the
// suffixes must not collide either: those are names of further metrics.
func (n names) take(name string, suffixes ...string) string {
	for i := 0; i < len(name); i++ {
		if name[i] == '.' && n[name[:i]] { // a metric is not a group
			name = name[:i] + "_" + name[i+1:]
		}
	}
	for i := 1; ; i++ {
		try := name
		if i > 1 {
			try += "_" + strconv.Itoa(i)
		}
		if !n.free(try, suffixes) {
			continue
		}
		if len(suffixes) == 0 {
			n.put(try)
		}
		for _, s := range suffixes {
			n.put(try + s)
		}
		return try
	}
}

func (n names) free(name string, suffixes []string) bool {
	if len(suffixes) == 0 {
		return n.fits(name)
	}
	for _, s := range suffixes {
		if !n.fits(name + s) {
			return false
		}
	}
	return true
}

// fits reports whether name can be a metric's.
func (n names) fits(name string) bool {
	if _, taken := n[name]; taken {
		return false
	}
	for i := strings.LastIndexByte(name, '.'); i > 0; i = strings.LastIndexByte(name[:i], '.') {
		if n[name[:i]] {
			return false
		}
	}
	return true
}

func (n names) put(name string) {
	n[name] = true
	for i := strings.LastIndexByte(name, '.'); i > 0; i = strings.LastIndexByte(name[:i], '.') {
		n[name[:i]] = false
	}
}

// A Label is a name and a value that identify a series of a metric. The value of
// a label without a name is used as the name of the instance, and not as a label.
type Label struct{ Name, Value string }

// appendInstance appends the name of the instance that labels make. Different
// labels make different names: commas, equals signs and backslashes of a value are
// preceded by a backslash, and so do characters that cannot be printed.
func appendInstance(b []byte, labels []Label) []byte {
	if len(labels) == 0 {
		return append(b, "{}"...)
	}
	for i, l := range labels {
		if i > 0 {
			b = append(b, ',')
		}
		if l.Name != "" {
			b = appendEscaped(b, l.Name, true)
			b = append(b, '=')
		}
		b = appendEscaped(b, l.Value, l.Name != "")
	}
	return b
}

// appendEscaped appends s with backslashes; delimiters are commas and equals
// signs.
func appendEscaped(b []byte, s string, delimiters bool) []byte {
	for i := 0; i < len(s); {
		ch, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case ch < ' ' || ch == 0x7f || ch == utf8.RuneError && n == 1:
			const hex = "0123456789abcdef"
			b = append(b, '\\', 'x', hex[s[i]>>4], hex[s[i]&15])
		case ch == '\\' || delimiters && (ch == ',' || ch == '='):
			b = append(b, '\\', s[i])
		default:
			b = append(b, s[i:i+n]...)
		}
		i += n
	}
	return b
}

// instanceName returns key in a form that fits into a file.
func instanceName(key string) string {
	if key == "" {
		return "{}"
	}
	if len(key) <= instMax {
		return key
	}
	return clip(key, instMax-9) + "~" + hashOf(key)
}

// clip cuts s to at most n bytes, between two characters.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
