package alert

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"mime/quotedprintable"
	"net"
	"net/mail"
	"net/smtp"
	"net/textproto"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// maxSubject limits the subject of a mail, in bytes; the whole text is in the mail.
const maxSubject = 150

// maxReplies limits the mails to which one may be an answer.
const maxReplies = 10

// message returns alerts as a mail. No text of an alert can end a header: text that is not plain is encoded. The
// Message-ID is the same each time that the mail is sent, also if some of its alerts are known to have arrived.
func (r *Receiver) message(p *parcel, now time.Time) ([]byte, error) {
	var b bytes.Buffer
	header := func(name, value string) { fmt.Fprintf(&b, "%s: %s\r\n", name, value) }
	header("From", r.From.String())
	to := make([]string, len(r.To))
	for i, addr := range r.To {
		to[i] = addr.String()
	}
	header("To", strings.Join(to, ",\r\n "))
	header("Subject", subject(p.alerts))
	header("Date", now.Format(time.RFC1123Z))
	_, domain, _ := strings.Cut(r.From.Address, "@")
	header("Message-ID", "<"+p.id()+"@"+domain+">")
	var replies []string
	for i, a := range p.alerts {
		if a.Status == Firing && a.Notice == 0 {
			continue
		}
		if id := "<" + or(p.entries[i].Mail, a.ID+"-"+string(Firing)) + "@" + domain + ">"; len(replies) < maxReplies && !slices.Contains(replies, id) {
			replies = append(replies, id)
		}
	}
	if replies != nil {
		header("In-Reply-To", strings.Join(replies, "\r\n "))
	}
	header("Auto-Submitted", "auto-generated")
	header("MIME-Version", "1.0")
	header("Content-Type", "text/plain; charset=utf-8")
	header("Content-Transfer-Encoding", "quoted-printable")
	b.WriteString("\r\n")

	w := quotedprintable.NewWriter(&b)
	for i := range p.alerts {
		if i > 0 {
			fmt.Fprint(w, "\n----\n\n")
		}
		r.describe(w, &p.alerts[i])
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	b.WriteString("\r\n")
	return b.Bytes(), nil
}

// id identifies a mail.
func (p *parcel) id() string {
	if n := p.notices[0]; n.Batch != "" {
		return n.Batch
	}
	if len(p.alerts) == 1 {
		return p.alerts[0].Key()
	}
	keys := make([]string, len(p.alerts))
	for i := range p.alerts {
		keys[i] = p.alerts[i].Key()
	}
	return digest(keys...)
}

// describe writes the lines of a mail about an alert.
func (r *Receiver) describe(w io.Writer, a *Alert) {
	fmt.Fprintf(w, "%s\n\n", strings.Map(func(c rune) rune {
		if unicode.IsControl(c) && c != '\n' && c != '\t' {
			return '\uFFFD' // it may control a terminal
		}
		return c
	}, strings.ReplaceAll(strings.ToValidUTF8(a.Text, "\uFFFD"), "\r\n", "\n")))
	line := func(name, value string) {
		if value != "" {
			fmt.Fprintf(w, "%s: %s\n", name, plain(value))
		}
	}
	line("status", string(a.Status))
	line("rule", a.Rule)
	line("expression", a.Expr)
	line("host", a.Host)
	line("instance", a.Instance)
	line("value", a.Value)
	line("since", a.Since.Format(time.RFC3339))
	if !a.Until.IsZero() {
		line("until", a.Until.Format(time.RFC3339))
	}
	labels := r.labels(a)
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		line("label "+plain(name), labels[name])
	}
	line("id", a.ID)
}

// plain returns a text as it is if it is a line of printable characters, else quoted.
func plain(s string) string {
	if utf8.ValidString(s) && !strings.ContainsFunc(s, func(c rune) bool { return !unicode.IsPrint(c) }) {
		return s
	}
	return strconv.Quote(s)
}

// subject returns the encoded subject of a mail: the text of the first alert, and the number of others.
func subject(alerts []Alert) string {
	a := &alerts[0]
	text := a.Text
	if text == "" {
		text = strings.TrimSpace(a.Rule + " " + a.Host + " " + a.Instance)
	}
	if len(text) > maxSubject {
		text = strings.ToValidUTF8(text[:maxSubject], "") + "..."
	}
	// Control characters are not allowed in any encoding.
	text = strings.Map(func(c rune) rune {
		if unicode.IsControl(c) {
			return ' '
		}
		return c
	}, strings.ToValidUTF8(text, "\uFFFD"))
	count := func(s Status) (n int) {
		for i := range alerts {
			if alerts[i].Status == s {
				n++
			}
		}
		return n
	}
	status := strings.ToUpper(string(a.Status))
	if firing, resolved := count(Firing), count(Resolved); len(alerts) > 1 {
		text += fmt.Sprintf(" and %d more", len(alerts)-1)
		switch {
		case resolved == 0:
			status = fmt.Sprintf("FIRING: %d", firing)
		case firing == 0:
			status = fmt.Sprintf("RESOLVED: %d", resolved)
		default:
			status = fmt.Sprintf("FIRING: %d, RESOLVED: %d", firing, resolved)
		}
	}
	return mime.QEncoding.Encode("utf-8", fmt.Sprintf("[%s] %s", status, text))
}

// sendMail hands a mail to a server.
func (r *Receiver) sendMail(ctx context.Context, p *parcel) (err error) {
	secret, err := r.secret()
	if err != nil {
		return err
	}
	body, err := r.message(p, time.Now())
	if err != nil {
		return err
	}
	host, _, err := net.SplitHostPort(r.Server)
	if err != nil {
		return err
	}
	mode := or(r.TLS, StartTLS)
	if secret != "" && mode == NoTLS && !loopback(host) {
		return fmt.Errorf("%s is not encrypted: the secret would be readable; use starttls or tls", r.Server)
	}
	cfg, err := r.tlsConfig(host)
	if err != nil {
		return err
	}
	raw, err := r.dial(ctx, "tcp", r.Server)
	if err != nil {
		return err
	}
	defer raw.Close()
	stop := context.AfterFunc(ctx, func() { raw.Close() })
	defer stop()
	defer func() {
		if err != nil && ctx.Err() != nil {
			err = fmt.Errorf("%s: %w", r.Server, context.Cause(ctx))
		}
	}()
	conn := raw
	if mode == TLS {
		conn = tls.Client(raw, cfg)
	}
	c, err := smtp.NewClient(conn, host)
	if err != nil {
		return err
	}
	defer c.Close()
	_, domain, _ := strings.Cut(r.From.Address, "@")
	if err := c.Hello(domain); err != nil {
		return err
	}
	if mode == StartTLS {
		if ok, _ := c.Extension("STARTTLS"); !ok {
			return fmt.Errorf("%s does not know STARTTLS", r.Server)
		}
		if err := c.StartTLS(cfg); err != nil {
			return err
		}
	}
	if r.User != "" {
		if err := c.Auth(smtp.PlainAuth("", r.User, secret, host)); err != nil {
			return err
		}
	}
	if err := c.Mail(r.From.Address); err != nil {
		return refusal(err)
	}
	for _, to := range r.To {
		if err := c.Rcpt(to.Address); err != nil {
			return refusal(err)
		}
	}
	w, err := c.Data()
	if err != nil {
		return refusal(err)
	}
	if _, err := w.Write(body); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return refusal(err)
	}
	// The server has the mail, whatever it replies to QUIT.
	_ = c.Quit()
	return nil
}

// refusal returns ErrRefused for a reply that rules out another try.
func refusal(err error) error {
	if answer, ok := errors.AsType[*textproto.Error](err); ok && answer.Code >= 500 {
		return fmt.Errorf("%w: %w", ErrRefused, err)
	}
	return err
}

// address reads an address. It has no line breaks: the headers of a mail have it
// unencoded.
func address(s string) (*mail.Address, error) {
	if strings.ContainsFunc(s, unicode.IsControl) {
		return nil, fmt.Errorf("address %q has a control character", s)
	}
	a, err := mail.ParseAddress(s)
	if err != nil {
		return nil, fmt.Errorf("address %q: %w", s, err)
	}
	// Mail headers and SMTP commands contain ASCII, without quoting.
	for _, c := range []byte(a.Address) {
		if c <= ' ' || c >= 0x7f || strings.IndexByte(`<>()[]\,;:"`, c) >= 0 {
			return nil, fmt.Errorf("address %q: %q is not supported in an address", s, c)
		}
	}
	return a, nil
}
