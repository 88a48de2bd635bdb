package fleet

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-pcp/pcp/pcptime"
	"github.com/go-pcp/pcp/pmapi"
)

// Limits of lists of hosts.
const (
	MaxHosts = 100_000
	maxLine  = 4096
	maxName  = 200 // leaves room in a file name
)

// DefaultName returns a host name for a collector specification: its host, with its port if it has one;
// for a socket its path. It has letters, digits, and ".-_:" only.
func DefaultName(spec string) string {
	name := spec
	if hs, err := pmapi.ParseHostSpec(spec); err == nil && len(hs.Hosts) > 0 {
		h := hs.Hosts[0]
		name = h.Name
		for _, p := range h.Ports {
			name += "-" + strconv.Itoa(p)
		}
		if name == "" {
			name = hs.Protocol
		}
	}
	name = strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune(".-_:", r) {
			return r
		}
		return '_'
	}, name)
	name = strings.TrimLeft(name, ".-_")
	if name == "" {
		return "localhost"
	}
	return name
}

// checkSpec returns an error if spec does not name the collector of a host. Text after a slash would be dropped, and
// a name such as ".." would become empty: the archives would be taken for those of another host.
func checkSpec(spec string) error {
	if spec == "" {
		return errors.New(`host "": it is empty`)
	}
	hs, err := pmapi.ParseHostSpec(spec)
	if err != nil {
		return fmt.Errorf("host %q: %w", spec, err)
	}
	if hs.Protocol == "unix" || hs.Protocol == "local" {
		return nil
	}
	host, _, _ := strings.Cut(spec, "?")
	if hs.Protocol != "" {
		host = strings.TrimLeft(host[len(hs.Protocol)+1:], "/")
	}
	if strings.Contains(strings.TrimSuffix(host, "/"), "/") {
		return fmt.Errorf("host %q: a path is not the name of a host", spec)
	}
	for _, h := range hs.Hosts {
		if strings.ContainsFunc(h.Name, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }) {
			return fmt.Errorf("host %q: the name of a host has no spaces or control characters", spec)
		}
	}
	if len(hs.Hosts) == 0 || strings.Trim(hs.Hosts[0].Name, ".-_") == "" {
		return fmt.Errorf("host %q: it is not the name of a host", spec)
	}
	return nil
}

// checkName returns an error if name is not valid for a directory.
func checkName(name string) error {
	switch {
	case len(name) > maxName:
		return fmt.Errorf("host name %.20q... has more than %d bytes", name, maxName)
	case name == "" || name[0] == '.' || name[0] == '-':
		return fmt.Errorf("host name %q: a directory is named after it, so that it must not be empty nor start with %q or %q", name, ".", "-")
	case !utf8.ValidString(name) || strings.ContainsFunc(name, func(r rune) bool { return r == '/' || unicode.IsControl(r) }):
		return fmt.Errorf("host name %q: a directory is named after it, so that it must not contain %q or control characters", name, "/")
	case strings.Contains(name, ","):
		return fmt.Errorf("host name %q: it must not contain a comma, which separates archives in the option -a", name)
	}
	return nil
}

// ReadHosts reads a list of hosts. Each line has a collector specification, optionally followed by name=NAME,
// dir=DIR, config=FILE and interval=TIME; # starts a comment. The error for a mistake names the file and the
// line.
func ReadHosts(r io.Reader, file string) ([]Host, error) {
	var list []Host
	s := bufio.NewScanner(r)
	s.Buffer(nil, maxLine)
	line := 0
	for s.Scan() {
		line++
		text, _, _ := strings.Cut(s.Text(), "#")
		fields := strings.Fields(text)
		if len(fields) == 0 {
			continue
		}
		if len(list) == MaxHosts {
			return nil, fmt.Errorf("%s:%d: more than %d hosts", file, line, MaxHosts)
		}
		h, err := readHost(fields)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", file, line, err)
		}
		list = append(list, h)
	}
	switch err := s.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return nil, fmt.Errorf("%s:%d: the line is longer than %d bytes", file, line+1, maxLine)
	case err != nil:
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return list, nil
}

func readHost(fields []string) (Host, error) {
	h := Host{Spec: fields[0]}
	if err := checkSpec(h.Spec); err != nil {
		return h, err
	}
	for _, f := range fields[1:] {
		key, value, _ := strings.Cut(f, "=")
		if value == "" {
			return h, fmt.Errorf("%q: what follows a host is name=NAME, dir=DIR, config=FILE or interval=TIME", f)
		}
		switch key {
		case "name":
			h.Name = value
			if err := checkName(value); err != nil {
				return h, err
			}
		case "dir":
			h.Dir = value
		case "config":
			h.Config = value
		case "interval":
			d, err := pcptime.ParseInterval(value)
			if err != nil || d <= 0 {
				return h, fmt.Errorf("interval %q: want a time such as 10sec", value)
			}
			h.Interval = d
		default:
			return h, fmt.Errorf("%q: what follows a host is name=NAME, dir=DIR, config=FILE or interval=TIME", f)
		}
	}
	return h, nil
}
