package sasl

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/go-pcp/pcp"
)

// A book is accounts for tests, with few iterations.
type book map[string]string

func (b book) Verifier(mechanism, user string) (Verifier, error) {
	password, ok := b[user]
	if !ok {
		password = "nobody's password"
	}
	return VerifierFor(mechanism, password, []byte("0123456789abcdef"), minIterations)
}

func (b book) CheckPassword(user, password string) error {
	if want, ok := b[user]; !ok || want != password {
		return ErrAuth
	}
	return nil
}

// talk has a client and a server exchange messages until both are done.
func talk(offered []string, accounts Accounts, mechanism, user, password string) (messages int, s *Server, err error) {
	c, err := NewClient(mechanism, user, password)
	if err != nil {
		return 0, nil, err
	}
	if s, err = NewServer(offered, accounts, c.Start()); err != nil {
		return 1, s, err
	}
	out, err := s.Start()
	for messages = 1; err == nil && !s.Done(); messages++ {
		var answer []byte
		if answer, err = c.Step(out); err != nil {
			return messages, s, fmt.Errorf("client: %w", err)
		}
		out, err = s.Step(answer)
	}
	if err == nil && !c.Done() {
		err = errors.New("client is not done")
	}
	return messages, s, err
}

func TestExchange(t *testing.T) {
	accounts := book{"tux": "secret", "eve=,": "pass,=\u00e4\U0001f600"}
	for mechanism, want := range map[string]int{Plain: 1, Login: 3, ScramSHA1: 3, ScramSHA256: 3, ScramSHA512: 3} {
		for user, password := range accounts {
			n, s, err := talk(Known(), accounts, mechanism, user, password)
			if err != nil || n != want || s.User() != user || s.Mechanism() != mechanism {
				t.Errorf("%s of %s: %v after %d messages, user %q; want %d messages", mechanism, user, err, n, s.User(), want)
			}
		}
		for _, bad := range [][2]string{{"tux", "Secret"}, {"tux", ""}, {"nobody", "secret"}, {"TUX", "secret"}} {
			_, s, err := talk(Known(), accounts, mechanism, bad[0], bad[1])
			if pcp.Code(err) != ErrAuth || s.Done() {
				t.Errorf("%s of %q: %v, want %v", mechanism, bad, err, ErrAuth)
			}
		}
		_, _, err := talk([]string{"OTHER"}, accounts, mechanism, "tux", "secret")
		if pcp.Code(err) != ErrNoMech {
			t.Errorf("%s that is not offered: %v, want %v", mechanism, err, ErrNoMech)
		}
		if _, err := NewClient(mechanism, "", "x"); pcp.Code(err) != ErrParam {
			t.Errorf("%s without a name: %v, want %v", mechanism, err, ErrParam)
		}
	}
}

func TestChoose(t *testing.T) {
	f := func(offered, wanted, want string) {
		t.Helper()
		got, err := Choose(offered, wanted)
		if got != want || (err == nil) != (want != "") || err != nil && pcp.Code(err) != ErrNoMech {
			t.Errorf("Choose(%q, %q) = %q, %v, want %q", offered, wanted, got, err, want)
		}
	}
	f("PLAIN LOGIN SCRAM-SHA-256", "", ScramSHA256)
	f("LOGIN PLAIN", "", Plain)
	f("plain,scram-sha-1", "", ScramSHA1)
	f("PLAIN GSSAPI", "plain", Plain)
	f("PLAIN", "scram-sha-256", ScramSHA256) // the server will refuse it
	f("GSSAPI DIGEST-MD5", "", "")
	f("", "", "")
	f("PLAIN", "gssapi", "")
}

// TestServerRefuses sends what a client of good will does not.
func TestServerRefuses(t *testing.T) {
	f := func(want pcp.Error, messages ...string) {
		t.Helper()
		s, err := NewServer(Known(), book{"tux": "secret"}, []byte(messages[0]))
		if err == nil {
			_, err = s.Start()
		}
		for _, m := range messages[1:] {
			if err != nil {
				break
			}
			_, err = s.Step([]byte(m))
		}
		if pcp.Code(err) != want {
			t.Errorf("%.80q: %v, want %v", messages, err, want)
		}
		if s != nil && s.Done() {
			t.Errorf("%.80q: done", messages)
		}
	}
	f(ErrNoMech, "")
	f(ErrNoMech, "GSSAPI")
	f(ErrProtocol, "PLAIN")
	f(ErrProtocol, "PLAIN\x00")
	f(ErrProtocol, "PLAIN\x00tux")
	f(ErrProtocol, "PLAIN\x00a\x00b\x00c\x00d")
	f(ErrAuth, "PLAIN\x00\x00\x00")
	f(ErrAuthz, "PLAIN\x00root\x00tux\x00secret")
	f(ErrProtocol, "PLAIN\x00\x00tux\x00"+strings.Repeat("x", MaxMessage))
	f(ErrProtocol, ScramSHA256)
	f(ErrAuth, ScramSHA256+"\x00nonsense")
	f(ErrAuth, ScramSHA256+"\x00p=tls-unique,,n=tux,r=abc")
	f(ErrAuth, ScramSHA256+"\x00y,,n=tux=zz,r=abc")
	f(ErrAuthz, ScramSHA256+"\x00n,a=root,n=tux,r=abcdefgh")
	f(ErrAuth, ScramSHA256+"\x00n,,n=tux,r=abcdefgh", "c=biws,r=abcdefgh,p=AAAA")
	f(ErrProtocol, ScramSHA256+"\x00n,,n=tux,r=abcdefgh", "")
	f(ErrAuth, Login, "tux", "wrong")
	f(ErrAuth, Login+"\x00tux", "wrong")
}

// TestClientRefuses has a server that does not know the account, or wants too much.
func TestClientRefuses(t *testing.T) {
	f := func(want pcp.Error, challenges func(first string) []string) {
		t.Helper()
		c, err := NewClient(ScramSHA256, "tux", "secret")
		if err != nil {
			t.Fatal(err)
		}
		_, first, _ := bytes.Cut(c.Start(), []byte{0})
		for _, ch := range challenges(string(first)) {
			if _, err = c.Step([]byte(ch)); err != nil {
				break
			}
		}
		if pcp.Code(err) != want || c.Done() {
			t.Errorf("%v, done %v, want %v", err, c.Done(), want)
		}
	}
	nonce := func(first string) string { return first[strings.Index(first, "r=")+2:] }
	f(ErrProtocol, func(first string) []string { return []string{"r=" + nonce(first) + "x,s=MDEyMzQ1Njc=,i=2000000000"} })
	f(ErrProtocol, func(first string) []string { return []string{"r=" + nonce(first) + "x,s=MDEyMzQ1Njc=,i=1"} })
	f(ErrProtocol, func(string) []string { return []string{"r=other,s=MDEyMzQ1Njc=,i=4096"} })
	f(ErrProtocol, func(string) []string { return []string{""} })
	f(ErrServer, func(first string) []string {
		return []string{"r=" + nonce(first) + "x,s=MDEyMzQ1Njc=,i=4096", "v=AAAA"}
	})
	f(ErrProtocol, func(string) []string { return []string{strings.Repeat("x", MaxMessage)} })
}

func TestVerifierText(t *testing.T) {
	for _, mechanism := range []string{ScramSHA1, ScramSHA256, ScramSHA512} {
		v, err := NewVerifier(mechanism, "secret", minIterations)
		if err != nil {
			t.Fatal(err)
		}
		w, err := ParseVerifier(v.String())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(v, w); diff != "" {
			t.Errorf("%s: (-made +read)\n%s", mechanism, diff)
		}
		if !w.Matches("secret") || w.Matches("Secret") {
			t.Errorf("%s: does not tell passwords apart", mechanism)
		}
	}
	good, _ := NewVerifier(ScramSHA256, "secret", minIterations)
	for _, bad := range []string{
		"", "x", strings.Replace(good.String(), "256", "224", 1), strings.Replace(good.String(), "$4096", "$1", 1),
		strings.Replace(good.String(), "$4096", "$99999999", 1), good.String() + "x", strings.Replace(good.String(), ":", "", 1),
		strings.TrimSuffix(good.String(), "=")[:60],
	} {
		if v, err := ParseVerifier(bad); err == nil {
			t.Errorf("%q is read as %+v", bad, v)
		}
	}
}

func TestUsersFile(t *testing.T) {
	a, _ := NewVerifier(ScramSHA256, "one", minIterations)
	b, _ := NewVerifier(ScramSHA512, "two", minIterations)
	text := fmt.Sprintf("# who may come\n\ntux %v %v\n  eve\t%v\n", a, b, b)
	users, err := ParseUsers(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Users{"tux": {a, b}, "eve": {b}}, users); diff != "" {
		t.Error(diff)
	}
	var out strings.Builder
	if err := users.Write(&out); err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf("eve %v\ntux %v %v\n", b, a, b); out.String() != want {
		t.Errorf("written as\n%s\nwant\n%s", &out, want)
	}
	for _, bad := range []string{
		"tux", "tux " + a.String() + "x", "tux " + a.String() + "\ntux " + b.String(), "-x " + a.String(), "a,b " + a.String(),
		"tux" + strings.Repeat(" "+a.String(), maxVerifiers+1), strings.Repeat("x", maxUserLine+1),
	} {
		if _, err := ParseUsers(strings.NewReader(bad)); err == nil || !strings.Contains(err.Error(), "line ") {
			t.Errorf("%.60q: %v, want an error that names the line", bad, err)
		}
	}
}

func TestConf(t *testing.T) {
	c, err := ParseConf(strings.NewReader("# x\nmech_list: plain Scram-SHA-256,gssapi\nsasldb_path:/etc/pcp/passwd.db\n pwcheck_method : saslauthd auxprop\nlog_level: 3\n"))
	want := Conf{Mechanisms: []string{"PLAIN", "SCRAM-SHA-256", "GSSAPI"}, Database: "/etc/pcp/passwd.db", CheckMethods: []string{"saslauthd", "auxprop"}}
	if diff := cmp.Diff(want, c); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	if _, err := ParseConf(strings.NewReader("mech_list: plain\nnonsense\n")); err == nil || !strings.Contains(err.Error(), "line 2") {
		t.Errorf("nonsense: %v", err)
	}
}
