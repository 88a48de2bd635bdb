package alert

import (
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/go-pcp/pcp/cmd/internal/pmie/deliver"
	"github.com/go-pcp/pcp/pcptime"
)

// Limits of a file of receivers.
const (
	maxConf      = 1 << 20 // bytes
	maxReceivers = 1000
	maxTo        = 100
)

// Settings are the contents of a receivers file.
type Settings struct {
	Receivers []*Receiver
	// Spool is the directory for alerts that cannot be delivered yet, "" if the file names
	// none.
	Spool string
}

// Check returns an error if a receiver that rules name does not exist, or is of another kind.
func (s *Settings) Check(list []deliver.Delivery) error {
	for _, d := range list {
		switch r := s.Receiver(d.Receiver); {
		case r == nil:
			return fmt.Errorf("rule %s: receiver %s: %w", d.Rule, d.Receiver, ErrUnknown)
		case string(r.Kind) != d.Kind.String():
			return fmt.Errorf("rule %s: receiver %s is of kind %s, not %v", d.Rule, d.Receiver, r.Kind, d.Kind)
		}
	}
	return nil
}

// Receiver returns the receiver of a name, or nil.
func (s *Settings) Receiver(name string) *Receiver {
	for _, r := range s.Receivers {
		if r.Name == name {
			return r
		}
	}
	return nil
}

// ReadFile reads a file of receivers. All its errors name file and line.
func ReadFile(path string) (*Settings, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return Parse(f, path)
}

// Parse reads receivers. Name is that of the file, for errors; relative paths are from its
// directory.
//
// A line has a word and its value; lines that begin with # are comments. A receiver begins with
// a line that names it, and has the settings below it:
//
//	receiver pager
//	    kind         webhook
//	    url          https://example.com/hook
//	    secret-file  pager.secret
//
// The words are kind, url, header, user, secret-file, ca, server, tls, from, to, label, timeout,
// retries, max-age, queue and resend; see [Receiver]. Before the first receiver spool may
// name a directory.
func Parse(r io.Reader, name string) (*Settings, error) {
	b, err := io.ReadAll(io.LimitReader(r, maxConf+1))
	if err != nil {
		return nil, err
	}
	if len(b) > maxConf {
		return nil, fmt.Errorf("%s: more than %d bytes", name, maxConf)
	}
	p := &parser{name: name, dir: filepath.Dir(name)}
	for text := range strings.Lines(string(b)) {
		p.line++
		p.read(strings.TrimSuffix(strings.TrimSuffix(text, "\n"), "\r"))
	}
	p.finish()
	if len(p.errs) > 0 {
		return nil, errors.Join(p.errs...)
	}
	return &p.s, nil
}

// A parser reads the lines of a file.
type parser struct {
	name, dir string
	line      int
	s         Settings
	r         *Receiver // the receiver being read
	begins    int       // its line
	seen      map[string]int
	errs      []error
}

func (p *parser) failAt(line int, format string, args ...any) {
	const most = 20
	switch {
	case len(p.errs) < most:
		p.errs = append(p.errs, fmt.Errorf("%s:%d: %w", p.name, line, fmt.Errorf(format, args...)))
	case len(p.errs) == most:
		p.errs = append(p.errs, fmt.Errorf("%s: more errors", p.name))
	}
}

func (p *parser) fail(format string, args ...any) { p.failAt(p.line, format, args...) }

func (p *parser) read(text string) {
	text = strings.TrimFunc(text, blank)
	if text == "" || text[0] == '#' {
		return
	}
	if !utf8.ValidString(text) || strings.ContainsFunc(text, func(c rune) bool { return unicode.IsControl(c) && c != '\t' }) {
		p.fail("a control character, or text that is not UTF-8")
		return
	}
	word, value := text, ""
	if i := strings.IndexFunc(text, blank); i >= 0 {
		word, value = text[:i], strings.TrimFunc(text[i:], blank)
	}
	if value == "" {
		p.fail("%s: its value is missing", word)
		return
	}
	switch {
	case word == "receiver":
		p.finish()
		p.begin(value)
	case p.r == nil && word == "spool":
		if p.s.Spool != "" {
			p.fail("spool: repeated")
		}
		p.s.Spool = p.path(value)
	case p.r == nil:
		p.fail("%s: a receiver must come first", word)
	default:
		if word != "to" && word != "label" {
			if before := p.seen[word]; before > 0 {
				p.fail("%s: repeated, see line %d", word, before)
				return
			}
		}
		if err := p.set(word, value); err != nil {
			p.fail("%s: %w", word, err)
			return
		}
		p.seen[word] = p.line
	}
}

func blank(c rune) bool { return c == ' ' || c == '\t' }

func (p *parser) begin(name string) {
	p.r = &Receiver{Name: name}
	p.begins, p.seen = p.line, make(map[string]int)
	switch {
	case !nameable(name):
		p.fail("receiver %q: a name has letters, digits, and . _ - within, 64 at most", name)
	case p.s.Receiver(name) != nil:
		p.fail("receiver %s: named before", name)
	case len(p.s.Receivers) == maxReceivers:
		p.fail("more than %d receivers", maxReceivers)
	}
}

// nameable reports whether a name is valid for a receiver; it also is the name of a
// directory.
func nameable(name string) bool {
	for i, c := range []byte(name) {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !letter && (i == 0 || (c < '0' || c > '9') && strings.IndexByte("._-", c) < 0) {
			return false
		}
	}
	return name != "" && len(name) <= 64
}

func (p *parser) path(s string) string {
	if filepath.IsAbs(s) {
		return filepath.Clean(s)
	}
	return filepath.Join(p.dir, s)
}

// set takes in a line of a receiver.
func (p *parser) set(word, value string) error {
	r := p.r
	var err error
	switch word {
	case "kind":
		if r.Kind = Kind(value); protocolOf(r.Kind) == nil {
			return fmt.Errorf("%q is not %s", value, kindNames())
		}
	case "url":
		if r.URL, err = url.Parse(value); err != nil {
			return err
		}
		switch {
		case r.URL.Scheme != "http" && r.URL.Scheme != "https" || r.URL.Hostname() == "":
			return fmt.Errorf("%q is not https://HOST or http://HOST with a path", r.URL.Redacted())
		case r.URL.User != nil:
			return errors.New("a user and a password do not belong there: use user and secret-file")
		}
	case "header":
		for _, c := range []byte(value) {
			if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' {
				return fmt.Errorf("%q is not the name of a header", value)
			}
		}
		r.Header = value
	case "user":
		r.User = value
	case "secret-file":
		r.SecretFile = p.path(value)
	case "ca":
		r.CAFile = p.path(value)
	case "server":
		r.Server = value
	case "tls":
		switch r.TLS = TLSMode(value); r.TLS {
		case StartTLS, TLS, NoTLS:
		default:
			return fmt.Errorf("%q is not starttls, tls or none", value)
		}
	case "from":
		r.From, err = address(value)
	case "to":
		a, err := address(value)
		if err != nil {
			return err
		}
		if len(r.To) == maxTo {
			return fmt.Errorf("more than %d", maxTo)
		}
		r.To = append(r.To, a)
	case "label":
		name, text, _ := strings.Cut(value, " ")
		if text = strings.TrimFunc(text, blank); text == "" {
			return errors.New("a name and a value must follow")
		}
		if labelName(name) != name {
			return fmt.Errorf("%q is not the name of a label: letters, digits and _", name)
		}
		if r.Labels == nil {
			r.Labels = make(map[string]string)
		}
		if len(r.Labels) == MaxLabels || len(name)+len(text) > MaxName {
			return ErrTooLong
		}
		r.Labels[name] = text
	case "timeout":
		r.Timeout, err = interval(value, 10*time.Minute)
	case "max-age":
		r.MaxAge, err = interval(value, 10000*time.Hour)
	case "resend":
		r.Resend, err = interval(value, 24*time.Hour)
	case "retries":
		r.Retries, err = number(value)
	case "queue":
		r.Queue, err = number(value)
	default:
		return errors.New("not a setting of a receiver")
	}
	return err
}

func interval(s string, most time.Duration) (time.Duration, error) {
	d, err := pcptime.ParseInterval(s)
	switch {
	case err != nil:
		return 0, fmt.Errorf("%q is not an interval such as 10sec", s)
	case d < time.Millisecond || d > most:
		return 0, fmt.Errorf("%q is not between 1msec and %v", s, most)
	}
	return d, nil
}

func number(s string) (int, error) {
	n, err := strconv.ParseUint(s, 10, 20)
	if err != nil || n == 0 {
		return 0, fmt.Errorf("%q is not a number from 1 to %d", s, 1<<20-1)
	}
	return int(n), nil
}

// common are the settings of all receivers.
const common = "kind label timeout retries max-age queue"

// finish checks the receiver that was read last.
func (p *parser) finish() {
	r := p.r
	if p.r = nil; r == nil {
		return
	}
	want := protocolOf(r.Kind)
	if want == nil {
		p.failAt(p.begins, "receiver %s: kind is missing", r.Name)
		return
	}
	for _, word := range strings.Fields(want.must) {
		if p.seen[word] == 0 {
			p.failAt(p.begins, "receiver %s: %s is missing", r.Name, word)
		}
	}
	known := " " + strings.Join([]string{want.must, want.may, common}, " ") + " "
	for word, line := range p.seen {
		if !strings.Contains(known, " "+word+" ") {
			p.failAt(line, "%s: not a setting of kind %s", word, r.Kind)
		}
	}
	switch {
	case r.User != "" && r.SecretFile == "":
		p.failAt(p.seen["user"], "user: secret-file is missing, which has the password")
	case r.User != "" && r.Header != "":
		p.failAt(p.seen["header"], "header: user has the secret be in another one")
	case r.Header != "" && r.SecretFile == "":
		p.failAt(p.seen["header"], "header: secret-file is missing, which has what it is set to")
	case r.Kind == Mail && r.SecretFile != "" && r.User == "":
		p.failAt(p.seen["secret-file"], "secret-file: user is missing, whose password it has")
	case r.URL != nil && r.SecretFile != "" && r.URL.Scheme != "https" && !loopback(r.URL.Hostname()):
		p.failAt(p.seen["url"], "url: with a secret it must be https")
	}
	if r.Kind == Mail && r.Server != "" {
		if err := r.completeServer(); err != nil {
			p.failAt(p.seen["server"], "server: %w", err)
		} else if host, _, _ := net.SplitHostPort(r.Server); r.SecretFile != "" && r.TLS == NoTLS && !loopback(host) {
			p.failAt(p.seen["tls"], "tls: with a password it must be starttls or tls")
		}
	}
	p.s.Receivers = append(p.s.Receivers, r)
}

// completeServer adds the default port of a mail server.
func (r *Receiver) completeServer() error {
	host, port, err := net.SplitHostPort(r.Server)
	if err != nil {
		host, port = strings.Trim(r.Server, "[]"), map[TLSMode]string{TLS: "465", NoTLS: "25"}[r.TLS]
		port = or(port, "587")
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if host == "" || strings.ContainsAny(host, " \t/") || err != nil || n == 0 || n > math.MaxUint16 {
		return fmt.Errorf("%q is not HOST or HOST:PORT", r.Server)
	}
	r.Server = net.JoinHostPort(host, port)
	return nil
}
