package alert

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/mail"
	"net/url"
	"os"
	"strings"
	"time"
)

// A Kind is the protocol of a receiver. It is also the word of the actions that notify the
// receiver: Settings.Check and Manager refuse rules with another one.
type Kind string

const (
	Webhook      Kind = "webhook"      // an alert as JSON, by POST
	Alertmanager Kind = "alertmanager" // its API, version 2
	Mail         Kind = "mail"         // SMTP
)

// A protocol is how messages get to the receivers of a kind, and what these need for it.
type protocol struct {
	kind      Kind
	must, may string // the settings that a receiver must have, and may have, besides the common ones
	batch     int    // the maximum number of alerts in a message
	send      func(ctx context.Context, r *Receiver, p *parcel) error
}

// protocols are all kinds of receivers.
var protocols = [...]protocol{
	{
		kind: Webhook, must: "url", may: "header user secret-file ca", batch: 1,
		send: func(ctx context.Context, r *Receiver, p *parcel) error { return r.postWebhook(ctx, &p.alerts[0]) },
	},
	{
		kind: Alertmanager, must: "url", may: "header user secret-file ca resend", batch: 64,
		send: func(ctx context.Context, r *Receiver, p *parcel) error { return r.postAlerts(ctx, p.alerts) },
	},
	{
		kind: Mail, must: "server from to", may: "tls user secret-file ca", batch: maxMail,
		send: func(ctx context.Context, r *Receiver, p *parcel) error { return r.sendMail(ctx, p) },
	},
}

// protocolOf returns the protocol of a kind, nil if there is no such kind.
func protocolOf(k Kind) *protocol {
	for i := range protocols {
		if protocols[i].kind == k {
			return &protocols[i]
		}
	}
	return nil
}

// kindNames returns the names of all kinds, as in "a, b or c".
func kindNames() string {
	var b strings.Builder
	for i, p := range protocols {
		switch {
		case i > 0 && i == len(protocols)-1:
			b.WriteString(" or ")
		case i > 0:
			b.WriteString(", ")
		}
		b.WriteString(string(p.kind))
	}
	return b.String()
}

// A TLSMode selects how the connection to a mail server is secured.
type TLSMode string

const (
	StartTLS TLSMode = "starttls" // by the STARTTLS command, which the server must support
	TLS      TLSMode = "tls"      // from the start
	NoTLS    TLSMode = "none"
)

// Defaults of a Receiver.
const (
	DefaultTimeout = 10 * time.Second
	DefaultMaxAge  = 24 * time.Hour
	DefaultQueue   = 10000
	DefaultResend  = time.Minute
)

// A Receiver is a destination of alerts. Zero fields mean the defaults. ReadFile makes
// receivers from a file.
type Receiver struct {
	Name string
	Kind Kind

	URL    *url.URL // of a web hook, or of an Alertmanager
	Header string   // that has the secret; "" means Authorization, after the word Bearer
	User   string   // the user name; the secret is its password

	// SecretFile has a secret, in its first line. It is read each time the secret is needed.
	SecretFile string
	// CAFile has certificates, in PEM, that are trusted in place of the system's.
	CAFile string

	Server string  // of mail: host and port
	TLS    TLSMode // "" means StartTLS
	From   *mail.Address
	To     []*mail.Address

	// Labels are added to those of each alert.
	Labels map[string]string

	Timeout time.Duration // of one attempt
	Retries int           // attempts after the first before a message is dropped; 0 means as long as MaxAge allows
	MaxAge  time.Duration // of a message that cannot be delivered
	Queue   int           // alerts kept for the receiver
	Resend  time.Duration // how often an Alertmanager is reminded of a firing alert

	// Dial makes connections; nil means net.Dialer's DialContext.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// ErrRefused is the error of a receiver that refuses a message for good.
var ErrRefused = errors.New("refused")

// A waitError is a failure after which the receiver asks for a pause.
type waitError struct {
	error
	wait time.Duration
}

func (e waitError) Unwrap() error { return e.error }

func (r *Receiver) timeout() time.Duration { return or(r.Timeout, DefaultTimeout) }
func (r *Receiver) maxAge() time.Duration  { return or(r.MaxAge, DefaultMaxAge) }
func (r *Receiver) resend() time.Duration  { return or(r.Resend, DefaultResend) }
func (r *Receiver) queue() int             { return or(r.Queue, DefaultQueue) }

func or[T comparable](v, otherwise T) T {
	var zero T
	if v == zero {
		return otherwise
	}
	return v
}

// batch is the maximum number of alerts in a message.
func (r *Receiver) batch() int {
	if p := protocolOf(r.Kind); p != nil {
		return p.batch
	}
	return 1
}

// maxMail is how many alerts a mail may have.
const maxMail = 500

// Send delivers alerts, once, within the time limit. A web hook takes one at a time. The error is ErrRefused if
// another try would fail too.
func (r *Receiver) Send(ctx context.Context, alerts ...Alert) error {
	p := &parcel{alerts: alerts}
	for i := range alerts {
		p.entries, p.notices = append(p.entries, &entry{Alert: alerts[i]}), append(p.notices, &notice{})
	}
	return r.deliver(ctx, p)
}

// deliver delivers a parcel.
func (r *Receiver) deliver(ctx context.Context, p *parcel) error {
	alerts := p.alerts
	if len(alerts) == 0 {
		return nil
	}
	if len(alerts) > r.batch() {
		return fmt.Errorf("receiver %s: %d alerts at a time, more than %d", r.Name, len(alerts), r.batch())
	}
	for i := range alerts {
		if err := alerts[i].check(); err != nil {
			return fmt.Errorf("receiver %s: %w: %w", r.Name, ErrRefused, err)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, r.timeout())
	defer cancel()
	var err error
	if proto := protocolOf(r.Kind); proto != nil {
		err = proto.send(ctx, r, p)
	} else {
		err = fmt.Errorf("kind %q: %w", r.Kind, errors.ErrUnsupported)
	}
	if err != nil {
		return fmt.Errorf("receiver %s: %w", r.Name, err)
	}
	return nil
}

// labels returns the labels of an alert and the receiver's own.
func (r *Receiver) labels(a *Alert) map[string]string {
	all := make(map[string]string, len(a.Labels)+len(r.Labels))
	for name, value := range a.Labels {
		all[name] = value
	}
	for name, value := range r.Labels {
		all[name] = value
	}
	return all
}

// maxSecret limits a secret, in bytes.
const maxSecret = 4096

// secret returns the secret. If there is no file for it, it returns "".
func (r *Receiver) secret() (string, error) {
	if r.SecretFile == "" {
		return "", nil
	}
	f, err := os.Open(r.SecretFile)
	if err != nil {
		return "", err
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil {
		return "", err
	}
	if !fi.Mode().IsRegular() {
		return "", fmt.Errorf("%s: not a regular file", r.SecretFile)
	}
	if fi.Mode().Perm()&0o007 != 0 {
		return "", fmt.Errorf("%s: all users may read or write this secret; chmod o= it", r.SecretFile)
	}
	b, err := io.ReadAll(io.LimitReader(f, maxSecret+1))
	if err != nil {
		return "", err
	}
	s, _, _ := strings.Cut(string(b), "\n")
	s = strings.TrimSuffix(s, "\r")
	switch {
	case len(b) > maxSecret:
		return "", fmt.Errorf("%s: more than %d bytes", r.SecretFile, maxSecret)
	case s == "":
		return "", fmt.Errorf("%s: no secret in the first line", r.SecretFile)
	}
	for _, c := range []byte(s) {
		if c < ' ' || c == 0x7f {
			return "", fmt.Errorf("%s: the secret has a control character", r.SecretFile)
		}
	}
	return s, nil
}

// tlsConfig returns the TLS configuration that verifies the receiver.
func (r *Receiver) tlsConfig(server string) (*tls.Config, error) {
	cfg := &tls.Config{ServerName: server, MinVersion: tls.VersionTLS12}
	if r.CAFile != "" {
		pem, err := os.ReadFile(r.CAFile)
		if err != nil {
			return nil, err
		}
		cfg.RootCAs = x509.NewCertPool()
		if !cfg.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("%s: no certificate in it", r.CAFile)
		}
	}
	return cfg, nil
}

func (r *Receiver) dial(ctx context.Context, network, address string) (net.Conn, error) {
	if r.Dial != nil {
		return r.Dial(ctx, network, address)
	}
	return (&net.Dialer{}).DialContext(ctx, network, address)
}

// client returns an HTTP client for one request. It follows no redirection, which would
// send the secret elsewhere.
func (r *Receiver) client() (*http.Client, error) {
	cfg, err := r.tlsConfig("")
	if err != nil {
		return nil, err
	}
	return &http.Client{
		Transport:     &http.Transport{DialContext: r.dial, TLSClientConfig: cfg, DisableKeepAlives: true, ForceAttemptHTTP2: false},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}, nil
}

// loopback reports whether a host is this one.
func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
