package postgresql

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp/internal/agent/service"
	"github.com/go-pcp/pcp/internal/testing/servicetest"
	"github.com/go-pcp/pcp/internal/testing/tlstest"
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

const access = `local all all trust
host all scram 127.0.0.1/32 scram-sha-256
host all hashed 127.0.0.1/32 md5
host all clear 127.0.0.1/32 password
hostssl all secure 127.0.0.1/32 password
`

// TestServer compares values with those that the server's own client prints.
func TestServer(t *testing.T) {
	ca := tlstest.NewCA(t, "CA of the test")
	cert := ca.Cert(t, tlstest.Want{Hosts: []string{"127.0.0.1"}})
	s := servicetest.Start(t, "postgres", func(s *servicetest.Server) []string {
		data := filepath.Join(s.Dir, "data")
		s.Run(t, "initdb", "-D", data, "-U", "postgres", "-A", "trust", "--no-sync", "--no-locale", "-E", "UTF8")
		if err := os.WriteFile(filepath.Join(data, "pg_hba.conf"), []byte(access), 0o644); err != nil {
			t.Fatal(err)
		}
		for name, path := range map[string]string{"cert": cert.File, "key": cert.Key} {
			b, err := os.ReadFile(path)
			if err == nil {
				err = os.WriteFile(filepath.Join(s.Dir, name), b, 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		return []string{"-c", "ssl=on", "-c", "ssl_cert_file=" + s.Dir + "/cert", "-c", "ssl_key_file=" + s.Dir + "/key", "-D", data, "-k", s.Dir, "-p", strconv.Itoa(s.Port), "-c", "listen_addresses=127.0.0.1", "-c", "fsync=off", "-c", "track_functions=all"}
	})
	s.Await(t, "unix", filepath.Join(s.Dir, ".s.PGSQL."+strconv.Itoa(s.Port)))
	sql := func(q string) string {
		t.Helper()
		return strings.TrimSpace(s.Run(t, "psql", "-X", "-A", "-t", "-h", s.Dir, "-p", strconv.Itoa(s.Port), "-U", "postgres", "-v", "ON_ERROR_STOP=1", "-c", q))
	}
	// It accepts connections before it is ready.
	cfg := Config{Host: s.Dir, Port: strconv.Itoa(s.Port), User: "postgres"}
	for end := time.Now().Add(time.Minute); newAgent(t, cfg).Try(t.Context()) != nil && time.Now().Before(end); {
		time.Sleep(20 * time.Millisecond)
	}
	sql("CREATE TABLE things (n int PRIMARY KEY, s serial); INSERT INTO things SELECT generate_series(1, 50); CREATE FUNCTION twice(n int) RETURNS int LANGUAGE plpgsql AS 'BEGIN RETURN 2*n; END'")
	sql("SELECT twice(n) FROM things WHERE n = 7; SELECT count(*) FROM things")
	a := newAgent(t, cfg)
	same := func(what string, metric, inst, query string) {
		t.Helper()
		got, want := "", ""
		for range 50 { // the statistics come a little later
			time.Sleep(minAge / 40)
			want = sql(query)
			if got = strings.Trim(servicetest.Read(t, a)[metric][inst], `"`); got == want && got != "" {
				return
			}
		}
		t.Errorf("%s: %s of %s is %q, psql has %q", what, metric, inst, got, want)
	}
	same("tables of users", "postgresql.stat.user_tables.n_tup_ins", "things", "SELECT n_tup_ins FROM pg_stat_user_tables WHERE relname = 'things'")
	same("all tables", "postgresql.stat.all_tables.seq_scan", "things", "SELECT seq_scan FROM pg_stat_all_tables WHERE relname = 'things'")
	same("schemas", "postgresql.stat.user_tables.schemaname", "things", "SELECT 'public'")
	same("functions", "postgresql.stat.user_functions.calls", "twice", "SELECT 1")
	same("indexes", "postgresql.stat.user_indexes.idx_scan", "things_pkey", "SELECT idx_scan FROM pg_stat_user_indexes WHERE indexrelname = 'things_pkey'")
	same("sequences", "postgresql.statio.user_sequences.blks_hit", "things_s_seq", "SELECT blks_hit FROM pg_statio_user_sequences")
	same("databases", "postgresql.stat.database.numbackends", "template1", "SELECT numbackends FROM pg_stat_database WHERE datname = 'template1'")
	same("the writer", "postgresql.stat.bgwriter.maxwritten_clean", "", "SELECT maxwritten_clean FROM pg_stat_bgwriter")
	same("recovery", "postgresql.recovery.is_in_recovery", "", "SELECT 0")
	v := servicetest.Read(t, a)
	for system, query := range map[string]string{
		"postgresql.stat.sys_tables.schemaname":      "SELECT count(DISTINCT relname) FROM pg_stat_sys_tables",
		"postgresql.stat.user_tables.schemaname":     "SELECT count(DISTINCT relname) FROM pg_stat_user_tables",
		"postgresql.stat.all_indexes.schemaname":     "SELECT count(DISTINCT indexrelname) FROM pg_stat_all_indexes",
		"postgresql.statio.sys_tables.schemaname":    "SELECT count(DISTINCT relname) FROM pg_statio_sys_tables",
		"postgresql.stat.xact.all_tables.schemaname": "SELECT count(DISTINCT relname) FROM pg_stat_xact_all_tables",
	} {
		if want := sql(query); strconv.Itoa(len(v[system])) != want {
			t.Errorf("%s has %d instances, psql %s", system, len(v[system]), want)
		}
	}
	if got := v["postgresql.stat.activity.usename"]["pcp"]; got != `"postgres"` {
		t.Errorf("the session of the agent belongs to %s", got)
	}
	servicetest.Hammer(t, a)

	sql("CREATE ROLE scram LOGIN PASSWORD 'secret'; CREATE ROLE clear LOGIN PASSWORD 'secret'; SET password_encryption = md5; CREATE ROLE hashed LOGIN PASSWORD 'secret'")
	for _, user := range []string{"scram", "hashed", "clear"} {
		cfg := Config{Host: "127.0.0.1", Port: strconv.Itoa(s.Port), User: user, Password: "secret"}
		if err := newAgent(t, cfg).Try(t.Context()); err != nil {
			t.Errorf("user %s: %v", user, err)
		}
		for _, cfg.Password = range []string{"", "wrong"} {
			if err := newAgent(t, cfg).Try(t.Context()); !errors.Is(err, service.ErrCredentials) {
				t.Errorf("user %s with the password %q: %v", user, cfg.Password, err)
			}
		}
	}

	sql("CREATE ROLE secure LOGIN PASSWORD 'secret'")
	encrypted := func(host, mode, file string) error {
		t.Helper()
		cfg := Config{Host: host, Port: strconv.Itoa(s.Port), User: "secure", Password: "secret"}
		var err error
		if cfg.Security, err = service.NewSecurity(mode, file); err != nil {
			t.Fatal(err)
		}
		a := newAgent(t, cfg)
		if err := a.Try(t.Context()); err != nil {
			return err
		}
		if got := sql("SELECT count(*) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE ssl AND usename = 'secure'"); got == "0" {
			t.Errorf("tls = %s: no connection is encrypted", mode)
		}
		a.Close()
		return nil
	}
	for _, c := range []struct{ host, mode, ca, err string }{
		{"127.0.0.1", "", "", ""},
		{"127.0.0.1", "prefer", "", ""},
		{"127.0.0.1", "require", "", ""},
		{"127.0.0.1", "verify", ca.File, ""},
		{"127.0.0.1", "off", "", "no encryption"},
		{"127.0.0.1", "verify", "", "certificate signed by unknown authority"},
		{"localhost", "verify", ca.File, "certificate is not valid for any names"},
	} {
		if err := encrypted(c.host, c.mode, c.ca); c.err == "" && err != nil || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
			t.Errorf("%s, tls = %s: %v, want %q", c.host, c.mode, err, c.err)
		}
	}
}

// TestNoTLS has a server that does not offer TLS, or answers something else.
func TestNoTLS(t *testing.T) {
	for _, c := range []struct{ mode, answer, err string }{
		{"", "N", ""},
		{"prefer", "N", ""},
		{"require", "N", service.ErrNoTLS.Error()},
		{"verify", "N", service.ErrNoTLS.Error()},
		{"", "E", errProtocol.Error()},
		{"prefer", "", io.EOF.Error()},
		{"require", "Sx", "before TLS begins"},
	} {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan []byte, 1)
		go func() {
			request := make([]byte, 8)
			if conn, err := ln.Accept(); err == nil {
				io.ReadFull(conn, request)
				conn.Write([]byte(c.answer))
				conn.Close()
			}
			done <- request
		}()
		cfg := Config{Host: "127.0.0.1", Password: "secret"}
		if cfg.Security, err = service.NewSecurity(c.mode, ""); err != nil {
			t.Fatal(err)
		}
		conn, err := net.Dial("tcp", ln.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		if _, err = encrypt(conn, bufio.NewReader(conn), cfg); c.err == "" && err != nil || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
			t.Errorf("tls = %s and the answer %q: %v, want %q", c.mode, c.answer, err, c.err)
		}
		if got := <-done; !bytes.Equal(got, []byte{0, 0, 0, 8, 4, 210, 22, 47}) {
			t.Errorf("the request is %v", got)
		}
		conn.Close()
		ln.Close()
	}
}

// stream returns messages.
func stream(list ...string) []byte {
	var b bytes.Buffer
	for _, m := range list {
		writeMessage(&b, m[0], []byte(m[1:]))
	}
	return b.Bytes()
}

// FuzzQuery reads an answer of any bytes.
func FuzzQuery(f *testing.F) {
	column := func(name string) string { return name + "\x00" + strings.Repeat("\x00", 18) }
	f.Add(stream("T\x00\x02"+column("pid")+column("datname"), "D\x00\x02\x00\x00\x00\x011\xff\xff\xff\xff", "CSELECT 1\x00", "T\x00\x01"+column("buffers_alloc"), "D\x00\x01\x00\x00\x00\x015", "CSELECT 1\x00", "ZI"))
	f.Add(stream("ESERROR\x00C42P01\x00Mno such view\x00\x00", "ZI"))
	f.Add(stream("D\xff\xff", "ZI"))
	f.Add(stream("T\xff\xffa"))
	f.Add([]byte("D\xff\xff\xff\xff"))
	d, list := newIndoms()
	views := d.views()
	agent, err := service.New(service.Config{Name: "postgresql", Domain: Domain, Metrics: metrics(d), InDoms: list})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		a := agent.Blank()
		query(io.Discard, bufio.NewReader(bytes.NewReader(b)), "", func(n int, columns []string, values [][]byte) { put(a, views, n, columns, values) })
	})
}

// FuzzLogIn answers a client that logs in with any bytes.
func FuzzLogIn(f *testing.F) {
	f.Add(stream("R\x00\x00\x00\x00", "Sa\x00b\x00", "ZI"))
	f.Add(stream("R\x00\x00\x00\x05abcd", "R\x00\x00\x00\x00", "ZI"))
	f.Add(stream("R\x00\x00\x00\x0aSCRAM-SHA-256\x00\x00", "R\x00\x00\x00\x0br=x,s=YQ==,i=1", "R\x00\x00\x00\x0cv=YQ=="))
	f.Add(stream("R\x00\x00\x00\x0c", "R\x00\x00\x00\x0b", "R"))
	f.Add(stream("E\x00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		client, server := net.Pipe()
		defer client.Close()
		go func() {
			go io.Copy(io.Discard, server)
			server.Write(b)
			server.Close()
		}()
		logIn(client, bufio.NewReader(client), Config{User: "u", Password: "p"})
	})
}

// TestScram logs in with the example of RFC 7677, except for its user.
func TestScram(t *testing.T) {
	s := &scram{password: "pencil", nonce: "rOprNGfwEbeRWgbNEkqO"}
	s.first()
	s.bare = "n=user,r=" + s.nonce
	got, err := s.answer("r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096")
	want := "c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
	if got != want || err != nil {
		t.Errorf("the proof is %s, %v, want %s", got, err, want)
	}
	if err := s.verify("v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="); err != nil {
		t.Error(err)
	}
	if err := s.verify("v=7rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="); err == nil {
		t.Error("a wrong signature is accepted")
	}
}
