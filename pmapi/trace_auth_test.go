package pmapi

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/go-pcp/pcp/config"
	"github.com/go-pcp/pcp/debug"
	"github.com/go-pcp/pcp/internal/debugname"
	"github.com/go-pcp/pcp/internal/testing/tlstest"
	"github.com/go-pcp/pcp/wire"
)

// traceLogin returns the lines printed while a client of g connects.
func traceLogin(t *testing.T, spec string, g *guard, options ...string) string {
	t.Helper()
	var b bytes.Buffer
	d, done := g.dialer()
	d.Debug = debug.New(&b, options...)
	if c, err := d.Dial(t.Context(), spec); err == nil {
		c.Close()
	}
	<-done
	return b.String()
}

// TestTraceAuth checks the lines about authentication and attributes, and that they
// contain neither password nor proofs.
func TestTraceAuth(t *testing.T) {
	const from = "secureconnect.c:__pmAuthClientNegotiation"
	plain := func() *guard { return &guard{features: authFeatures, offer: "PLAIN SCRAM-SHA-256"} }
	f := func(got string, want ...string) {
		t.Helper()
		if diff := cmp.Diff(strings.Join(want, "\n")+"\n", got); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
	}
	f(traceLogin(t, "h?user=tux&pass=secret&method=plain", plain(), debugname.Auth, debugname.Attr),
		from+"(fd=-1, ssf=0, host=h)",
		from+` requesting "plain" method`,
		`__pmDecodeAttr [len=19]: payload="PLAIN SCRAM-SHA-256"`,
		from+` got methods: "PLAIN SCRAM-SHA-256" (19)`,
		`sasl_client_start chose "PLAIN" method, saslsts=ok`,
		`sasl_client_start sending (17 bytes) "PLAIN"`,
		`__pmSendAttr [len=17]: payload="PLAIN............"`,
		from+" success, username=tux")
	f(traceLogin(t, "h?user=tux&pass=secret&method=cram", plain(), debugname.Auth),
		from+"(fd=-1, ssf=0, host=h)",
		from+` requesting "cram" method`,
		from+` got methods: "PLAIN SCRAM-SHA-256" (19)`,
		"sasl_client_start failed: -21348 (Authentication - no mechanism available)")
	f(traceLogin(t, "h?container=web", plain(), debugname.Attr), `__pmSendAttr [len=3]: attr=0xf value="web"`)

	got := traceLogin(t, "h?user=tux&pass=secret&method=scram-sha-256", plain(), debugname.Auth, debugname.Attr)
	if !strings.Contains(got, from+" awaiting server reply\n") || !strings.Contains(got, from+" step send (") || !strings.Contains(got, from+" success, username=tux\n") {
		t.Errorf("steps are missing:\n%s", got)
	}
	for _, secret := range []string{"secret", "n=tux", "r=", "p=", "s=", "v="} {
		for line := range strings.Lines(got) {
			if strings.Contains(line, "payload=") && strings.Contains(line[strings.Index(line, "payload="):], secret) {
				t.Errorf("%q is printed: %s", secret, line)
			}
		}
	}
	if got := traceLogin(t, "h?user=tux&pass=wrong&method=plain", plain()); got != "" {
		t.Errorf("without options: %q", got)
	}
}

// TestTraceTLS checks that the result of a handshake is printed, or the reason of its
// failure.
func TestTraceTLS(t *testing.T) {
	cert := tlstest.NewCA(t, "CA").Cert(t, tlstest.Want{Hosts: []string{"127.0.0.1"}})
	addr := secureCollector(t, cert, secureAck, nil).listen(t)
	var b bytes.Buffer
	conf := tlstest.Conf(t)
	d := Dialer{Debug: debug.New(&b, debugname.TLS), Config: config.New(func(name string) string {
		if name == "PCP_TLSCONF_PATH" {
			return conf
		}
		return ""
	})}
	c, err := d.Dial(t.Context(), "pcps://"+addr)
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
	if !strings.Contains(b.String(), "\nTLS handshake: TLS 1.3, TLS_") || !strings.Contains(b.String(), ", certificate of \"") {
		t.Errorf("got:\n%s", b.String())
	}

	g := &guard{features: wire.FeatureSecure}
	got := traceLogin(t, "pcps://h", g, debugname.TLS)
	for _, want := range []string{
		"__pmSecureClientHandshake: entered\n", "__pmInitSecureClients: entered\n", "__pmInitSecureClients: complete\n",
		"__pmSecureClientIPCFlags: switching fd=-1 to TLS mode\n", "__pmSecureClientNegotiation: entered\n", "TLS handshake failed: ",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing:\n%s", want, got)
		}
	}
}
