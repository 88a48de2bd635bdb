package service

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/agent/builtin"
	"github.com/go-pcp/pcp/config"
	"github.com/go-pcp/pcp/internal/testing/agenttest"
	"github.com/go-pcp/pcp/internal/testing/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }

// newTest returns an agent with one metric, test.n, and one with instances, test.of.
func newTest(t *testing.T, read ...func(ctx context.Context, a *Answer, d *InDom) error) *Agent {
	t.Helper()
	d := &InDom{Serial: 1, Help: "Things", Long: "Things of the test."}
	cfg := Config{Name: "test", Domain: 400, InDoms: []*InDom{d}, Origin: "It is %s.", Metrics: []Metric{
		{Name: "test.n", Item: 0, Type: pcp.TypeU32, Sem: pcp.SemInstant, Help: "A number"},
		{Name: "test.of", Item: 1, Type: pcp.TypeU32, InDom: d, Sem: pcp.SemInstant, Help: "Another"},
	}}
	for i, r := range read {
		cfg.Servers = append(cfg.Servers, Server{Name: fmt.Sprint(i), Read: func(ctx context.Context, a *Answer) error { return r(ctx, a, d) }})
	}
	a, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// fetch fetches as a collector does, and returns the value of test.n and the time that it took.
func fetch(t *testing.T, a *Agent) (string, time.Duration) {
	t.Helper()
	begin := time.Now()
	a.Prepare(t.Context(), nil)
	v := agenttest.Read(t, a)["test.n"]
	took := time.Since(begin)
	if v["!"] != "" {
		return v["!"], took
	}
	return v[""], took
}

// TestSlow checks that a service that becomes slow delays one fetch for Patience and others not at all, that its last values are
// reported until they are too old, and that it is read as before when it is quick again.
func TestSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var delay, n atomic.Int64
		a := newTest(t, func(ctx context.Context, a *Answer, _ *InDom) error {
			a.Set("n", fmt.Sprint(n.Add(1)))
			select {
			case <-time.After(time.Duration(delay.Load())):
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
		defer a.Close()
		check := func(want string, wait time.Duration) {
			t.Helper()
			if got, took := fetch(t, a); got != want || took != wait {
				t.Errorf("a fetch takes %v and gets %s, want %v and %s", took, got, wait, want)
			}
		}
		check("1", 0)
		check("2", 0)
		delay.Store(int64(time.Hour))
		check("2", Patience) // the third reading
		check("2", 0)
		time.Sleep(Limit) // it fails, and the fourth waits for a pause
		check("2", 0)
		time.Sleep(MaxAge)
		check(pcp.ErrAgain.Error(), 0) // the fourth
		delay.Store(0)
		time.Sleep(Limit + 2*minPause + time.Millisecond)
		a.Prepare(t.Context(), nil) // the fifth, which no fetch waits for
		synctest.Wait()
		check("6", 0)
	})
}

// TestPause checks that a service that is away is asked less and less often.
func TestPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		a := newTest(t, func(context.Context, *Answer, *InDom) error { n++; return errors.New("away") })
		defer a.Close()
		for range 600 {
			if got, took := fetch(t, a); got != pcp.ErrAgain.Error() || took != 0 {
				t.Fatalf("a fetch takes %v and gets %s", took, got)
			}
			time.Sleep(time.Second)
		}
		if n < 10 || n > 16 {
			t.Errorf("in 10 minutes it is asked %d times", n)
		}
	})
}

// TestMerge checks that the values of several servers are joined, while one is away and another panics.
func TestMerge(t *testing.T) {
	row := func(name, v string) func(context.Context, *Answer, *InDom) error {
		return func(_ context.Context, a *Answer, d *InDom) error { a.Row(d, name).Set("of", v); return nil }
	}
	a := newTest(t, row("a", "1"), row("b", "2"),
		func(context.Context, *Answer, *InDom) error { return errors.New("away") },
		func(context.Context, *Answer, *InDom) error { panic("wrong") })
	defer a.Close()
	a.Await()
	v := agenttest.Read(t, a)["test.of"]
	if len(v) != 2 || v["a"] != "1" || v["b"] != "2" {
		t.Errorf("values are %v", v)
	}
	if err := a.Try(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestLimits(t *testing.T) {
	a := newTest(t, func(_ context.Context, a *Answer, d *InDom) error {
		for i := range maxInstances + 10 {
			a.Row(d, fmt.Sprint(i)).Set("of", "1")
		}
		a.Row(d, strings.Repeat("x", maxName+1)).Set("of", "1")
		a.Row(d, "").Set("of", "1")
		return nil
	})
	defer a.Close()
	a.Await()
	if n := len(agenttest.Read(t, a)["test.of"]); n != maxInstances {
		t.Errorf("there are %d instances, want %d", n, maxInstances)
	}
}

func TestParse(t *testing.T) {
	for _, c := range []struct {
		text string
		of   pcp.Type
		sem  pcp.Sem
		want string // "" for none
	}{
		{"12", pcp.TypeU32, pcp.SemInstant, "12"},
		{"12.75", pcp.TypeU32, pcp.SemInstant, "12"},
		{"4294967296", pcp.TypeU32, pcp.SemInstant, ""},
		{"4294967297", pcp.TypeU32, pcp.SemCounter, "1"},
		{"-1", pcp.TypeU32, pcp.SemInstant, ""},
		{"-1", pcp.Type32, pcp.SemInstant, "-1"},
		{"-9223372036854775808", pcp.Type64, pcp.SemInstant, "-9223372036854775808"},
		{"18446744073709551615", pcp.TypeU64, pcp.SemInstant, "18446744073709551615"},
		{"18446744073709551616", pcp.TypeU64, pcp.SemCounter, ""},
		{"1.5", pcp.TypeDouble, pcp.SemInstant, "1.500000e+00"},
		{"NaN", pcp.TypeDouble, pcp.SemInstant, ""},
		{"", pcp.TypeU32, pcp.SemInstant, ""},
		{"1.x", pcp.TypeU32, pcp.SemInstant, ""},
		{"x", pcp.TypeString, pcp.SemInstant, `"x"`},
		{"a\x00b", pcp.TypeString, pcp.SemInstant, ""},
		{strings.Repeat("x", maxText+1), pcp.TypeString, pcp.SemInstant, ""},
	} {
		v, ok := parse(c.text, c.of, c.sem)
		got := ""
		if ok {
			got = v.String()
		}
		if got != c.want {
			t.Errorf("%.20q as %v is %s, want %s", c.text, c.of, got, c.want)
		}
	}
}

// TestConn checks that a connection is kept, and opened again when the service has closed it.
func TestConn(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	accepted := make(chan net.Conn, 10)
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			accepted <- c
			go func() {
				r := bufio.NewReader(c)
				for {
					if _, err := r.ReadString('\n'); err != nil {
						return
					}
					fmt.Fprintf(c, "answer\r\n")
				}
			}()
		}
	}()
	c := &Conn{Network: "tcp", Address: ln.Addr().String()}
	defer c.Close()
	do := func(ctx context.Context) (line string, err error) {
		err = c.Do(ctx, func(conn net.Conn, r *bufio.Reader) error {
			fmt.Fprintf(conn, "question\n")
			line, err = Line(r)
			return err
		})
		return line, err
	}
	for range 3 {
		if line, err := do(t.Context()); line != "answer" || err != nil {
			t.Fatalf("%q, %v", line, err)
		}
	}
	first := <-accepted
	if len(accepted) != 0 {
		t.Error("the connection is not kept")
	}
	first.Close()
	if line, err := do(t.Context()); line != "answer" || err != nil {
		t.Errorf("after the service has closed it: %q, %v", line, err)
	}
	defer func() { (<-accepted).Close() }()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := do(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end: %v", err)
	}
}

func TestSettings(t *testing.T) {
	home, pmdas := t.TempDir(), t.TempDir()
	vars := map[string]string{"HOME": home, "PCP_PMDAS_DIR": pmdas, "PCP_CONF": os.DevNull}
	cfg := config.New(func(name string) string { return vars[name] })
	write := func(path, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	read := func() string {
		list, err := Settings(cfg, "test", "url", "user")
		if err != nil {
			return err.Error()
		}
		return fmt.Sprint(list)
	}
	if got := read(); got != "[]" {
		t.Errorf("without a file: %s", got)
	}
	installed := filepath.Join(pmdas, "test", "test.conf")
	write(installed, "# comment\n[pmda]\nurl = http://a/?x=1;csv\n$user = \"me\";\n")
	if got := read(); got != "[{url http://a/?x=1;csv} {user me}]" {
		t.Errorf("settings are %s", got)
	}
	write(filepath.Join(home, ".config", "pcp", "test.conf"), "user=x\n")
	if got := read(); got != "[{user x}]" {
		t.Errorf("with the user's file: %s", got)
	}
	write(filepath.Join(home, ".config", "pcp", "test.conf"), "user=x\npass=y\n")
	if got := read(); !strings.Contains(got, `line 2: "pass=y" is not NAME = VALUE with one of the names url, user`) {
		t.Errorf("a wrong line: %s", got)
	}
}

// TestFinder checks that a service is tried once for each start of its process and each change of the configuration.
func TestFinder(t *testing.T) {
	root, home := t.TempDir(), t.TempDir()
	comm := func(pid, name string) {
		t.Helper()
		dir := filepath.Join(root, "proc", pid)
		if name == "" {
			os.RemoveAll(dir)
			return
		}
		if err := os.MkdirAll(dir, 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "comm"), []byte(name+"\n"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	comm("1", "init")
	comm("x", "serverd")
	vars := map[string]string{"HOME": home, "PCP_CONF": os.DevNull}
	tries, result, now := 0, error(nil), time.Unix(1, 0)
	f := NewFinder([]builtin.Spec{{Name: "other"}, {Name: "test", Programs: []string{"serverd"}, Try: func(context.Context, builtin.Env) error { tries++; return result }}},
		builtin.Env{HostRoot: root, Config: config.New(func(name string) string { return vars[name] })})
	f.now = func() time.Time { return now }
	check := func(want string, wantTries int) {
		t.Helper()
		if got := fmt.Sprint(f.Find(t.Context())); got != want || tries != wantTries {
			t.Errorf("found %s after %d tries, want %s after %d", got, tries, want, wantTries)
		}
	}
	check("map[]", 0)
	comm("7", "serverd")
	result = ErrCredentials
	check("map[test:"+ErrCredentials.Error()+"]", 1)
	check("map[test:"+ErrCredentials.Error()+"]", 1)
	result = fmt.Errorf("dial: %w", ErrAbsent)
	now = now.Add(tryAgain)
	check("map[]", 2)
	check("map[]", 2)
	result = nil
	now = now.Add(tryAgain)
	check("map[test:<nil>]", 3)
	now = now.Add(tryAgain)
	check("map[test:<nil>]", 3)
	comm("8", "serverd") // a worker
	check("map[test:<nil>]", 3)
	comm("7", "")
	check("map[test:<nil>]", 4)
	comm("8", "")
	check("map[]", 4)
	path := filepath.Join(home, ".config", "pcp", "test.conf")
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	check("map[test:<nil>]", 5)
}

// TestFindFiles finds an agent once the file that it reads exists.
func TestFindFiles(t *testing.T) {
	root := t.TempDir()
	f := NewFinder([]builtin.Spec{{Name: "files", Source: "/sys/fs/test"}, {Name: "other"}},
		builtin.Env{HostRoot: root, Config: config.New(func(string) string { return "" })})
	if got := f.Find(t.Context()); len(got) != 0 {
		t.Errorf("without the file: %v", got)
	}
	if err := os.MkdirAll(filepath.Join(root, "sys/fs/test"), 0o777); err != nil {
		t.Fatal(err)
	}
	got := f.Find(t.Context())
	if err, ok := got["files"]; len(got) != 1 || !ok || err != nil {
		t.Errorf("with the file: %v", got)
	}
}
