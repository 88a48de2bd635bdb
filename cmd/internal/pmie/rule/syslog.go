package rule

import (
	"strings"

	"github.com/go-pcp/pcp/cmd/internal/pmie/eval"
	"github.com/go-pcp/pcp/internal/ctext"
)

// Numbers of syslog(3).
const (
	logNotice      = 5
	logPriorities  = 0x07
	logFacilities  = 0x3f8
	defaultLogName = "pcp-pmie"
)

func priorityOf(name string) (int, bool) {
	for i, names := range [...]string{"emerg panic", "alert", "crit", "err error", "warning warn", "notice", "info", "debug"} {
		for _, n := range strings.Fields(names) {
			if strings.EqualFold(n, name) {
				return i, true
			}
		}
	}
	if strings.EqualFold(name, "none") {
		return 0x10, true
	}
	return 0, false
}

func facilityOf(name string) (int, bool) {
	for i, names := range [...]string{
		"kern", "user", "mail", "daemon", "auth security", "syslog", "lpr", "news", "uucp", "cron", "authpriv", "ftp",
		"", "", "", "", "local0", "local1", "local2", "local3", "local4", "local5", "local6", "local7",
	} {
		for _, n := range strings.Fields(names) {
			if strings.EqualFold(n, name) {
				return i << 3, true
			}
		}
	}
	if strings.EqualFold(name, "mark") {
		return 24 << 3, true
	}
	return 0, false
}

// decode returns the number of a name, or a number as it is.
func decode(name string, of func(string) (int, bool)) (int, bool) {
	if name != "" && ctext.IsDigit(name[0]) {
		n := 0
		for i := 0; i < len(name) && ctext.IsDigit(name[i]) && n < 1<<20; i++ {
			n = 10*n + int(name[i]-'0')
		}
		return n, true
	}
	return of(name)
}

// priority returns the number of [facility.]priority.
func (b *Parser) priority(s string) int {
	facility := 0
	if f, rest, ok := strings.Cut(s, "."); ok {
		n, known := decode(f, facilityOf)
		if !known {
			b.warn("Ignoring unknown facility (%s) for -p in syslog action", f)
		}
		facility, s = n, rest
	}
	level, known := decode(s, priorityOf)
	if !known {
		b.warn("Ignoring unknown priority (%s) for -p in syslog action", s)
		level = logNotice
	}
	return level&logPriorities | facility&logFacilities
}

// syslogArguments reads -p and -t from the strings at the beginning of a syslog action.
// An option and its argument may be in one string or in two.
func (b *Parser) syslogArguments(act *eval.Expr) {
	s := &eval.Syslog{Priority: -1}
	tagged := false
	list := act.Arg1
	for list != nil && strings.HasPrefix(list.Text, "-") {
		cur, rest := list, list.Text[1:]
		// more advances to the next string at the end of one.
		more := func() {
			for rest == "" && cur.Arg1 != nil {
				cur = cur.Arg1
				rest = cur.Text
			}
		}
		more()
		option := byte(0)
		if rest != "" {
			option = rest[0]
		}
		if !(option == 'p' && s.Priority < 0 || option == 't' && !tagged) {
			break
		}
		rest = rest[1:]
		for more(); rest != "" && ctext.IsSpace(rest[0]); more() {
			rest = rest[1:]
		}
		name, missing := "pri", "[facility.]priority"
		if option == 't' {
			name, missing = "tag", "tag"
		}
		if rest == "" {
			b.warn("Missing %s after -%c in syslog action", missing, option)
		} else {
			arg := rest
			if i := strings.IndexAny(rest[1:], ctext.Space); i >= 0 {
				arg = rest[:i+1]
				b.warn("Ignoring extra text (%s) after -%c %s in syslog action", rest[i+1:], option, name)
			}
			if option == 'p' {
				s.Priority = b.priority(arg)
			} else {
				s.Tag, tagged = arg, true
			}
		}
		list = cur.Arg1
	}
	if s.Priority < 0 {
		s.Priority = logNotice
	}
	if !tagged {
		s.Tag = defaultLogName
	}
	act.Arg1 = list
	act.Syslog = s
}
