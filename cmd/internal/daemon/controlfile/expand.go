package controlfile

import (
	"errors"
	"fmt"
	"strings"

	"github.com/go-pcp/pcp/pcptime"
)

// maxValue is the maximum length of a value.
const maxValue = 1 << 16

var errQuote = errors.New("quote not terminated")

// expand evaluates a word as a shell does, without running anything. It ends at an unquoted character of stop,
// and returns the rest.
func (p *Parser) expand(s, stop string) (value, rest string, err error) {
	var b strings.Builder
	quote := byte(0)
	for i := 0; i < len(s); {
		if b.Len() > maxValue {
			return "", "", fmt.Errorf("the value has more than %d bytes", maxValue)
		}
		c := s[i]
		switch {
		case quote == '\'' && c != '\'':
			b.WriteByte(c)
			i++
		case quote == 0 && strings.IndexByte(stop, c) >= 0:
			return b.String(), s[i:], nil
		case c == quote:
			quote = 0
			i++
		case quote == 0 && (c == '"' || c == '\''):
			quote = c
			i++
		case c == '\\' && i+1 < len(s) && (quote == 0 || strings.IndexByte("$`\"\\", s[i+1]) >= 0):
			b.WriteByte(s[i+1])
			i += 2
		case c == '`' || c == '$':
			text, n, err := p.substitute(s[i:])
			if err != nil {
				return "", "", err
			}
			b.WriteString(text)
			i += n
		default:
			b.WriteByte(c)
			i++
		}
	}
	if quote != 0 {
		return "", "", errQuote
	}
	return b.String(), "", nil
}

// substitute returns the value of a substitution at the start of s, which begins with a dollar or a backtick,
// and the length of the substitution in bytes.
func (p *Parser) substitute(s string) (text string, n int, err error) {
	switch {
	case s[0] == '`':
		end := strings.IndexByte(s[1:], '`')
		if end < 0 {
			return "", 0, errQuote
		}
		text, err = p.command(s[1 : 1+end])
		return text, end + 2, err
	case strings.HasPrefix(s, "$("):
		end := strings.IndexByte(s, ')')
		if end < 0 {
			return "", 0, errQuote
		}
		text, err = p.command(s[2:end])
		return text, end + 1, err
	case strings.HasPrefix(s, "${"):
		end := strings.IndexByte(s, '}')
		if end < 0 {
			return "", 0, errQuote
		}
		name := s[2:end]
		k := nameLen(name)
		value := p.Getenv(name[:k])
		set := value != "" || p.isSet(name[:k])
		switch op := name[k:]; {
		case k == 0:
			return "", 0, fmt.Errorf("%s is not a variable", s[:end+1])
		case op == "":
		case strings.HasPrefix(op, ":-"):
			if value == "" {
				value = op[2:]
			}
		case strings.HasPrefix(op, "-"):
			if !set {
				value = op[1:]
			}
		default:
			return "", 0, fmt.Errorf("%s: only ${NAME}, ${NAME-text} and ${NAME:-text} are known", s[:end+1])
		}
		return value, end + 1, nil
	}
	k := nameLen(s[1:])
	if k == 0 {
		return "$", 1, nil
	}
	return p.Getenv(s[1 : 1+k]), 1 + k, nil
}

// nameLen returns the length of a variable name at the start of s, in bytes.
func nameLen(s string) int {
	n := 0
	for n < len(s) && (s[n] == '_' || s[n] >= 'a' && s[n] <= 'z' || s[n] >= 'A' && s[n] <= 'Z' || n > 0 && s[n] >= '0' && s[n] <= '9') {
		n++
	}
	return n
}

// command returns the output of one of the known commands.
func (p *Parser) command(line string) (string, error) {
	var args []string
	refuse := func() (string, error) {
		return "", fmt.Errorf("command substitution of \"%s\" refused, only date +FORMAT, hostname and echo are known", strings.TrimSpace(line))
	}
	for s := strings.TrimLeft(line, " \t"); s != ""; s = strings.TrimLeft(s, " \t") {
		if strings.ContainsRune(";&|<>()`\n", rune(s[0])) || strings.HasPrefix(s, "$(") {
			return refuse()
		}
		arg, rest, err := p.expandFlat(s, " \t;&|<>()`\n")
		if err != nil {
			return refuse()
		}
		args, s = append(args, arg), rest
	}
	switch {
	case len(args) == 0:
		return "", nil
	case args[0] == "echo":
		return strings.Join(args[1:], " "), nil
	case args[0] == "hostname" && len(args) == 1:
		return p.cfg.Hostname, nil
	case args[0] == "hostname" && len(args) == 2 && args[1] == "-s":
		short, _, _ := strings.Cut(p.cfg.Hostname, ".")
		return short, nil
	case args[0] == "date" && len(args) == 2 && strings.HasPrefix(args[1], "+"):
		return pcptime.Strftime(args[1][1:], p.cfg.Now), nil
	case args[0] == "date" && len(args) == 3 && args[1] == "-u" && strings.HasPrefix(args[2], "+"):
		return pcptime.Strftime(args[2][1:], p.cfg.Now.UTC()), nil
	}
	return refuse()
}

// expandFlat is expand for the words of a command, which cannot have another command in them.
func (p *Parser) expandFlat(s, stop string) (value, rest string, err error) {
	end := strings.IndexAny(s, stop)
	if end < 0 {
		end = len(s)
	}
	if strings.ContainsAny(s[:end], "\"'\\") { // a quoted word may have blanks
		end = len(s)
	}
	if strings.Contains(s[:end], "`") || strings.Contains(s[:end], "$(") {
		return "", "", errQuote
	}
	return p.expand(s, stop)
}
