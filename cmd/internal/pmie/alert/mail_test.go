package alert

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"mime/quotedprintable"
	"net"
	"net/mail"
	"net/textproto"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/pmie/deliver"
)

// A post is a mail server that records the mails that it gets.
type post struct {
	*pipe
	cert tls.Certificate
	mode TLSMode
	how  func(n int, verb string) string // an answer in place of the good one; "cut" and "hang" are others

	mu    sync.Mutex
	conns int
	mails [][]byte
	verbs []string
	done  sync.WaitGroup
}

func newPost(t *testing.T, mode TLSMode) (*post, *Receiver) {
	t.Helper()
	p := &post{pipe: newPipe(), mode: mode}
	ca := p.certificate(t)
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("s3cret"), 0o600); err != nil {
		t.Fatal(err)
	}
	p.done.Go(func() {
		for {
			c, err := p.Accept()
			if err != nil {
				return
			}
			p.mu.Lock()
			n := p.conns
			p.conns++
			p.mu.Unlock()
			p.done.Go(func() { p.serve(c, n) })
		}
	})
	t.Cleanup(func() {
		p.Close()
		p.done.Wait()
	})
	return p, &Receiver{
		Name: "ops", Kind: Mail, Server: "mail.example:587", TLS: mode, CAFile: ca, User: "u", SecretFile: secret, Dial: p.dial,
		From: &mail.Address{Address: "pmie@example.com"}, To: []*mail.Address{{Address: "a@example.com"}, {Address: "b@example.com"}},
	}
}

func (p *post) set(how func(n int, verb string) string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.how = how
}

// certificate makes a certificate, and returns its file.
func (p *post) certificate(t *testing.T) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{"mail.example"}, NotBefore: time.Unix(0, 0), NotAfter: time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC), IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	p.cert = tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
	path := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func (p *post) serve(raw net.Conn, n int) {
	defer raw.Close()
	conn, secure := raw, false
	if p.mode == TLS {
		conn, secure = tls.Server(raw, &tls.Config{Certificates: []tls.Certificate{p.cert}}), true
	}
	c := textproto.NewConn(conn)
	answer := func(verb, good string) bool {
		p.mu.Lock()
		p.verbs = append(p.verbs, verb)
		p.mu.Unlock()
		p.mu.Lock()
		how := p.how
		p.mu.Unlock()
		if how != nil {
			switch s := how(n, verb); s {
			case "":
			case "cut":
				return false
			case "hang":
				c.ReadLine() // neither end speaks
				return false
			default:
				good = s
			}
		}
		return c.PrintfLine("%s", good) == nil
	}
	if !answer("connect", "220 mail.example") {
		return
	}
	for {
		line, err := c.ReadLine()
		if err != nil {
			return
		}
		verb, _, _ := strings.Cut(line, " ")
		switch verb = strings.ToUpper(verb); verb {
		case "EHLO":
			if secure {
				err = c.PrintfLine("250-mail.example\r\n250 AUTH PLAIN")
			} else if p.mode == StartTLS {
				err = c.PrintfLine("250-mail.example\r\n250 STARTTLS")
			} else {
				err = c.PrintfLine("250 mail.example")
			}
			if err != nil {
				return
			}
		case "STARTTLS":
			if !answer(verb, "220 go on") {
				return
			}
			secure = true
			c = textproto.NewConn(tls.Server(raw, &tls.Config{Certificates: []tls.Certificate{p.cert}}))
		case "AUTH":
			want := "AUTH PLAIN " + base64.StdEncoding.EncodeToString([]byte("\x00u\x00s3cret"))
			good := "235 welcome"
			if line != want || !secure {
				good = "535 no"
			}
			if !answer(verb, good) {
				return
			}
		case "DATA":
			if !answer(verb, "354 go on") {
				return
			}
			b, err := c.ReadDotBytes()
			if err != nil {
				return
			}
			p.mu.Lock()
			p.mails = append(p.mails, b)
			p.mu.Unlock()
			if !answer("mail", "250 taken") {
				return
			}
		case "QUIT":
			answer(verb, "221 bye")
			return
		default:
			if !answer(line, "250 ok") {
				return
			}
		}
	}
}

// ids returns the Message-IDs of the mails received.
func (p *post) ids(t *testing.T) (list []string) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, b := range p.mails {
		m, err := mail.ReadMessage(bytes.NewReader(b))
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, m.Header.Get("Message-Id"))
	}
	return list
}

// TestMailFaults makes a mail server fail in all ways; each mail arrives, and a mail that arrives twice
// has the same Message-ID.
func TestMailFaults(t *testing.T) {
	on := func(where, what string) func(int, string) string {
		return func(n int, verb string) string {
			if n < 2 && verb == where {
				return what
			}
			return ""
		}
	}
	for name, how := range map[string]func(int, string) string{
		"well": nil, "busy": on("connect", "421 busy"), "cut": on("STARTTLS", "cut"), "hang": on("connect", "hang"), "hang later": on("DATA", "hang"),
		"temporary": on("DATA", "451 later"), "lost answer": on("mail", "cut"), "sender": on("MAIL FROM:<pmie@example.com>", "450 later"), "no leave": on("QUIT", "cut"),
	} {
		for _, mode := range []TLSMode{StartTLS, TLS, NoTLS} {
			if mode == NoTLS && name == "cut" {
				continue // without STARTTLS there is nothing to cut
			}
			t.Run(name+" "+string(mode), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					p, r := newPost(t, mode)
					if p.how = how; mode == NoTLS {
						r.User, r.SecretFile = "", ""
					}
					m, log := start(t, filepath.Join(t.TempDir(), "spool"), r)
					act(t, m, action("r", deliver.Mail, "ops", "sda"))
					act(t, m, action("s", deliver.Mail, "ops", "sdb"))
					time.Sleep(5 * time.Minute)
					m.Close()
					ids := p.ids(t)
					most := 2
					if name == "lost answer" {
						most = 4
					}
					n := len(ids)
					slices.Sort(ids)
					if ids = slices.Compact(ids); len(ids) != 2 || n > most {
						t.Errorf("%d mails of %q; log %s", n, ids, log)
					}
					if s := m.Standings()[0]; s.Waiting != 0 {
						t.Errorf("standing %+v", s)
					}
				})
			})
		}
	}
}

// TestMailRefused checks that a mail refused for good is dropped.
func TestMailRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, r := newPost(t, StartTLS)
		p.how = func(_ int, verb string) string {
			if strings.HasPrefix(verb, "RCPT") {
				return "550 nobody"
			}
			return ""
		}
		a := NewTest("h", "x", time.Now())
		if err := r.Send(t.Context(), a); !errors.Is(err, ErrRefused) {
			t.Errorf("%v", err)
		}
		// A server with the wrong identity, or without encryption, gets no password.
		p.how = nil
		r.Server = "other.example:25"
		if err := r.Send(t.Context(), a); err == nil || errors.Is(err, ErrRefused) {
			t.Errorf("another name: %v", err)
		}
		p.mode, r.Server = NoTLS, "mail.example:25"
		if err := r.Send(t.Context(), a); err == nil || !strings.Contains(err.Error(), "STARTTLS") {
			t.Errorf("without STARTTLS: %v", err)
		}
		r.TLS = NoTLS
		if err := r.Send(t.Context(), a); err == nil || !strings.Contains(err.Error(), "not encrypted") {
			t.Errorf("without TLS: %v", err)
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		n := 0
		for _, verb := range p.verbs {
			if verb == "AUTH" {
				n++
			}
		}
		if n != 1 || len(p.mails) != 0 {
			t.Errorf("%q, %d mails", p.verbs, len(p.mails))
		}
	})
}

// TestMailDigest checks that all messages of an evaluation of a rule are in one mail, also after a
// restart.
func TestMailDigest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, r := newPost(t, StartTLS)
		dir := filepath.Join(t.TempDir(), "spool")
		m, _ := start(t, dir, r)
		insts := make([]string, 100)
		for i := range insts {
			insts[i] = fmt.Sprintf("sd%02d", i)
		}
		mails := func() (list []*mail.Message, bodies []string) {
			p.mu.Lock()
			defer p.mu.Unlock()
			for _, b := range p.mails {
				m, err := mail.ReadMessage(bytes.NewReader(b))
				if err != nil {
					t.Fatal(err)
				}
				body, err := io.ReadAll(quotedprintable.NewReader(m.Body))
				if err != nil {
					t.Fatal(err)
				}
				list, bodies = append(list, m), append(bodies, string(body))
			}
			return list, bodies
		}
		act(t, m, action("r", deliver.Mail, "ops", insts...))
		time.Sleep(time.Minute)
		act(t, m, action("r", deliver.Mail, "ops", append(insts[2:], "new")...))
		time.Sleep(time.Minute)
		act(t, m, action("s", deliver.Mail, "ops", "one"))
		time.Sleep(time.Minute)
		// A mail whose answer is lost, of a process that ends then, is sent again unchanged, also if more has
		// happened.
		p.set(func(_ int, verb string) string {
			if verb == "mail" {
				return "cut"
			}
			return ""
		})
		act(t, m, action("r", deliver.Mail, "ops"))
		time.Sleep(time.Millisecond)
		m.Close()
		p.set(nil)
		m, _ = start(t, dir, r)
		act(t, m, action("r", deliver.Mail, "ops", "sd00"))
		time.Sleep(time.Minute)
		m.Close()
		list, bodies := mails()
		var subjects []string
		for _, m := range list {
			subjects = append(subjects, m.Header.Get("Subject"))
		}
		same(t, "subjects", subjects, "[FIRING: 100] sd00 is busy and 99 more", "[FIRING: 1, RESOLVED: 2] new is busy and 2 more", "[FIRING] one is busy",
			"[RESOLVED: 99] sd02 is busy and 98 more", "[RESOLVED: 99] sd02 is busy and 98 more", "[FIRING] sd00 is busy")
		if n := strings.Count(bodies[0], "\nstatus: firing\n"); n != 100 || !strings.Contains(bodies[0], "\ninstance: sd99\n") || strings.Count(bodies[1], "\nstatus: resolved\n") != 2 {
			t.Errorf("%d alerts in %s", n, bodies[0])
		}
		ids := p.ids(t)
		if ids[3] != ids[4] || bodies[3] != bodies[4] {
			t.Errorf("a mail that comes again has ID %s, then %s", ids[3], ids[4])
		}
		if to := list[3].Header.Get("In-Reply-To"); to != ids[0]+" "+ids[1] {
			t.Errorf("In-Reply-To %s, want %s %s", to, ids[0], ids[1])
		}
		slices.Sort(ids)
		if n := len(slices.Compact(ids)); n != 5 {
			t.Errorf("%d IDs", n)
		}
		// More than a mail may have are in some.
		many := make([]string, 2*maxMail+1)
		for i := range many {
			many[i] = fmt.Sprint("i", i)
		}
		m, _ = start(t, filepath.Join(t.TempDir(), "spool"), r)
		act(t, m, action("r", deliver.Mail, "ops", many...))
		time.Sleep(time.Minute)
		m.Close()
		_, bodies = mails()
		for i, want := range []int{maxMail, maxMail, 1} {
			if n := strings.Count(bodies[6+i], "\nstatus: firing\n"); n != want {
				t.Errorf("mail %d of many has %d, want %d", i, n, want)
			}
		}
	})
}

// TestMailText sends texts that try to end the mail, or to send commands to the server.
func TestMailText(t *testing.T) {
	for _, mode := range []TLSMode{StartTLS, TLS, NoTLS} {
		synctest.Test(t, func(t *testing.T) {
			p, r := newPost(t, mode)
			if mode == NoTLS {
				r.User, r.SecretFile = "", ""
			}
			for i, text := range append(hostile, "\r\n.\r\nRCPT TO:<x@y>\r\n", ".\n..\n.", strings.Repeat(".", 2000), strings.Repeat("\n.", 500)) {
				a := NewTest("h", text, time.Now())
				if err := r.Send(t.Context(), a); err != nil {
					t.Fatalf("%v, %q: %v", mode, text, err)
				}
				p.mu.Lock()
				b, n, verbs := p.mails[len(p.mails)-1], len(p.mails), p.verbs
				p.verbs = nil
				p.mu.Unlock()
				m, err := mail.ReadMessage(bytes.NewReader(b))
				if err != nil {
					t.Fatal(err)
				}
				body, err := io.ReadAll(quotedprintable.NewReader(m.Body))
				if err != nil {
					t.Fatal(err)
				}
				want := strings.Map(func(c rune) rune {
					if c < ' ' && c != '\n' && c != '\t' {
						return '\uFFFD'
					}
					return c
				}, strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\r\n", "\n"))
				if n != i+1 || !strings.HasPrefix(string(body), want+"\n\nstatus: firing\nrule: test\n") {
					t.Errorf("%v, %q: %d mails, the last %q", mode, text, n, body)
				}
				for _, verb := range verbs {
					if strings.Contains(verb, "x@") {
						t.Errorf("%v, %q: the server was told %q", mode, text, verbs)
					}
				}
			}
		})
	}
}
