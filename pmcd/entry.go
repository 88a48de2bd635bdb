package pmcd

import (
	"crypto/tls"
	"sync/atomic"

	"github.com/go-pcp/pcp/pmcd/access"
	"github.com/go-pcp/pcp/wire"
)

// An entry is what clients need to come in: TLS, authentication and access rules. Only the rules
// change, as a whole.
type entry struct {
	tls          *tls.Config
	tlsInsistent *tls.Config // tls for clients that must present a certificate
	requireCert  bool
	auth         access.Authenticator
	requireCreds bool
	rules        atomic.Pointer[access.Rules]
	brake        brake // for authentication
}

// init takes over the configuration.
func (e *entry) init(cfg *Config) {
	e.tls, e.tlsInsistent = cfg.TLS, insistent(cfg.TLS)
	e.requireCert, e.requireCreds, e.auth = cfg.RequireClientCert, cfg.RequireCreds, cfg.Auth
	e.rules.Store(cfg.Access)
}

// features returns the features by which a server offers or requires TLS and authentication.
func (e *entry) features() wire.Features {
	var f wire.Features
	if e.tls != nil {
		f |= wire.FeatureSecure | wire.FeatureSecureAck
	}
	if e.requireCert {
		f |= wire.FeatureCertReqd
	}
	if e.auth != nil {
		f |= wire.FeatureAuth
	}
	if e.credsRequired() {
		f |= wire.FeatureCredsReqd
	}
	return f
}

// credsRequired reports whether clients must identify themselves.
func (e *entry) credsRequired() bool { return e.requireCreds || e.rules.Load().NeedUsers() }

// tlsFor returns the configuration for a client that wants TLS with these features, nil if it
// was not offered.
func (e *entry) tlsFor(wanted wire.Features) *tls.Config {
	if e.requireCert || wanted&wire.FeatureCertReqd != 0 {
		return e.tlsInsistent
	}
	return e.tls
}
