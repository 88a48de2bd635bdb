package rest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestParams reads parameters as pmproxy does.
func TestParams(t *testing.T) {
	for _, c := range []struct{ query, want string }{
		{"", ""},
		{"a=1&b=2", "a=1 b=2"},
		{"a=1&a=2", "a=1 a=2"},
		{"a&b=", "a= b="},
		{"=x&&a=1=2", "a=1=2"},
		{"a=x+y", "a=x y"},
		{"a=x%20y%2Bz", "a=x y+z"},
		{"a%3db=c", "a=b=c"},
		{"a=x%00y", "a=x"},
	} {
		p, err := ParseParams(c.query)
		if err != nil {
			t.Errorf("%q: %v", c.query, err)
		}
		var got []string
		for _, q := range p.list {
			got = append(got, q.name+"="+q.value)
		}
		if s := strings.Join(got, " "); s != c.want || p.Len() != len(got) {
			t.Errorf("%q: %q, want %q", c.query, s, c.want)
		}
	}
	for _, bad := range []string{"a=%", "a=%4", "a=%zz", "%g0=1", "a=1&b=%4x"} {
		if p, err := ParseParams(bad); !errors.Is(err, ErrQuery) || p.Len() != 0 {
			t.Errorf("%q: %v, %v", bad, p, err)
		}
	}
	p, _ := ParseParams("a=1&a=2&b")
	q, _ := ParseParams("c=3&a=4")
	j := p.Join(q)
	if v, ok := j.Get("b"); j.Value("a") != "1" || j.Value("c") != "3" || v != "" || !ok || j.Len() != 5 || p.Len() != 3 {
		t.Errorf("joined: %v", j)
	}
	if _, ok := j.Get("d"); ok {
		t.Error("there is a parameter that nobody gave")
	}
}

// TestString compares JSON strings with those of encoding/json.
func TestString(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"", `""`},
		{"kernel.all.load", `"kernel.all.load"`},
		{"a\"b\\c\n\x00\x7f", `"a\u0022b\u005Cc\u000A\u0000\u007F"`},
		{"Grüße €", `"Grüße €"`},
		{"a\xffb\xc3", `"a\uFFFDb\uFFFD"`},
		{"\u2028", `"\u2028"`},
		{"\ufffd", "\"\ufffd\""},
	} {
		if got := string(AppendString(nil, c.in)); got != c.want {
			t.Errorf("%q: %s, want %s", c.in, got, c.want)
		}
	}
}

// TestReplies compares error replies.
func TestReplies(t *testing.T) {
	w := httptest.NewRecorder()
	Fail(w, 403, `no "x"`)
	if got := fmt.Sprint(w.Code, w.Header(), w.Body); got != `403 map[Content-Length:[48] Content-Type:[application/json]] {"message":"no \u0022x\u0022","success":false}`+"\r\n" {
		t.Errorf("%q", got)
	}
	w = httptest.NewRecorder()
	Refuse(w, "webapi", "<script>")
	if w.Code != 400 || w.Header().Get("Content-Type") != TypeHTML || !strings.Contains(w.Body.String(), "<b>webapi servlet</b>: &lt;script&gt;") {
		t.Errorf("%v %q", w.Code, w.Body)
	}
}

// TestPeer finds the peer in a context.
func TestPeer(t *testing.T) {
	if p := PeerOf(context.Background()); p != (Peer{}) {
		t.Errorf("without a peer: %+v", p)
	}
	want := Peer{Local: true, User: "tom", Address: "::1"}
	if p := PeerOf(WithPeer(context.Background(), &want)); p != want {
		t.Errorf("%+v", p)
	}
}

// FuzzParams parses any parameters, and compares with net/url if that accepts them too.
func FuzzParams(f *testing.F) {
	for _, s := range []string{"a=1&b=2", "a=%41&=", "a=%zz", "%00=1", "a+b=+"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, query string) {
		p, err := ParseParams(query)
		u, uerr := url.ParseQuery(query)
		if err != nil || uerr != nil || strings.Contains(query, "%00") || strings.ContainsAny(query, ";\x00") {
			return
		}
		for _, q := range p.list {
			if v := u[q.name]; len(v) == 0 || p.Value(q.name) != v[0] {
				t.Errorf("%q: %q is %q, %q", query, q.name, p.Value(q.name), v)
			}
		}
	})
}

// FuzzString checks that encoding/json reads written strings back.
func FuzzString(f *testing.F) {
	for _, s := range []string{"", "a\"\\\n", "Grüße\xff\u2028", "\x7f"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var back string
		if err := json.Unmarshal(AppendString(nil, s), &back); err != nil {
			t.Fatalf("%q: %v", s, err)
		}
		if utf8.ValidString(s) && back != s || !utf8.ValidString(s) && back != string([]rune(s)) {
			t.Errorf("%q came back as %q", s, back)
		}
	})
}
