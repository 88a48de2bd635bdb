package postfix

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp/agent/builtin"
	"github.com/go-pcp/pcp/config"
	"github.com/go-pcp/pcp/internal/agent/service"
	"github.com/go-pcp/pcp/internal/testing/agenttest"
	"github.com/go-pcp/pcp/internal/testing/servicetest"
)

// record returns a record of a queue file.
func record(kind byte, text string) string {
	b := []byte{kind}
	n := len(text)
	for n > 0x7f {
		b = append(b, byte(n&0x7f|0x80))
		n >>= 7
	}
	return string(append(b, byte(n))) + text
}

// message returns a queue file as cleanup writes it, with some content.
func queueFile(arrival time.Time, recipients ...string) string {
	content := record('N', strings.Repeat("Subject: records of R and E ", 20)) + record('N', "") + record('p', "               0")
	var b strings.Builder
	b.WriteString(record('C', fmt.Sprintf("%15d %15d %15d %15d %15d", len(content), 0, len(recipients), 0, 0)))
	b.WriteString(record('T', fmt.Sprintf("%d 123456", arrival.Unix())))
	b.WriteString(record('A', "rewrite_context=local") + record('S', "a@example.com"))
	for _, r := range recipients {
		b.WriteString(record('O', r) + record('R', r))
	}
	b.WriteString(record('M', "") + content + record('X', "") + record('E', ""))
	return b.String()
}

const maildropFile = "F\x01a" + "S\x01a" + "R\x03b@c" + "M\x00" + "N\x03a b" + "X\x00" + "E\x00"

// queueTree has messages in all queues, and other files.
func queueTree(t *testing.T, now time.Time) string {
	t.Helper()
	at := func(minutes int) time.Time { return now.Add(-time.Duration(minutes) * time.Minute) }
	dir := agenttest.Tree(t, map[string]string{
		"maildrop/ABCDEF1234": maildropFile, "incoming/ABCDEF12": queueFile(at(1), "b@c"), "hold/x": "", "hold/ABC-123": queueFile(at(1), "b@c"),
		"active/ABCDEF0": queueFile(at(7), "b@c", "d@e", "f@g"), "active/0123456": "C\x05abcde",
		"deferred/A/A23456": queueFile(at(100), "b@c"), "deferred/B/B23456": queueFile(at(5000), "b@c", "d@e"), "deferred/B/C23456": queueFile(at(5), "b@c")[:100],
	})
	files, err := filepath.Glob(dir + "/*/*")
	if err != nil {
		t.Fatal(err)
	}
	deeper, err := filepath.Glob(dir + "/*/*/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range append(files, deeper...) {
		if err := os.Chmod(path, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(dir+"/incoming/ABCDEF34", []byte(queueFile(at(1), "b@c")), 0o600); err != nil { // not complete
		t.Fatal(err)
	}
	return dir
}

func newAgent(t testing.TB, cfg Config) *service.Agent {
	t.Helper()
	a, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close() })
	return a
}

func TestFacts(t *testing.T) {
	a := newAgent(t, Config{Root: t.TempDir()})
	servicetest.Facts(t, a, "testdata/upstream.txt")
	agenttest.HelpTexts(t, a)
}

func TestQueues(t *testing.T) {
	v := servicetest.Read(t, newAgent(t, Config{Queues: queueTree(t, time.Now()), Log: filepath.Join(t.TempDir(), "none")}))
	for name, want := range map[string]map[string]string{
		"maildrop": {"total": "1", "0-5 mins": "1"}, "incoming": {"total": "1", "0-5 mins": "1"}, "hold": {"total": "0"},
		"active": {"total": "3", "5-10 mins": "3", "0-5 mins": "0"}, "deferred": {"total": "3", "80-160 mins": "1", "1280+ mins": "2"},
	} {
		for age, want := range want {
			if got := v["postfix.queues."+name][age]; got != want {
				t.Errorf("postfix.queues.%s[%s] is %s, want %s", name, age, got, want)
			}
		}
	}
}

func TestBucket(t *testing.T) {
	for minutes, want := range map[float64]int{-1: 1, 0: 1, 4.9: 1, 5: 2, 9.9: 2, 10: 3, 39: 4, 640: 9, 1279: 9, 1280: 10, 1e6: 10} {
		if got := bucket(time.Duration(minutes * float64(time.Minute))); got != want {
			t.Errorf("%g minutes: %d, want %d", minutes, got, want)
		}
	}
}

const (
	sentLine     = "Nov 27 10:00:00 host postfix/smtp[1]: ABCDEF: to=<a@b>, relay=mx.b[192.0.2.1]:25, delay=1, status=sent (250 ok)\n"
	localLine    = "Nov 27 10:00:00 host postfix/local[1]: ABCDEF: to=<a@b>, relay=local, delay=1, status=sent (delivered)\n"
	dovecotLine  = "Nov 27 10:00:00 host postfix/pipe[1]: ABCDEF: to=<a@b>, relay=dovecot, status=sent (delivered)\n"
	sendmailLine = "Nov 27 10:00:00 host sendmail[1]: to=<a@b>, relay=mx.b. [192.0.2.1], stat=Sent\n"
	clientLine   = "Nov 27 10:00:00 host postfix/smtpd[1]: ABCDEF: client=c[192.0.2.2]\n"
	pickupLine   = "Nov 27 10:00:00 host postfix/pickup[1]: ABCDEF: uid=0 from=<root>\n"
	otherLine    = "Nov 27 10:00:00 host postfix/smtp[1]: ABCDEF: to=<a@b>, relay=none, status=deferred\n"
)

// TestLog follows a log that is written, rotated and cut.
func TestLog(t *testing.T) {
	dir := queueTree(t, time.Now())
	path := filepath.Join(t.TempDir(), "mail.log")
	write := func(flag int, text string) {
		t.Helper()
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|flag, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		_, err = f.WriteString(text)
		if err := errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
	}
	write(os.O_APPEND, sentLine+sentLine)
	a := newAgent(t, Config{Queues: dir, Log: path})
	check := func(sent, received string) {
		t.Helper()
		v := servicetest.Read(t, a)
		if got := fmt.Sprint(v["postfix.sent"]); got != sent {
			t.Errorf("sent is %s, want %s", got, sent)
		}
		if got := fmt.Sprint(v["postfix.received"]); got != received {
			t.Errorf("received is %s, want %s", got, received)
		}
	}
	check("map[smtp:0]", "map[local:0 smtp:0]")
	write(os.O_APPEND, sentLine+localLine+dovecotLine+sendmailLine+clientLine+pickupLine+otherLine+dovecotLine[:50])
	check("map[dovecot:1 local:1 smtp:2]", "map[local:1 smtp:1]")
	write(os.O_APPEND, dovecotLine[50:])
	check("map[dovecot:2 local:1 smtp:2]", "map[local:1 smtp:1]")
	write(os.O_APPEND, clientLine)
	if err := os.Rename(path, path+".1"); err != nil {
		t.Fatal(err)
	}
	write(os.O_APPEND, clientLine)
	check("map[dovecot:2 local:1 smtp:2]", "map[local:1 smtp:3]")
	write(os.O_TRUNC, pickupLine[:60]+"\n")
	check("map[dovecot:2 local:1 smtp:2]", "map[local:2 smtp:3]")
	servicetest.Hammer(t, a)
}

func TestTry(t *testing.T) {
	home, dir := t.TempDir(), queueTree(t, time.Now())
	env := builtin.Env{Config: config.New(func(name string) string { return map[string]string{"HOME": home, "PCP_CONF": os.DevNull}[name] }), HostRoot: home}
	if err := try(t.Context(), env); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("without queues: %v", err)
	}
	path := filepath.Join(home, ".config/pcp/postfix.conf")
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("queue_directory = "+dir+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := try(t.Context(), env); err != nil {
		t.Error(err)
	}
	if os.Geteuid() == 0 {
		return // may read all
	}
	if err := os.Chmod(dir+"/active", 0); err != nil {
		t.Fatal(err)
	}
	if err := try(t.Context(), env); err == nil || !strings.Contains(err.Error(), "only root") {
		t.Errorf("without rights: %v", err)
	}
}

// FuzzEnvelope reads queue files of any bytes.
func FuzzEnvelope(f *testing.F) {
	f.Add([]byte(queueFile(time.Unix(1e9, 0), "a@b", "c@d")))
	f.Add([]byte(maildropFile))
	f.Add([]byte("S\x00p\x011p\x010"))
	f.Add([]byte("S\x00M\x00p\x015"))
	f.Add([]byte("C\x05" + "1 1 1" + "T\x03" + "1 1" + "M\x00"))
	f.Add([]byte("S\xff\xff\xff\x7f"))
	f.Fuzz(func(t *testing.T, b []byte) {
		m, ok := envelope(bytes.NewReader(b))
		if ok && (m.recipients == 0 || m.recipients > maxRecords) {
			t.Errorf("%d recipients in %d bytes", m.recipients, len(b))
		}
	})
}

// FuzzLog reads a log of any bytes.
func FuzzLog(f *testing.F) {
	for _, line := range []string{sentLine, localLine, dovecotLine, sendmailLine, clientLine, pickupLine, otherLine, "stat=Sent relay=\n", "status=sent postfix/ relay=\x00,\n"} {
		f.Add([]byte(line), 10)
	}
	f.Fuzz(func(t *testing.T, b []byte, cut int) {
		if cut < 0 || cut > len(b) {
			return
		}
		whole, parts := newMailLog(os.DevNull), newMailLog(os.DevNull)
		defer whole.close()
		defer parts.close()
		whole.add(b)
		parts.add(b[:cut])
		parts.add(b[cut:])
		if got, want := fmt.Sprint(parts.ways, parts.sent, parts.local, parts.remote), fmt.Sprint(whole.ways, whole.sent, whole.local, whole.remote); got != want {
			t.Errorf("in parts %s, as a whole %s", got, want)
		}
	})
}

// TestSlowQueue ends a reading with its context.
func TestSlowQueue(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	q := &queues{dir: queueTree(t, time.Now()), ages: &service.InDom{}, now: time.Now}
	if err := q.read(ctx, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}
