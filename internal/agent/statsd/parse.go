package statsd

import (
	"bytes"
	"math"
	"strconv"
)

// A kind is the type of a metric.
type kind byte

const (
	counter kind = iota + 1
	gauge
	duration  // ms
	histogram // h and d
	set
)

// Limits of a message.
const (
	maxName   = 256
	maxTags   = 32
	maxTag    = 256  // the name or the value of a tag
	maxValues = 1000 // of one message
)

// A tag is a label of a message.
type tag struct{ key, value []byte }

// A message is a line of a datagram. Its slices are parts of the line, or of buf.
type message struct {
	name   []byte
	values []byte // separated by colons
	kind   kind
	rate   float64
	tags   [maxTags]tag // the first n
	n      int
	buf    [maxName]byte // the name, if characters had to be replaced
}

// A reason is why a message or a value is dropped. It is the name of an instance of statsd.pmda.rejected.
type reason int

const (
	taken        reason = iota - 1
	badMessage          // not a message
	badName             // not a name that PCP can have, or one of the agent
	badValue            // not a number, negative where that has no meaning, or too large
	badType             // a type that is not known, or another one than before
	badTags             // too many or too long, or not tags
	badSize             // a datagram that is too long
	event               // an event of DogStatsD
	serviceCheck        // a service check of DogStatsD
	tooMetrics          // the limit of metrics
	tooSeries           // the limit of instances
	tooMemory           // the limit of memory
	reasons
)

// reasonNames are the names of instances. Their numbers must not change.
var reasonNames = [reasons]string{
	"message", "name", "value", "type", "tags", "size", "event", "service_check", "max_metrics", "max_series", "max_memory",
}

// parse reads a line, without its end.
func (m *message) parse(line []byte) reason {
	switch {
	case bytes.HasPrefix(line, []byte("_e{")):
		return event
	case bytes.HasPrefix(line, []byte("_sc|")):
		return serviceCheck
	}
	m.n, m.rate = 0, 1
	head, rest, ok := bytes.Cut(line, []byte("|"))
	if !ok {
		return badMessage
	}
	name, values, ok := bytes.Cut(head, []byte(":"))
	if !ok || len(values) == 0 {
		return badMessage
	}
	m.values = values
	name, tags, tagged := bytes.Cut(name, []byte(","))
	if r := m.setName(name); r != taken {
		return r
	}
	if tagged {
		if r := m.addTags(tags, '='); r != taken {
			return r
		}
	}
	kind, rest, more := bytes.Cut(rest, []byte("|"))
	switch string(kind) {
	case "c":
		m.kind = counter
	case "g":
		m.kind = gauge
	case "ms":
		m.kind = duration
	case "h", "d":
		m.kind = histogram
	case "s":
		m.kind = set
	default:
		return badType
	}
	for more {
		var field []byte
		field, rest, more = bytes.Cut(rest, []byte("|"))
		if len(field) == 0 {
			continue
		}
		switch field[0] {
		case '@':
			f, ok := number(field[1:])
			if !ok || !(f > 0 && f <= 1) {
				return badValue
			}
			m.rate = f
		case '#':
			if r := m.addTags(field[1:], ':'); r != taken {
				return r
			}
		case 'c', 'e', 'T': // the container, external data and the time of DogStatsD, which PCP has other ways for
			if len(field) < 2 || field[0] != 'T' && field[1] != ':' {
				return badMessage
			}
		default:
			return badMessage
		}
	}
	return taken
}

func letter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

func digit(c byte) bool { return c >= '0' && c <= '9' }

// setName checks a name. The characters '-', '/' and ' ', which clients of StatsD use, become underscores.
func (m *message) setName(name []byte) reason {
	if len(name) == 0 || len(name) > maxName {
		return badName
	}
	m.name = name
	start := true
	for i, c := range name {
		switch {
		case letter(c):
			start = false
		case start:
			return badName
		case c == '.':
			start = true
		case digit(c) || c == '_':
		case c == '-' || c == '/' || c == ' ':
			if &m.name[0] != &m.buf[0] {
				m.name = m.buf[:copy(m.buf[:], name)]
			}
			m.name[i] = '_'
		default:
			return badName
		}
	}
	if start || string(m.name) == "pmda" || bytes.HasPrefix(m.name, []byte("pmda.")) {
		return badName
	}
	return taken
}

// addTags adds tags, in the order of their keys. Of two with one key the latter counts.
func (m *message) addTags(list []byte, sep byte) reason {
	for more := len(list) > 0; more; {
		var t []byte
		t, list, more = bytes.Cut(list, []byte(","))
		if len(t) == 0 {
			continue
		}
		var n tag
		if i := bytes.IndexByte(t, sep); i >= 0 {
			n = tag{t[:i], t[i+1:]}
		} else {
			n = tag{t, nil}
		}
		if len(n.key) == 0 || !letter(n.key[0]) || len(n.key) > maxTag || len(n.value) > maxTag {
			return badTags
		}
		for _, c := range n.key {
			if !letter(c) && !digit(c) && c != '_' && c != '.' && c != '-' && c != '/' {
				return badTags
			}
		}
		for _, c := range n.value {
			if c < ' ' || c == 0x7f || c == '"' || c == '\\' {
				return badTags
			}
		}
		i := m.n
		for i > 0 && bytes.Compare(m.tags[i-1].key, n.key) > 0 {
			i--
		}
		if i > 0 && bytes.Equal(m.tags[i-1].key, n.key) {
			m.tags[i-1] = n
			continue
		}
		if m.n == maxTags {
			return badTags
		}
		copy(m.tags[i+1:m.n+1], m.tags[i:m.n])
		m.tags[i] = n
		m.n++
	}
	return taken
}

// number reads a decimal number.
func number(b []byte) (float64, bool) {
	if len(b) > 0 && len(b) <= 15 { // most are short integers
		n := 0
		for i, c := range b {
			if !digit(c) {
				break
			}
			n = 10*n + int(c-'0')
			if i == len(b)-1 {
				return float64(n), true
			}
		}
	}
	if len(b) == 0 || len(b) > 40 {
		return 0, false
	}
	for _, c := range b {
		if !digit(c) && c != '.' && c != '+' && c != '-' && c != 'e' && c != 'E' {
			return 0, false // such as hexadecimal numbers, NaN, or an infinite one
		}
	}
	f, err := strconv.ParseFloat(string(b), 64)
	return f, err == nil && !math.IsInf(f, 0)
}
