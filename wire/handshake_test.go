package wire_test

import (
	"fmt"
	"testing"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/wire"
)

func TestInfo(t *testing.T) {
	// The features that pmcd 6.0.3 offers, without and with a required certificate.
	f := func(w uint32, want wire.Info, features string) {
		t.Helper()
		got := wire.UnpackInfo(w)
		if got != want || got.Features.String() != features {
			t.Errorf("UnpackInfo(%#x) = %+v", w, got)
		}
		if back := got.Pack(); back != w {
			t.Errorf("%+v packs to %#x, want %#x", got, back, w)
		}
	}
	std := wire.FeatureAuth | wire.FeatureContainer | wire.FeatureLabels | wire.FeatureHighRes | wire.FeatureDescs
	f(0x02010e44, wire.Info{Version: 2, Licensed: 1, Features: std}, "AUTH|CONTAINER|LABELS|HIGHRES|DESCS")
	f(0x02010ec4, wire.Info{Version: 2, Licensed: 1, Features: std | wire.FeatureCertReqd}, "AUTH|CONTAINER|CERT_REQD|LABELS|HIGHRES|DESCS")
	f(0, wire.Info{}, "none")
	f(0x7fffffff, wire.Info{Version: 127, Licensed: 255, Features: 0xffff},
		"SECURE|COMPRESS|AUTH|CREDS_REQD|SECURE_ACK|NO_NSS_INIT|CONTAINER|CERT_REQD|BAD_LABEL|LABELS|HIGHRES|DESCS|1<<12|1<<13|1<<14|1<<15")
}

func TestVersionCred(t *testing.T) {
	p := &wire.Creds{Creds: []wire.Cred{{Type: 9, A: 9}, wire.VersionCred(wire.PDUVersion, wire.FeatureHighRes|wire.FeatureAuth)}}
	if got := fmt.Sprintf("%x", wire.AppendBody(p)); got != "000000020909000001020404" {
		t.Errorf("encoded as %s", got)
	}
	version, features, ok := p.Version()
	if version != 2 || features != wire.FeatureHighRes|wire.FeatureAuth || !ok {
		t.Errorf("Version() = %d, %v, %t", version, features, ok)
	}
	if _, _, ok := (&wire.Creds{Creds: p.Creds[:1]}).Version(); ok {
		t.Error("a version found where there is none")
	}
}

// TestErrorNumbering checks that only a greeting uses the status codes of
// protocol version 1.
func TestErrorNumbering(t *testing.T) {
	f := func(p wire.Error, want string) {
		t.Helper()
		body := wire.AppendBody(&p)
		if got := fmt.Sprintf("%x", body); got != want {
			t.Errorf("%+v encodes as %s, want %s", p, got, want)
		}
		var q wire.Error
		if err := q.DecodeBody(body); err != nil || q != p {
			t.Errorf("%s decodes as %+v, %v, want %+v", want, q, err, p)
		}
	}
	f(wire.Error{Code: pcp.ErrPermission}, "ffffcf9d")
	f(wire.Error{Code: pcp.ErrPermission, Extended: true}, "fffffbee00000000")
	f(wire.Error{Code: 0, Extended: true, Info: 0x02010e44}, "0000000002010e44")
	f(wire.Error{Code: -2, Extended: true}, "fffffffe00000000")
	f(wire.Error{Code: 5}, "00000005")
	// A greeting in the current numbering is accepted.
	var q wire.Error
	if err := q.DecodeBody(words(0xffffcf9d, 0)); err != nil || q.Code != pcp.ErrPermission {
		t.Errorf("decoded as %d, %v", int32(q.Code), err)
	}
}

func TestTypeString(t *testing.T) {
	for typ := wire.TypeError; typ <= wire.TypeDescs; typ++ {
		p := wire.New(typ)
		switch typ {
		case wire.TypeControlReq, 0x700b:
			if p != nil {
				t.Errorf("New(%v) = %T, want nil", typ, p)
			}
			continue
		}
		if p == nil || p.Type() != typ {
			t.Errorf("New(%v) = %T", typ, p)
		}
		if s := typ.String(); s == fmt.Sprintf("TYPE-%d?", uint32(typ)) {
			t.Errorf("type %#x has no name", uint32(typ))
		}
	}
	if got := wire.Type(0xffffffff).String(); got != "TYPE--1?" {
		t.Errorf("unknown type prints as %s", got)
	}
}
