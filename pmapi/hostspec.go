package pmapi

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/ctext"
	"github.com/go-pcp/pcp/wire"
)

// A HostSpec is a parsed host specification: the collector to connect to,
// the transport, and the attributes of the connection (PCPIntro(1),
// __pmParseHostAttrsSpec(3)).
type HostSpec struct {
	Protocol string     // "pcp", "pcps", "unix", "local", or "" if absent
	Hosts    []HostPort // the collector, then the proxies on the way to it
	Attrs    []HostAttr // in the order of the text
}

// A HostPort is one host of a HostSpec.
type HostPort struct {
	Name  string // host name or address; for unix: and local: the absolute path of a socket, "" for the default one
	Ports []int  // in the order in which to try them; none means the default ones
}

// A HostAttr is one attribute of a connection.
type HostAttr struct {
	Key   wire.AttrKey
	Value string
}

// A SpecError is a syntax error in a host or metric specification. It wraps
// pcp.ErrGeneric, the status that the C functions return.
type SpecError struct {
	Spec   string
	Offset int // in Spec, of the first byte that cannot be
	Msg    string
}

// Error returns the error and its position in one line. A password is not shown.
func (e *SpecError) Error() string {
	return fmt.Sprintf("%q: offset %d: %s", HidePassword(e.Spec), e.Offset, e.Msg)
}

// Unwrap returns pcp.ErrGeneric.
func (e *SpecError) Unwrap() error { return pcp.ErrGeneric }

// Detail returns the two lines, with a caret under the culprit, that the C
// functions return as their error message, with * for a password.
func (e *SpecError) Detail() string {
	pad := []byte(e.Spec[:e.Offset])
	for i, c := range pad {
		if c > ' ' && c < 0x7f {
			pad[i] = ' '
		}
	}
	hidden := hidePassword(e.Spec, func(secret string) string { return strings.Repeat("*", len(secret)) })
	return hidden + "\n" + string(pad) + "^ -- " + e.Msg + "\n"
}

// HidePassword returns a host specification with *** in the place of a
// password, for messages. The text need not be right.
func HidePassword(spec string) string {
	return hidePassword(spec, func(string) string { return "***" })
}

func hidePassword(spec string, mask func(secret string) string) string {
	head, attrs, ok := strings.Cut(spec, "?")
	if !ok {
		return spec
	}
	fields := strings.Split(attrs, "&")
	for i, field := range fields {
		name, value, ok := strings.Cut(field, "=")
		if key := strings.ToLower(strings.TrimLeft(name, "?")); ok && (key == "password" || key == "pass") {
			fields[i] = name + "=" + mask(value)
		}
	}
	return head + "?" + strings.Join(fields, "&")
}

// attrNames are the names of attributes in a specification; String prints the
// first of each.
var attrNames = []struct {
	key   wire.AttrKey
	flag  bool // has no value; a given value is ignored
	names []string
}{
	{wire.AttrCompress, true, []string{"compress"}},
	{wire.AttrUserAuth, true, []string{"userauth", "authorise", "authorize"}},
	{wire.AttrUserName, false, []string{"username", "user"}},
	{wire.AttrPassword, false, []string{"password", "pass"}},
	{wire.AttrMethod, false, []string{"method", "authmeth"}},
	{wire.AttrRealm, false, []string{"realm"}},
	{wire.AttrSecure, false, []string{"secure"}},
	{wire.AttrUnixSocket, true, []string{"unixsock", "unix"}},
	{wire.AttrUserID, false, []string{"userid", "uid"}},
	{wire.AttrGroupID, false, []string{"groupid", "gid"}},
	{wire.AttrLocal, true, []string{"local"}},
	{wire.AttrProcessID, false, []string{"processid", "pid"}},
	{wire.AttrContainer, false, []string{"container"}},
	{wire.AttrExclusive, true, []string{"exclusive"}},
}

// protocols returns the words that can appear before the colon.
func protocols() []string { return []string{"pcp", "pcps", "local", "unix"} }

// ParseHostSpec parses a host specification:
//
//	host[:port,...][@proxy[:port,...]][?attribute[=value]&...]
//	pcp://... and pcps://... are the same, the latter over TLS
//	unix:[path][?...]    a Unix domain socket
//	local:[path][?...]   a Unix domain socket, or if that fails localhost
//
// An IPv6 address is enclosed in brackets. Attributes that are not known are
// left out, as the C library does. Errors are of type *SpecError.
func ParseHostSpec(spec string) (HostSpec, error) {
	var hs HostSpec
	p := specParser{spec: spec}
	if n := strings.IndexByte(spec, 0); n >= 0 {
		p.pos = n
		return hs, p.fail("unexpected terminal character")
	}
	for _, proto := range protocols() {
		if strings.HasPrefix(spec, proto+":") {
			hs.Protocol = proto
			p.pos = len(proto) + 1
			for p.peek() == '/' {
				p.pos++
			}
		}
	}
	var err error
	if hs.Protocol == "unix" || hs.Protocol == "local" {
		hs.Hosts = []HostPort{{Name: p.socketPath()}}
	} else if hs.Hosts, err = p.hosts(); err != nil {
		return HostSpec{}, err
	}
	switch p.peek() {
	case '?':
		p.pos++
	case 0, '/':
	default:
		return HostSpec{}, p.fail("unexpected terminal character")
	}
	if hs.Attrs, err = p.attrs(); err != nil {
		return HostSpec{}, err
	}
	return hs, nil
}

type specParser struct {
	spec string
	pos  int
}

// peek returns the byte at the position, 0 at the end.
func (p *specParser) peek() byte {
	if p.pos < len(p.spec) {
		return p.spec[p.pos]
	}
	return 0
}

func (p *specParser) fail(msg string) error {
	return &SpecError{Spec: p.spec, Offset: p.pos, Msg: msg}
}

func endsHost(c byte) bool { return c == ':' || c == '@' || c == 0 || c == '/' || c == '?' }

// hosts parses host[:port,...]@... up to the end, a slash or a question mark.
func (p *specParser) hosts() ([]HostPort, error) {
	var hosts []HostPort
	first := p.pos
	for {
		// The caller judges a missing host. After @ the C library takes the
		// delimiter of a host for its first character, or reads past the
		// end (spec.c: parseHostSpec); we want a name there.
		start := p.pos
		var name string
		if p.peek() == '[' {
			n := strings.IndexByte(p.spec[p.pos:], ']')
			if n < 0 {
				p.pos = len(p.spec)
				return nil, p.fail("missing closing ']' for host spec")
			}
			name = p.spec[start+1 : start+n]
			p.pos += n + 1
			if !endsHost(p.peek()) {
				return nil, p.fail("extra characters after host spec")
			}
			if name == "" {
				return nil, &SpecError{Spec: p.spec, Offset: start, Msg: "host name expected"}
			}
		} else {
			for !endsHost(p.peek()) {
				p.pos++
			}
			if p.pos == start {
				if start == first {
					return nil, nil
				}
				return nil, p.fail("host name expected")
			}
			name = p.spec[start:p.pos]
		}
		h := HostPort{Name: name}
		if p.peek() == ':' {
			p.pos++
			ports, err := p.ports()
			if err != nil {
				return nil, err
			}
			h.Ports = ports
		}
		hosts = append(hosts, h)
		if p.peek() != '@' {
			return hosts, nil
		}
		p.pos++
	}
}

// ports parses port,... up to the end of the host.
func (p *specParser) ports() ([]int, error) {
	var ports []int
	start := p.pos
	for {
		switch c := p.peek(); {
		case ctext.IsDigit(c):
			p.pos++
			continue
		case c == ',' || endsHost(c) && c != ':':
			if p.pos == start {
				return nil, p.fail("missing port")
			}
			port, err := strconv.ParseUint(p.spec[start:p.pos], 10, 16)
			if err != nil {
				return nil, &SpecError{Spec: p.spec, Offset: start, Msg: "port out of range"}
			}
			ports = append(ports, int(port))
			if c != ',' {
				return ports, nil
			}
			p.pos++
			start = p.pos
		default:
			return nil, p.fail("non-numeric port")
		}
	}
}

// socketPath parses a path up to a colon, a question mark or the end.
func (p *specParser) socketPath() string {
	start := p.pos
	n := strings.IndexAny(p.spec[start:], ":?")
	if n < 0 {
		n = len(p.spec) - start
	}
	p.pos += n
	if n == 0 {
		return ""
	}
	return "/" + strings.TrimLeft(p.spec[start:p.pos], "/")
}

// attrs parses name=value&name up to the end or a slash.
func (p *specParser) attrs() ([]HostAttr, error) {
	text, _, _ := strings.Cut(p.spec[p.pos:], "/")
	if text == "" {
		return nil, nil
	}
	var attrs []HostAttr
	for _, field := range strings.Split(text, "&") {
		name, value, _ := strings.Cut(field, "=")
		// In C a further = starts the value again, which cannot be meant.
		for _, a := range attrNames {
			for _, n := range a.names {
				if n != name {
					continue
				}
				v, ok := urlDecode(value)
				if !ok {
					return nil, &SpecError{Spec: p.spec, Offset: p.pos, Msg: "bad %-escape in attribute"}
				}
				if a.flag {
					v = "" // a value has no meaning, and is not printed
				}
				attrs = append(attrs, HostAttr{a.key, v})
			}
		}
	}
	return attrs, nil
}

// Attr returns the value of an attribute; of several the last counts.
func (hs *HostSpec) Attr(key wire.AttrKey) (string, bool) {
	for i := len(hs.Attrs) - 1; i >= 0; i-- {
		if hs.Attrs[i].Key == key {
			return hs.Attrs[i].Value, true
		}
	}
	return "", false
}

// String returns the specification as __pmUnparseHostAttrsSpec(3) writes it,
// attributes in the order of hs. ParseHostSpec of it gives hs again.
func (hs HostSpec) String() string {
	var b strings.Builder
	switch hs.Protocol {
	case "pcp", "pcps":
		b.WriteString(hs.Protocol + "://")
	case "unix", "local":
		b.WriteString(hs.Protocol + ":")
		if len(hs.Hosts) > 0 && hs.Hosts[0].Name != "" {
			b.WriteString("/")
		}
	}
	for i, h := range hs.Hosts {
		if i > 0 {
			b.WriteByte('@')
		}
		switch {
		case hs.Protocol == "unix" || hs.Protocol == "local":
			b.WriteString(h.Name)
		case i == 0 && hs.Protocol == "" && len(h.Ports) > 0 && slices.Contains(protocols(), h.Name):
			// unix:44321 would be a socket of that name.
			b.WriteString("[" + h.Name + "]" + strings.TrimPrefix(h.String(), h.Name))
		default:
			b.WriteString(h.String())
		}
	}
	for i, a := range hs.Attrs {
		if i == 0 {
			b.WriteByte('?')
		} else {
			b.WriteByte('&')
		}
		for _, n := range attrNames {
			if n.key != a.Key {
				continue
			}
			b.WriteString(n.names[0])
			if !n.flag {
				b.WriteString("=" + urlEncode(a.Value))
			}
		}
	}
	return b.String()
}

// String returns host:port,port, the host in brackets where it needs them.
func (h HostPort) String() string {
	name := h.Name
	if strings.ContainsAny(name, ":@/?") || strings.HasPrefix(name, "[") {
		name = "[" + name + "]"
	}
	for i, port := range h.Ports {
		if i == 0 {
			name += ":" + strconv.Itoa(port)
		} else {
			name += "," + strconv.Itoa(port)
		}
	}
	return name
}

// urlDecode decodes %XX, and + as a space.
func urlDecode(s string) (string, bool) {
	if !strings.ContainsAny(s, "%+") {
		return s, true
	}
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '+':
			b = append(b, ' ')
		case '%':
			if i+3 > len(s) {
				return "", false
			}
			v, err := strconv.ParseUint(s[i+1:i+3], 16, 8)
			if err != nil || v == 0 {
				return "", false
			}
			b = append(b, byte(v))
			i += 2
		default:
			b = append(b, s[i])
		}
	}
	return string(b), true
}

// urlEncode is the inverse of urlDecode.
func urlEncode(s string) string {
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case ctext.IsAlnum(c), strings.IndexByte("-_.~", c) >= 0:
			b.WriteByte(c)
		case c == ' ':
			b.WriteByte('+')
		default:
			b.WriteByte('%')
			b.WriteByte(hex[c>>4])
			b.WriteByte(hex[c&15])
		}
	}
	return b.String()
}
