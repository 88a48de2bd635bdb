package alert

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/pmie/deliver"
)

const sound = `# Who is told.
spool /var/spool/alerts

receiver pager
	kind  webhook
	url   https://example.com/hook?x=1
	header X-Token
	secret-file pager.secret
	ca /etc/ca.pem
	timeout 5sec
	retries 10
	max-age 2hours
	queue 100
	label severity page me

receiver am
    kind alertmanager
    url http://am:9093
    resend 30sec

receiver on-call
    kind mail
    server smtp.example.com
    tls tls
    user pmie
    secret-file /etc/mail.secret
    from PCP <pmie@example.com>
    to a@example.com
    to "B, C" <b@example.com>
`

func TestParse(t *testing.T) {
	s, err := Parse(strings.NewReader(sound), "/etc/pcp/receivers.conf")
	if err != nil {
		t.Fatal(err)
	}
	if s.Spool != "/var/spool/alerts" || len(s.Receivers) != 3 || s.Receiver("nobody") != nil {
		t.Fatalf("%+v", s)
	}
	p, am, ops := s.Receiver("pager"), s.Receiver("am"), s.Receiver("on-call")
	if p.Kind != Webhook || p.URL.String() != "https://example.com/hook?x=1" || p.Header != "X-Token" || p.SecretFile != "/etc/pcp/pager.secret" || p.CAFile != "/etc/ca.pem" ||
		p.timeout() != 5*time.Second || p.Retries != 10 || p.maxAge() != 2*time.Hour || p.queue() != 100 || p.Labels["severity"] != "page me" {
		t.Errorf("%+v", p)
	}
	if am.resend() != 30*time.Second || am.timeout() != DefaultTimeout || am.maxAge() != DefaultMaxAge || am.queue() != DefaultQueue {
		t.Errorf("%+v", am)
	}
	if ops.Server != "smtp.example.com:465" || ops.From.Address != "pmie@example.com" || len(ops.To) != 2 || ops.To[1].Name != "B, C" {
		t.Errorf("%+v", ops)
	}
}

func TestParseErrors(t *testing.T) {
	f := func(text string, want ...string) {
		t.Helper()
		s, err := Parse(strings.NewReader(text), "r.conf")
		if err == nil {
			t.Errorf("%q: %+v", text, s)
			return
		}
		for _, w := range want {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%q: %v, want %s", text, err, w)
			}
		}
	}
	const web, mail = "receiver a\nkind webhook\nurl https://h\n", "receiver a\nkind mail\nserver h\nfrom a@b\nto a@b\n"
	f("kind webhook", "r.conf:1: kind: a receiver must come first")
	f("receiver", "r.conf:1: receiver: its value is missing")
	f("receiver a\n", "r.conf:1: receiver a: kind is missing")
	f("receiver a b\nkind webhook\nurl http://h", `r.conf:1: receiver "a b"`)
	f("receiver ..\nkind webhook\nurl http://h", "r.conf:1:")
	f(web+web, "r.conf:4: receiver a: named before")
	f(web+"url https://i", "r.conf:4: url: repeated, see line 3")
	f(web+"urll https://i\nretries 0\ntimeout soon", "r.conf:4: urll: not a setting", "r.conf:5: retries", "r.conf:6: timeout")
	f(web+"from a@b", "r.conf:4: from: not a setting of kind webhook")
	f(web+"user a", "r.conf:4: user: secret-file is missing")
	f(web+"header X", "r.conf:4: header: secret-file")
	f(web+"header X:\n", "not the name of a header")
	f(web+"label a-b c", "not the name of a label")
	f(web+"label a", "a name and a value")
	f(web+"secret-file x\x01y", "r.conf:4: a control character")
	f("receiver a\nkind webhook\nurl http://h\nsecret-file x", "r.conf:3: url: with a secret it must be https")
	f("receiver a\nkind webhook\nurl https://u:secret@h", "r.conf:3: url: a user and a password")
	f("receiver a\nkind webhook\nurl ftp://h", "r.conf:3: url")
	f("receiver a\nkind pigeon", `r.conf:2: kind: "pigeon"`)
	f("receiver a\nkind mail", "server is missing", "from is missing", "to is missing")
	f(mail+"to x", "r.conf:6: to: address")
	f(mail+"to a@b\r\n to <a@b>, c@d", "r.conf:7: to: address")
	f(mail+"to é@b", "r.conf:6: to: address")
	f(mail+"tls maybe", "r.conf:6: tls")
	f(mail+"secret-file x", "user is missing")
	f(mail+"tls none\nuser a\nsecret-file x", "r.conf:6: tls: with a password")
	f(strings.Replace(mail, "server h", "server h:x", 1), "r.conf:3: server")
	f("spool a\nspool b", "r.conf:2: spool")
	f(strings.Repeat("x y\n", 100), "r.conf: more errors")
	f(strings.Repeat("#", maxConf+1), "more than")
	if _, err := ReadFile(filepath.Join(t.TempDir(), "no")); err == nil {
		t.Error("a file that is not there was read")
	}
}

// TestKinds checks that the kinds of receivers are the actions that name one, and that each can be
// read from a file and delivers.
func TestKinds(t *testing.T) {
	var actions []Kind
	for k := deliver.Webhook; !strings.HasPrefix(k.String(), "Kind("); k++ {
		actions = append(actions, Kind(k.String()))
	}
	var kinds []Kind
	for _, p := range protocols {
		kinds = append(kinds, p.kind)
	}
	if !slices.Equal(kinds, actions) {
		t.Errorf("kinds are %q, actions %q", kinds, actions)
	}
	if got, want := kindNames(), "webhook, alertmanager or mail"; got != want {
		t.Errorf("kindNames() = %q, want %q", got, want)
	}
	example := map[string]string{"url": "http://localhost", "server": "localhost", "from": "a@b", "to": "a@b"}
	a := Alert{Status: Firing, Rule: "r", Since: time.Unix(1, 0).UTC()}
	a.ID = a.newID()
	for _, p := range protocols {
		text := "receiver x\nkind " + string(p.kind) + "\n"
		for _, word := range strings.Fields(p.must) {
			text += word + " " + example[word] + "\n"
		}
		s, err := Parse(strings.NewReader(text), "r.conf")
		if err != nil || len(s.Receivers) != 1 || s.Receivers[0].Kind != p.kind {
			t.Errorf("%q: %+v, %v", text, s, err)
			continue
		}
		r := s.Receivers[0]
		down := errors.New("down")
		r.Dial = func(context.Context, string, string) (net.Conn, error) { return nil, down }
		if err := r.Send(t.Context(), a); !errors.Is(err, down) {
			t.Errorf("%s: Send = %v, want %v", p.kind, err, down)
		}
		if r.batch() != p.batch || p.batch < 1 {
			t.Errorf("%s: batch() = %d, want %d", p.kind, r.batch(), p.batch)
		}
	}
	odd := Receiver{Name: "x", Kind: "pigeon"}
	if err := odd.Send(t.Context(), a); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("unknown kind: Send = %v, want %v", err, errors.ErrUnsupported)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(sound)
	f.Add("receiver a\nkind webhook\nurl http://[::1]:9\nlabel a b\n")
	f.Add("receiver a\nkind mail\nserver [::1]\nfrom <a@b>\nto \"x\\\"\" <c@d>\n")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := Parse(strings.NewReader(text), "r.conf")
		if err != nil {
			for line := range strings.Lines(err.Error()) {
				if !strings.HasPrefix(line, "r.conf:") {
					t.Fatalf("%q does not say where", line)
				}
			}
			return
		}
		for _, r := range s.Receivers {
			if !nameable(r.Name) || r.timeout() <= 0 || r.maxAge() <= 0 || r.queue() <= 0 || r.resend() <= 0 || protocolOf(r.Kind) == nil {
				t.Fatalf("%+v", r)
			}
			if r.Kind != Mail {
				continue
			}
			a := Alert{Status: Firing, Rule: text, Since: time.Unix(1, 0), Text: text}
			b, err := r.message(single(a), time.Unix(2, 0))
			if err != nil {
				t.Fatal(err)
			}
			head, _, _ := strings.Cut(string(b), "\r\n\r\n")
			if n := strings.Count(strings.ReplaceAll(head, "\r\n ", ""), "\n"); n != 8 {
				t.Fatalf("%d lines of a header: %q", n, head)
			}
		}
	})
}

func FuzzEntry(f *testing.F) {
	a := Alert{Status: Firing, Rule: "r", Host: "h", Instance: "i", Since: time.Unix(1, 0).UTC(), Labels: map[string]string{"a": "b"}}
	a.ID = a.newID()
	e := entry{Alert: a, Holdoff: time.Minute, Said: a.Since, Notices: []*notice{{Status: Firing, At: a.Since, Text: "t"}, {Status: Resolved, At: a.Since}}}
	b, err := e.encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add([]byte(`{"version":1,"notices":[null]}`))
	f.Add([]byte(`{"version":2}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		e, err := decodeEntry(b)
		if err != nil {
			return
		}
		b2, err := e.encode()
		if err != nil {
			return // it is longer in our form
		}
		e2, err := decodeEntry(b2)
		if err != nil || !e2.Alert.Equal(&e.Alert) || len(e2.Notices) != len(e.Notices) {
			t.Fatalf("%s: %+v, %v", b2, e2, err)
		}
		for _, n := range e.Notices {
			a := e.said(n)
			if err := a.check(); err != nil {
				t.Fatal(err)
			}
		}
		// A worker copes with the contents of any file.
		w := &worker{r: &Receiver{Name: "x", Kind: Alertmanager}, log: discard, wake: make(chan struct{}, 1), latest: map[string]*entry{e.Alert.key(): e}, list: []*entry{e}}
		if w.spool, _, err = openSpool(filepath.Join(t.TempDir(), "spool"), DefaultQueue, discard); err != nil {
			t.Fatal(err)
		}
		defer w.spool.close()
		for i := range 2 * maxNotices {
			p, _, _ := w.next(time.Unix(int64(i), 0))
			if p != nil {
				w.settle(p, nil, false)
			}
		}
	})
}

func FuzzState(f *testing.F) {
	a := Alert{Status: Firing, Rule: "r", Since: time.Unix(1, 0).UTC()}
	a.ID = a.newID()
	b, err := json.Marshal(State{Version: stateVersion, PID: 1, Alerts: []Alert{a}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := decodeState(b)
		if err != nil {
			return
		}
		for i := range s.Alerts {
			if err := s.Alerts[i].check(); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// TestSpoiledSpool checks that unreadable files are set aside, and that a directory that others may look
// into is refused.
func TestSpoiledSpool(t *testing.T) {
	dir := t.TempDir()
	id := strings.Repeat("0", 2*idBytes)
	spoolDir := filepath.Join(dir, "x")
	if err := os.Mkdir(spoolDir, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{id + suffix, temporary + id, "other", "x.json"} {
		if err := os.WriteFile(filepath.Join(spoolDir, name), []byte("{"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s, list, err := openSpool(spoolDir, DefaultQueue, discard)
	if err != nil || len(list) != 0 {
		t.Fatalf("%v, %v", list, err)
	}
	s.close()
	files, err := os.ReadDir(spoolDir)
	if got := fmt.Sprint(files); err != nil || got != "[- "+id+".json.bad - other - x.json]" {
		t.Errorf("%s, %v", got, err)
	}
	if err := os.Chmod(spoolDir, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, _, err := openSpool(spoolDir, DefaultQueue, discard); err == nil || !strings.Contains(err.Error(), "chmod 700") {
		t.Errorf("%v", err)
	}
}

// TestCrowdedSpool has a spool with more alerts than are read at a start: the others stay, and are read when there is
// room.
func TestCrowdedSpool(t *testing.T) {
	const alerts, limit = 25, 10
	dir := filepath.Join(t.TempDir(), "x")
	s, _, err := openSpool(dir, limit, discard)
	if err != nil {
		t.Fatal(err)
	}
	for i := range alerts {
		a := Alert{Status: Firing, Rule: "r", Instance: strconv.Itoa(i), Since: time.Unix(int64(i+1), 0).UTC()}
		a.ID = a.newID()
		if err := s.save(&entry{Alert: a, Said: a.Since}); err != nil {
			t.Fatal(err)
		}
	}
	s.close()
	seen := make(map[string]bool)
	for left := alerts; left > 0; {
		var log strings.Builder
		s, list, err := openSpool(dir, limit, slog.New(slog.NewTextHandler(&log, nil)))
		if err != nil {
			t.Fatal(err)
		}
		if want := min(limit, left); len(list) != want {
			t.Fatalf("%d of %d alerts are taken in, want %d", len(list), left, want)
		}
		left -= len(list)
		if said := strings.Contains(log.String(), fmt.Sprintf("taken=%d left=%d", len(list), left)); said != (left > 0) {
			t.Errorf("the log says %q", log.String())
		}
		for _, e := range list {
			seen[e.Alert.Instance] = true
			if err := s.remove(e); err != nil {
				t.Fatal(err)
			}
		}
		s.close()
	}
	if len(seen) != alerts {
		t.Errorf("%d alerts are seen", len(seen))
	}
}
