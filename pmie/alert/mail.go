package alert

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
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

// message returns an alert as a mail. Nothing that an alert says can end a header: what is
// not plain is encoded.
func (r *Receiver) message(a *Alert, now time.Time) ([]byte, error) {
	var b bytes.Buffer
	header := func(name, value string) { fmt.Fprintf(&b, "%s: %s\r\n", name, value) }
	header("From", r.From.String())
	to := make([]string, len(r.To))
	for i, addr := range r.To {
		to[i] = addr.String()
	}
	header("To", strings.Join(to, ",\r\n "))
	header("Subject", subject(a))
	header("Date", now.Format(time.RFC1123Z))
	_, domain, _ := strings.Cut(r.From.Address, "@")
	header("Message-ID", "<"+a.Key()+"@"+domain+">")
	if a.Status == Resolved || a.Notice > 0 {
		header("In-Reply-To", "<"+a.ID+"-"+string(Firing)+"@"+domain+">")
	}
	header("Auto-Submitted", "auto-generated")
	header("MIME-Version", "1.0")
	header("Content-Type", "text/plain; charset=utf-8")
	header("Content-Transfer-Encoding", "quoted-printable")
	b.WriteString("\r\n")

	w := quotedprintable.NewWriter(&b)
	fmt.Fprintf(w, "%s\n\n", strings.Map(func(c rune) rune {
		if unicode.IsControl(c) && c != '\n' && c != '\t' {
			return '\uFFFD' // it may steer a terminal
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
	names := make([]string, 0, len(labels))
	for name := range labels {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		line("label "+plain(name), labels[name])
	}
	line("id", a.ID)
	if err := w.Close(); err != nil {
		return nil, err
	}
	b.WriteString("\r\n")
	return b.Bytes(), nil
}

// plain returns a text as it is if it is a line of printable characters, else quoted.
func plain(s string) string {
	if utf8.ValidString(s) && !strings.ContainsFunc(s, func(c rune) bool { return !unicode.IsPrint(c) }) {
		return s
	}
	return strconv.Quote(s)
}

// subject returns the subject of a mail, as it is written in a header.
func subject(a *Alert) string {
	text := a.Text
	if text == "" {
		text = strings.TrimSpace(a.Rule + " " + a.Host + " " + a.Instance)
	}
	if len(text) > maxSubject {
		text = strings.ToValidUTF8(text[:maxSubject], "") + "..."
	}
	// Control characters have no business there, in no encoding.
	text = strings.Map(func(c rune) rune {
		if unicode.IsControl(c) {
			return ' '
		}
		return c
	}, strings.ToValidUTF8(text, "\uFFFD"))
	return mime.QEncoding.Encode("utf-8", fmt.Sprintf("[%s] %s", strings.ToUpper(string(a.Status)), text))
}

// sendMail hands a mail to a server.
func (r *Receiver) sendMail(ctx context.Context, a *Alert) (err error) {
	secret, err := r.secret()
	if err != nil {
		return err
	}
	body, err := r.message(a, time.Now())
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
	conn, err := r.dial(ctx, "tcp", r.Server)
	if err != nil {
		return err
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	defer func() {
		if err != nil && ctx.Err() != nil {
			err = fmt.Errorf("%s: %w", r.Server, context.Cause(ctx))
		}
	}()
	if mode == TLS {
		conn = tls.Client(conn, cfg)
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
	// The server has the mail, whatever it says to QUIT.
	_ = c.Quit()
	return nil
}

// refusal makes ErrRefused of an answer that says that trying again is of no use.
func refusal(err error) error {
	if answer, ok := errors.AsType[*textproto.Error](err); ok && answer.Code >= 500 {
		return fmt.Errorf("%w: %w", ErrRefused, err)
	}
	return err
}

// address reads an address. It has no line breaks: a mail's headers have it as it is.
func address(s string) (*mail.Address, error) {
	if strings.ContainsFunc(s, unicode.IsControl) {
		return nil, fmt.Errorf("address %q has a control character", s)
	}
	a, err := mail.ParseAddress(s)
	if err != nil {
		return nil, fmt.Errorf("address %q: %w", s, err)
	}
	// What a mail's headers and the commands of SMTP have is ASCII, without quoting.
	for _, c := range []byte(a.Address) {
		if c <= ' ' || c >= 0x7f || strings.IndexByte(`<>()[]\,;:"`, c) >= 0 {
			return nil, fmt.Errorf("address %q: %q is not supported in an address", s, c)
		}
	}
	return a, nil
}
