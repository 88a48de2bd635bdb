package sasl

import (
	"bytes"
	"strings"
	"testing"
)

func FuzzReadDatabase(f *testing.F) {
	good := sampleDatabase(f)
	f.Add(good)
	f.Add(good[:600])
	small := bytes.Clone(good[:512])
	small[20], small[21] = 0, 2
	f.Add(append(small, good[4096:4096+512]...))
	f.Fuzz(func(t *testing.T, b []byte) {
		db, err := ReadDatabase(bytes.NewReader(b))
		if err != nil {
			return
		}
		size := 0
		for key, password := range db {
			size += len(key.User) + len(key.Realm) + len(password)
		}
		// Items may overlap between pages, but not within one.
		if size > len(b) {
			t.Errorf("%d bytes of accounts from %d bytes", size, len(b))
		}
	})
}

func FuzzParseUsers(f *testing.F) {
	v, _ := NewVerifier(ScramSHA1, "secret", minIterations)
	f.Add("tux " + v.String() + "\n# eve\n")
	f.Add("tux SCRAM-SHA-256$4096:$:\n")
	f.Add("a\x00b " + v.String())
	f.Fuzz(func(t *testing.T, text string) {
		users, err := ParseUsers(strings.NewReader(text))
		if err != nil {
			return
		}
		var out strings.Builder
		if err := users.Write(&out); err != nil {
			t.Fatal(err)
		}
		again, err := ParseUsers(strings.NewReader(out.String()))
		if err != nil || len(again) != len(users) {
			t.Errorf("%q is written as %q: %v", text, &out, err)
		}
	})
}

func FuzzParseConf(f *testing.F) {
	f.Add("mech_list: plain\nsasldb_path: /x\n#\n")
	f.Fuzz(func(t *testing.T, text string) { ParseConf(strings.NewReader(text)) })
}

// FuzzServer sends arbitrary messages, which must never authenticate anybody.
func FuzzServer(f *testing.F) {
	f.Add([]byte("PLAIN\x00\x00tux\x00wrong"), []byte(""), []byte(""))
	f.Add([]byte("LOGIN"), []byte("tux"), []byte("wrong"))
	f.Add([]byte("SCRAM-SHA-256\x00n,,n=tux,r=abcdefgh"), []byte("c=biws,r=abcdefgh,p=AAAA"), []byte(""))
	accounts := fixedBook{}
	accounts.v, _ = NewVerifier(ScramSHA256, "a password that is not found", minIterations)
	f.Fuzz(func(t *testing.T, first, second, third []byte) {
		s, err := NewServer(Known(), accounts, first)
		if err != nil {
			return
		}
		_, err = s.Start()
		for _, m := range [][]byte{second, third} {
			if err == nil && !s.Done() {
				_, err = s.Step(m)
			}
		}
		if s.Done() {
			t.Errorf("%q %q %q make a user of %q", first, second, third, s.User())
		}
	})
}

// FuzzClient has a server send arbitrary challenges, which must never
// authenticate it.
func FuzzClient(f *testing.F) {
	f.Add([]byte("r=x,s=MDEyMzQ1Njc=,i=4096"), []byte("v=AAAA"))
	f.Add([]byte("e=other-error"), []byte(""))
	f.Fuzz(func(t *testing.T, first, second []byte) {
		c, err := NewClient(ScramSHA256, "tux", "secret")
		if err != nil {
			t.Fatal(err)
		}
		for _, ch := range [][]byte{first, second} {
			if _, err := c.Step(ch); err != nil {
				return
			}
		}
		if c.Done() {
			t.Errorf("%q %q convince the client", first, second)
		}
	})
}

type fixedBook struct{ v Verifier }

func (b fixedBook) Verifier(string, string) (Verifier, error) { return b.v, nil }
func (fixedBook) CheckPassword(string, string) error          { return ErrAuth }
