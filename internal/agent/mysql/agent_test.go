package mysql

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/go-pcp/pcp/internal/agent/service"
	"github.com/go-pcp/pcp/internal/testing/longtest"
	"github.com/go-pcp/pcp/internal/testing/servicetest"
)

func newAgent(t testing.TB, cfg Config) *service.Agent {
	t.Helper()
	a, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close() })
	return a
}

func TestDescriptors(t *testing.T) {
	servicetest.Facts(t, newAgent(t, Config{}), "testdata/upstream.txt")
}

// TestServer reads a MariaDB. It is too large to be installed for each test.
func TestServer(t *testing.T) {
	if !longtest.Enabled() {
		t.Skip("SKIPPED: PCP_TEST_LONG is not set: a server of databases is large")
	}
	s := servicetest.Start(t, "mariadbd mysqld", func(s *servicetest.Server) []string {
		data := filepath.Join(s.Dir, "data")
		s.Run(t, "mariadb-install-db", "--no-defaults", "--datadir="+data, "--auth-root-authentication-method=normal", "--basedir="+filepath.Join(filepath.Dir(s.Program), ".."))
		return []string{"--no-defaults", "--datadir=" + data, "--socket=" + s.Dir + "/sock", "--port=" + strconv.Itoa(s.Port), "--bind-address=127.0.0.1", "--pid-file=" + s.Dir + "/pid", "--basedir=" + filepath.Join(filepath.Dir(s.Program), "..")}
	})
	s.Await(t, "tcp", s.Address())
	root := newAgent(t, Config{Address: s.Dir + "/sock", User: "root"})
	v := servicetest.Read(t, root)
	sql := func(q string) (values map[string]string) {
		t.Helper()
		conn, err := net.Dial("unix", s.Dir+"/sock")
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		r := bufio.NewReader(conn)
		if _, err := logIn(conn, r, Config{User: "root"}); err != nil {
			t.Fatal(err)
		}
		values = make(map[string]string)
		if err := query(conn, r, q, func(_ []string, row [][]byte) { values[strings.ToLower(string(row[0]))] = string(row[len(row)-1]) }); err != nil {
			t.Fatalf("%s: %v", q, err)
		}
		return values
	}
	vars := sql("SHOW VARIABLES")
	compared := 0
	for name, m := range v {
		if key, ok := strings.CutPrefix(name, "mysql.variables."); ok && m[""] != "" {
			got := strings.Trim(m[""], `"`)
			if want := vars[key]; got != want && !strings.ContainsAny(want, `.\"`) && key != "timestamp" && key != "rand_seed1" {
				t.Errorf("%s is %s, want %s", name, got, want)
			}
			compared++
		}
	}
	if compared < 100 {
		t.Errorf("only %d variables have values", compared)
	}
	if got := v["mysql.status.threads_connected"][""]; got != "1" {
		t.Errorf("%s connections, want 1", got)
	}
	if got := v["mysql.processlist.user"]; len(got) == 0 {
		t.Error("there are no connections")
	}
	servicetest.Hammer(t, root)

	sql("CREATE USER dbmonitor@localhost IDENTIFIED BY 'secret'")
	for _, address := range []string{s.Address(), s.Dir + "/sock"} {
		if err := newAgent(t, Config{Address: address, User: "dbmonitor", Password: "secret"}).Try(t.Context()); err != nil {
			t.Errorf("%s: %v", address, err)
		}
		if err := newAgent(t, Config{Address: address}).Try(t.Context()); !errors.Is(err, service.ErrCredentials) {
			t.Errorf("%s: with a wrong password: %v", address, err)
		}
	}
}

// TestScramble proves a password with values that a server of MySQL accepted.
func TestScramble(t *testing.T) {
	nonce := []byte("\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f\x10\x11\x12\x13\x14")
	for _, plugin := range []string{nativePassword, cachingSHA2} {
		if got := scramble(plugin, "", nonce); got != nil {
			t.Errorf("%s: an empty password gives %x", plugin, got)
		}
		a, b := scramble(plugin, "secret", nonce), scramble(plugin, "Secret", nonce)
		if want := map[string]int{nativePassword: 20, cachingSHA2: 32}[plugin]; len(a) != want || bytes.Equal(a, b) {
			t.Errorf("%s: %d bytes, want %d, and others for another password", plugin, len(a), want)
		}
	}
}

// packets returns packets.
func packets(list ...string) []byte {
	var b bytes.Buffer
	s := &stream{w: &b}
	for i, p := range list {
		s.next = byte(i)
		s.write([]byte(p))
	}
	return b.Bytes()
}

// hello is the first packet of a server.
func hello(plugin string) string {
	return "\x0a8.0.36\x00\x01\x00\x00\x00abcdefgh\x00\xff\xff\x21\x02\x00\xff\xff\x15" + strings.Repeat("\x00", 10) + "ijklmnopqrst\x00" + plugin + "\x00"
}

// column is a definition of a column.
func column(name string) string {
	return "\x03def\x00\x00\x00" + string(rune(len(name))) + name + "\x00"
}

func answers() []byte {
	pair := func(name, value string) string {
		return string(rune(len(name))) + name + string(rune(len(value))) + value
	}
	eof := "\xfe\x00\x00\x02\x00"
	return bytes.Join([][]byte{
		packets("\x02", column("Variable_name"), column("Value"), eof, pair("Threads_connected", "5"), pair("Com_select", "17"), eof),
		packets("\x02", column("Variable_name"), column("Value"), eof, pair("max_connections", "151"), eof),
		packets("\x03", column("Id"), column("User"), column("State"), eof, "\x014\x04root\xfb", eof),
		packets("\x02", column("Slave_IO_Running"), column("Seconds_Behind_Master"), eof, "\x03Yes\x013", eof),
	}, nil)
}

// read reads the answers of a server.
func read(t testing.TB, b []byte) map[string]map[string]string {
	indom := &service.InDom{}
	client, server := net.Pipe()
	defer client.Close()
	go io.Copy(io.Discard, server)
	a, err := service.New(service.Config{Name: "mysql", Domain: Domain, Metrics: metrics(indom), InDoms: []*service.InDom{indom}, Servers: []service.Server{{
		Name: "x", Read: func(_ context.Context, a *service.Answer) error {
			return ask(client, bufio.NewReader(bytes.NewReader(b)), indom, a)
		},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	return servicetest.Read(t, a)
}

func TestAnswers(t *testing.T) {
	v := read(t, answers())
	for name, want := range map[string]string{
		"status.threads_connected": "5", "status.com_select": "17", "variables.max_connections": "151", "slave_status.slave_io_running": `"Yes"`,
		"slave_status.seconds_behind_master": "3",
	} {
		if got := v["mysql."+name][""]; got != want {
			t.Errorf("mysql.%s is %s, want %s", name, got, want)
		}
	}
	if got := v["mysql.processlist.user"]["4"] + v["mysql.processlist.state"]["4"]; got != `"root""?"` {
		t.Errorf("the connection is %s", got)
	}
}

func TestLogIn(t *testing.T) {
	for name, c := range map[string]struct {
		answer []byte
		err    string
	}{
		"native":      {packets(hello(nativePassword), "\x00\x00\x00\x02\x00\x00\x00"), ""},
		"caching":     {packets(hello(cachingSHA2), "\x01\x03", "\x00\x00\x00\x02\x00\x00\x00"), ""},
		"not cached":  {packets(hello(cachingSHA2), "\x01\x04"), "only sent through a Unix socket"},
		"switch":      {packets(hello(cachingSHA2), "\xfemysql_native_password\x00abcdefghijklmnopqrst\x00", "\x00"), ""},
		"unsupported": {packets(hello(nativePassword), "\xfeclient_ed25519\x00abc"), "not supported"},
		"denied":      {packets(hello(nativePassword), "\xff\x15\x04#28000Access denied"), service.ErrCredentials.Error()},
		"too many":    {packets("\xff\x10\x04Too many connections"), "Too many connections"},
	} {
		client, server := net.Pipe()
		go io.Copy(io.Discard, server)
		_, err := logIn(client, bufio.NewReader(bytes.NewReader(c.answer)), Config{User: "u", Password: "p"})
		client.Close()
		if c.err == "" && err != nil || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
			t.Errorf("%s: %v, want %q", name, err, c.err)
		}
	}
}

// FuzzAsk reads answers of any bytes.
func FuzzAsk(f *testing.F) {
	f.Add(answers())
	f.Add(packets("\xff\x15\x04#28000Access denied"))
	f.Add(packets("\x01", "\xfc"))
	f.Add([]byte("\xff\xff\xff\x00"))
	indom := &service.InDom{}
	agent, err := service.New(service.Config{Name: "mysql", Domain: Domain, Metrics: metrics(indom), InDoms: []*service.InDom{indom}})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		client, server := net.Pipe()
		defer client.Close()
		go io.Copy(io.Discard, server)
		ask(client, bufio.NewReader(bytes.NewReader(b)), indom, agent.Blank())
	})
}

// FuzzLogIn answers a client that logs in with any bytes.
func FuzzLogIn(f *testing.F) {
	f.Add(packets(hello(nativePassword), "\x00"))
	f.Add(packets(hello(cachingSHA2), "\x01\x03", "\x00"))
	f.Add(packets(hello("x"), "\xfeauth_socket\x00", "\x00"))
	f.Add(packets("\x0a"))
	f.Fuzz(func(t *testing.T, b []byte) {
		client, server := net.Pipe()
		defer client.Close()
		go io.Copy(io.Discard, server)
		logIn(client, bufio.NewReader(bytes.NewReader(b)), Config{User: "u", Password: "p"})
	})
}
