package examples_test

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/testing/oracle"
	"github.com/go-pcp/pcp/pmapi"
)

// serve starts our collector with one agent, a line of pmcd.conf in which
// DIR is the test's directory and BIN that of the programs, and returns a
// client.
func (m *machine) serve(t *testing.T, name string, domain int, command string) *pmapi.Context {
	t.Helper()
	programs, err := bin()
	if err != nil {
		t.Fatal(err)
	}
	for file, text := range map[string]string{
		"pmcd.conf": fmt.Sprintf("%s %d pipe binary %s\n", name, domain,
			strings.NewReplacer("DIR", m.dir, "BIN", programs).Replace(command)),
		"pmns": fmt.Sprintf("root {\n\t%s\t%d:*:*\n}\n", name, domain),
	} {
		if err := os.WriteFile(filepath.Join(m.dir, file), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(filepath.Join(m.dir, "config", "pmda"), 0o755); err != nil {
		t.Fatal(err)
	}
	m.env = append(m.env, "PCP_VAR_DIR="+m.dir, "PCP_LOG_DIR="+m.dir, "PCP_USER=no-such-user")
	socket := filepath.Join(m.dir, "s")
	m.host = "unix:" + socket
	port := strconv.Itoa(oracle.FreePort(t))
	m.start(t, "", "pcp", "pmcd", "-f", "-p", port, "-s", socket, "-c", filepath.Join(m.dir, "pmcd.conf"),
		"-n", filepath.Join(m.dir, "pmns"), "-l", filepath.Join(m.dir, "pmcd.log"))
	var c *pmapi.Context
	until(t, "a collector", func() bool {
		c, err = pmapi.Dial(t.Context(), m.host)
		return err == nil
	})
	t.Cleanup(func() {
		c.Close()
		if t.Failed() {
			for _, f := range []string{"pmcd.log", name + ".log"} {
				log, _ := os.ReadFile(filepath.Join(m.dir, f))
				t.Logf("%s:\n%s", f, log)
			}
		}
	})
	return c
}

// until waits for something that will happen, but a minute at most.
func until(t *testing.T, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !done(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("there is never %s", what)
		}
	}
}

// values returns the values of a metric, in the order of its instances, or
// its error.
func values(t *testing.T, c *pmapi.Context, name string) string {
	t.Helper()
	ids, err := c.LookupName(t.Context(), name)
	if err != nil {
		return pcp.Code(err).Error()
	}
	desc, err := c.LookupDesc(t.Context(), ids[0])
	if err != nil {
		t.Fatal(err)
	}
	res, err := c.Fetch(t.Context(), ids)
	if err != nil {
		t.Fatal(err)
	}
	if res.Sets[0].Err != 0 {
		return res.Sets[0].Err.Error()
	}
	var words []string
	for _, v := range res.Sets[0].Values {
		switch desc.Type {
		case pcp.TypeDouble:
			words = append(words, strconv.FormatFloat(v.As(desc.Type).Double(), 'g', -1, 64))
			continue
		case pcp.TypeU64:
			words = append(words, v.As(desc.Type).String())
			continue
		}
		records, err := v.EventRecords()
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range records {
			words = append(words, string(r.Params[0].Value.Bytes()))
		}
	}
	return strings.Join(words, " ")
}

func want(t *testing.T, c *pmapi.Context, name, want string) {
	t.Helper()
	if got := values(t, c, name); got != want {
		t.Errorf("%s is %q, want %q", name, got, want)
	}
}

func appendTo(t *testing.T, path, text string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err == nil {
		_, err = f.WriteString(text)
		f.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestLogtail writes to a log, and replaces it.
func TestLogtail(t *testing.T) {
	m := newMachine(t)
	path := filepath.Join(m.dir, "app.log")
	appendTo(t, path, "an old error\n")
	c := m.serve(t, "logtail", 402, "BIN/logtail -d 402 --file=DIR/app.log")
	want(t, c, "logtail.lines", "0 0 0")
	want(t, c, "logtail.records", "")
	appendTo(t, path, "warning: low\nfine\nan err")
	want(t, c, "logtail.lines", "0 1 1")
	want(t, c, "logtail.records", "warning: low fine")
	appendTo(t, path, "or\n")
	if err := os.Rename(path, path+".1"); err != nil {
		t.Fatal(err)
	}
	appendTo(t, path, "new\n")
	want(t, c, "logtail.lines", "1 1 2")
	want(t, c, "logtail.records", "an error new")
	want(t, c, "logtail.records", "")
	want(t, c, "logtail.line", "")
}

// TestDirsize has a directory read in the background.
func TestDirsize(t *testing.T) {
	m := newMachine(t)
	dir := filepath.Join(m.dir, "data")
	if err := os.MkdirAll(filepath.Join(dir, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	appendTo(t, filepath.Join(dir, "sub", "a"), "12345")
	c := m.serve(t, "dirsize", 403, "BIN/dirsize -d 403 -t 10ms DIR/data DIR/none")
	until(t, "a reading", func() bool { return values(t, c, "dirsize.bytes") == "5 0" })
	want(t, c, "dirsize.files", "1 0")
	appendTo(t, filepath.Join(dir, "b"), "678")
	until(t, "a new reading", func() bool { return values(t, c, "dirsize.bytes") == "8 0" })
	if out, err := m.command(t, "dirsize").CombinedOutput(); err == nil || !strings.HasPrefix(string(out), "which directories?\n\nUsage: pmdadirsize [options] directory...\n") {
		t.Errorf("without directories: %v\n%s", err, out)
	}
	if out, err := m.command(t, "dirsize", "-t", "soon", "/").CombinedOutput(); err == nil || !strings.Contains(string(out), `invalid duration "soon"`) {
		t.Errorf("with an interval that is none: %v\n%s", err, out)
	}
}

// TestStatusfile has a program write its state.
func TestStatusfile(t *testing.T) {
	m := newMachine(t)
	path := filepath.Join(m.dir, "status.json")
	c := m.serve(t, "webshop", 405, "BIN/statusfile -d 405 -f DIR/status.json")
	want(t, c, "webshop.requests", "")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path+".new", []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(path+".new", path); err != nil {
			t.Fatal(err)
		}
	}
	write(`{"requests": 17, "users": 3}`)
	want(t, c, "webshop.requests", "17")
	want(t, c, "webshop.users", "3")
	write(`{"requests": 18}`)
	want(t, c, "webshop.requests", "18")
	want(t, c, "webshop.users", "")
	write(`half {`)
	ids, err := c.LookupName(t.Context(), "webshop.requests")
	if err != nil {
		t.Fatal(err)
	}
	if res, err := c.Fetch(t.Context(), ids); err != nil || res.Sets[0].Err != pcp.ErrGeneric {
		t.Errorf("a file that cannot be read: %v, %v", res, err)
	}
}

// TestTally sends numbers to an agent, and fetches the resulting metrics.
func TestTally(t *testing.T) {
	m := newMachine(t)
	c := m.serve(t, "tally", 404, "BIN/tally -d 404 -s DIR/in")
	want(t, c, "tally.mail.sent", pcp.ErrName.Error())
	conn, err := net.Dial("unixgram", filepath.Join(m.dir, "in"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	send := func(text string) {
		t.Helper()
		if _, err := conn.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	send("mail.sent 3\n")
	until(t, "a metric", func() bool { return values(t, c, "tally.mail.sent") == "3" })
	send("mail.sent 0.5")
	send("mail 1")      // a name cannot be above another
	send("web..hits 1") // nor this
	send("web.hits x")
	send("web.hits 2")
	until(t, "the last one", func() bool { return values(t, c, "tally.web.hits") == "2" })
	want(t, c, "tally.mail.sent", "3.5")
	if out := m.tool(t, "pminfo", "-t", "tally"); out != "tally.mail.sent [sum of the numbers sent as mail.sent]\ntally.web.hits [sum of the numbers sent as web.hits]\n" {
		t.Errorf("pminfo prints\n%s", out)
	}
	log, err := os.ReadFile(filepath.Join(m.dir, "tally.log"))
	if err != nil || strings.Count(string(log), "datagram is not counted") != 3 {
		t.Errorf("the log is %s, %v", log, err)
	}
}
