package conf

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/go-pcp/pcp"
)

// TestParse reads each setting.
func TestParse(t *testing.T) {
	f := func(text string, want File) {
		t.Helper()
		got, err := Parse([]byte(text))
		if err != nil {
			t.Errorf("%q: %v", text, err)
			return
		}
		if diff := cmp.Diff(&want, got, cmpopts.IgnoreUnexported(File{})); diff != "" {
			t.Errorf("%q: -want +got\n%s", text, diff)
		}
	}
	f("", File{})
	f("# x\n; y\n\n[pmproxy]\n", File{})
	f("\ufeff[pmproxy]\r\npcp.enabled = false ; why\r\nhttp.enabled: false\nsecure.enabled=false", File{NoPCP: true, NoHTTP: true, NoSecure: true})
	f("[pmproxy]\npcp.enabled = false\npcp.enabled = true", File{})
	f("[pmproxy]\nkeepalive = 30\nmaxclients = 5\nhttp.maxbody = 100", File{KeepAlive: 30 * time.Second, MaxClients: 5, MaxBody: 100})
	f("[pmproxy]\nmaxpending = 7", File{MaxPending: 7})
	f("[pmproxy]\nkeepalive = 0", File{KeepAlive: -1})
	f("[pmproxy]\ncertificates = a\nprivate_key = b\nauthority = c\ncipher_list = d\ncipher_suites = e:f",
		File{Certificates: "a", PrivateKey: "b", Authority: "c", CipherList: "d", CipherSuites: "e:f"})
	f("[pmproxy]\npcp.hosts = a, b:1,,\nhttp.hosts = x\nhttp.headers = X-A\nhttp.tokens = /t\nhttp.auth = required\nhttp.trust = none\nhttp.sockets = anybody",
		File{Collectors: []string{"a", "b:1"}, Hosts: []string{"x"}, Headers: []string{"X-A"}, Tokens: "/t", RequireAuth: true, DistrustLocal: true, LendRights: true})
	f("[pmproxy]\nredis.enabled = false\nhttp.auth = optional\nhttp.trust = local\nhttp.sockets = authorised", File{})
	f("[pmproxy]\nredis.enabled = true\n[redis]\nenabled = true\nservers = a:1, b:2\n[pmseries]\nservers = c:3", File{ForwardKeys: true, KeyServers: []string{"a:1", "b:2"}})
	f("[pmseries]\nenabled = false\ncolumns = false\nservers = c:3\n[pmsearch]\nenabled = false\ncount = 20\n[discover]\nenabled = false\n[pmlogger]\nenabled = false\nauthenticate = false\nhosts = a, b*\ntimeout = 1500",
		File{NoPush: true, PushAnybody: true, PushHosts: []string{"a", "b*"}, PushTimeout: 1500 * time.Millisecond, NoSeries: true, NoColumns: true, NoSearch: true, NoDiscover: true, SearchCount: 20, KeyServers: []string{"c:3"}})
	f("[pmlogger]\nquota = 10GB\nkeep = 30", File{PushQuota: 10 << 30, PushKeep: 30 * 24 * time.Hour})
	f("[pmseries]\nauth.username = a\nauth.password = b\nservers = c:1\nstream.maxlen = 100\nstream.expire = 60\ncursor.count = 10\n[resp]\nenabled = false",
		File{KeyUser: "a", KeyPassword: "b", KeyServers: []string{"c:1"}, KeyMaxLen: 100, KeyExpire: time.Minute, KeyCount: 10, NoKeys: true})
	f("[keys]\nusername = a\npassword = b\nservers = c:1, d:2\n[redis]\nusername = x\npassword = y\nservers = z:1\n[pmseries]\nauth.username = x",
		File{KeyUser: "a", KeyPassword: "b", KeyServers: []string{"c:1", "d:2"}})
	f("[redis]\nusername = a\nusername = b\nenabled = false", File{KeyUser: "b", NoKeys: true})
	f("[discover]\nexclude.metrics = a.*, b\nexclude.indoms = 3.9", File{ExcludeMetrics: []string{"a.*", "b"}, ExcludeInDoms: []pcp.InDom{pcp.NewInDom(3, 9)}})
	f("[discover]\nexclude.metrics =\nexclude.indoms =", File{ExcludeMetrics: []string{}, ExcludeInDoms: []pcp.InDom{}})
	f("[pmseries]\nengine = http://a:1,http://b:2\nengine.token = /t\n", File{Engine: map[string]string{"engine": "http://a:1,http://b:2", "engine.token": "/t"}})
	f("[pmseries]\na = b\n[discover]\nfoo = bar\n[pmlogger]\ncached = true\n[other]\na = b\n[pmproxy]\nchunksize = 1\nfoo = bar", File{Notes: []string{
		"a of [pmseries] is ignored: no such setting is known",
		"foo of [discover] is ignored: no such setting is known",
		"cached of [pmlogger] is ignored: what is pushed to this server it keeps in archives",
		"[other] is ignored: no such section is known",
		"chunksize is ignored: answers are sent in pieces as they come",
		"foo of [pmproxy] is ignored: no such setting is known",
	}})
}

// TestErrors checks that errors name the line.
func TestErrors(t *testing.T) {
	for text, want := range map[string]string{
		"[pmproxy":                               "line 1: no ]",
		"\nword":                                 "line 2: want",
		"= x":                                    "line 1: want",
		"[pmproxy]\nredis.enabled = 1":           `line 2: redis.enabled is "1"`,
		"[pmsearch]\ncount = x":                  "line 2",
		"[pmseries]\nstream.maxlen = 0":          "line 2: stream.maxlen: 0 would",
		"[pmseries]\nstream.expire = 0":          "line 2: stream.expire: 0 would",
		"[keys]\nenabled = 1":                    `line 2: enabled is "1"`,
		"[discover]\nexclude.indoms = x":         `line 2: exclude.indoms: "x" is not`,
		"[pmseries]\nenabled = x":                "line 2",
		"[pmproxy]\npcp.enabled = maybe":         `line 2: pcp.enabled is "maybe"`,
		"[pmproxy]\nkeepalive = -1":              `line 2: keepalive is "-1"`,
		"[pmproxy]\nkeepalive = x":               "line 2",
		"[pmproxy]\nmaxclients = 0":              "line 2",
		"[pmproxy]\nhttp.maxbody = 0":            "line 2",
		"[pmproxy]\nhttp.auth = yes":             "want optional or required",
		"[pmproxy]\nhttp.trust = all":            "want local or none",
		"[pmproxy]\nhttp.sockets = local":        "want authorised or anybody",
		strings.Repeat("#", MaxSize+1):           "more than",
		"[pmproxy]\nhttp.maxbody = 9e9":          "line 2",
		"[pmproxy]\nmaxclients = 99999999999999": "line 2",
	} {
		if _, err := Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v, want %q", text, err, want)
		}
	}
	path := filepath.Join(t.TempDir(), "pmproxy.conf")
	if _, err := ReadFile(path); err == nil {
		t.Error("a file that is not there is read")
	}
	if err := os.WriteFile(path, []byte("[x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadFile(path); err == nil || !strings.Contains(err.Error(), path+": line 1") {
		t.Errorf("%v", err)
	}
}

// FuzzParse parses arbitrary text.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"[pmproxy]\npcp.enabled = true\n", "[redis]\nservers = localhost:6379\n", "a = b ; c\n", "[", "\ufeff="} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		file, err := Parse(text)
		if (file == nil) == (err == nil) {
			t.Errorf("%v, %v", file, err)
		}
	})
}

// TestParseSize parses sizes.
func TestParseSize(t *testing.T) {
	for text, want := range map[string]int64{"1": 1, "500mb": 500 << 20, "10Gb": 10 << 30, "3kb": 3 << 10, "2tb": 2 << 40, "": 0, "0": 0, "-1gb": 0, "gb": 0, "1x": 0, "9999999999tb": 0} {
		if n, err := ParseSize(text); n != want || (err == nil) != (want > 0) {
			t.Errorf("%q: %d, %v", text, n, err)
		}
	}
}
