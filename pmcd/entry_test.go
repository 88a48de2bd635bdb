package pmcd

import (
	"crypto/tls"
	"testing"

	"github.com/go-pcp/pcp/pmcd/access"
	"github.com/go-pcp/pcp/wire"
)

func TestEntry(t *testing.T) {
	secure := wire.FeatureSecure | wire.FeatureSecureAck
	f := func(cfg Config, features, wanted wire.Features, tlsAuth tls.ClientAuthType) {
		t.Helper()
		cfg.Access = access.Default()
		var e entry
		e.init(&cfg)
		if got := e.features(); got != features {
			t.Errorf("features are %v, want %v", got, features)
		}
		got := e.tlsFor(wanted)
		if (got == nil) != (cfg.TLS == nil) || got != nil && got.ClientAuth != tlsAuth {
			t.Errorf("TLS for %v is %v", wanted, got)
		}
	}
	f(Config{}, 0, wire.FeatureSecure|wire.FeatureCertReqd, 0)
	f(Config{RequireCreds: true}, wire.FeatureCredsReqd, 0, 0)
	f(Config{TLS: new(tls.Config)}, secure, wire.FeatureSecure, tls.NoClientCert)
	f(Config{TLS: new(tls.Config)}, secure, wire.FeatureSecure|wire.FeatureCertReqd, tls.RequireAndVerifyClientCert)
	f(Config{TLS: new(tls.Config), RequireClientCert: true}, secure|wire.FeatureCertReqd, wire.FeatureSecure, tls.RequireAndVerifyClientCert)
}
