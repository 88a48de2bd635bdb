package pmcd_test

import (
	"bytes"
	"io"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/daemonlog"
	"github.com/go-pcp/pcp/pmcd"
	"github.com/go-pcp/pcp/wire"
)

// What the first byte of a conversation decides on.
const (
	offersTLS = 1 << iota
	offersAuth
	wantsCreds
	wantsCert
)

// FuzzConversation has a client send arbitrary bytes from its first byte on, and
// then nothing for a minute, to servers that offer and demand features selected
// by the first byte. It can read the server's replies, as long as it has not
// begun TLS. It causes at most a few lines in the log, and cannot forge any.
// Another client is served, and nothing is left when the client is gone.
func FuzzConversation(f *testing.F) {
	w := newTLSWorld(f)
	auth := accounts(f)
	creds := func(flags wire.Features) wire.PDU {
		return &wire.Creds{Creds: []wire.Cred{wire.VersionCred(wire.PDUVersion, flags)}}
	}
	attr := func(text string) wire.PDU { return &wire.Attr{Value: []byte(text)} }
	add := func(first byte, pdus ...wire.PDU) {
		b := []byte{first}
		for _, p := range pdus {
			b = wire.Append(b, 0, p)
		}
		f.Add(b)
	}
	fetch := &wire.Fetch{HighRes: true, PMIDs: []pcp.PMID{pcp.NewPMID(301, 0, 5)}}
	add(0, creds(0), &wire.Profile{}, fetch, &wire.DescReq{PMID: fetch.PMIDs[0]}, fetch)
	add(0, creds(0), &wire.Profile{}, creds(0), fetch, creds(wire.FeatureSecure))
	add(0, creds(wire.FeatureContainer), &wire.Attr{Attr: wire.AttrContainer, Value: []byte("box")}, fetch)
	add(0, &wire.Error{Code: pcp.ErrNotConn})
	add(offersAuth, creds(wire.FeatureAuth), attr("PLAIN\x00\x00tux\x00x"), &wire.Profile{}, fetch)
	add(offersAuth, creds(wire.FeatureAuth), attr("PLAIN\x00\x00"+me(f)+"\x00"+me(f)), &wire.Profile{}, fetch, creds(wire.FeatureAuth), attr("PLAIN"))
	add(offersAuth, creds(wire.FeatureAuth), attr("SCRAM-SHA-256\x00n,,n=tux,r=abcdefgh"), attr("c=biws,r=abcdefgh,p=AAAA"))
	add(offersAuth|wantsCreds, creds(0), &wire.Profile{}, fetch)
	add(offersTLS|wantsCert, creds(0), &wire.Profile{}, fetch)
	hello := []byte("\x16\x03\x01\x00\x2f\x01\x00\x00\x2b\x03\x03" + strings.Repeat("r", 32) + "\x00\x00\x04\xc0\x2b\x13\x01\x01\x00")
	for _, flags := range []wire.Features{wire.FeatureSecure, wire.FeatureSecure | wire.FeatureSecureAck, wire.FeatureSecure | wire.FeatureCertReqd | wire.FeatureAuth} {
		f.Add(append(wire.Append([]byte{offersTLS | offersAuth}, 0, creds(flags)), hello...))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) == 0 {
			return
		}
		first, said := b[0], b[1:]
		var log bytes.Buffer
		var cfg pmcd.Config
		cfg.Log = slog.New(daemonlog.NewHandler(&log, "pmcd", slog.LevelInfo))
		if first&offersTLS != 0 {
			cfg.TLS, cfg.RequireClientCert = w.server, first&wantsCert != 0
		}
		if first&offersAuth != 0 {
			cfg.Auth, cfg.RequireCreds = auth, first&wantsCreds != 0
		}
		inBubble(t, cfg, func(t *testing.T, connect func() *rawClient) {
			c := connect()
			var told bytes.Buffer
			heard := make(chan struct{})
			go func() {
				defer close(heard)
				io.Copy(&told, c.conn)
			}()
			go c.conn.Write(said) // until the server does not take any more
			time.Sleep(time.Minute)
			if cfg.RequireCreds || cfg.RequireClientCert {
				other := connect()
				other.greet()
				other.conn.Close()
			} else {
				other := connect()
				other.greet()
				other.send(creds(0))
				if res := other.fetch(fetch.PMIDs[0]); len(res.Sets) != 1 || len(res.Sets[0].Values) != 1 {
					t.Errorf("another client gets %+v", res.Sets)
				}
				other.conn.Close()
			}
			c.conn.Close()
			<-heard
			synctest.Wait()
			r := wire.NewReader(&told)
			r.Max = wire.MaxPDU
			for cfg.TLS == nil {
				h, body, err := r.Next()
				if err == io.EOF {
					break
				}
				if err == nil {
					_, err = wire.Decode(h, body)
				}
				if err != nil {
					t.Errorf("the client is told a %v PDU: %v", h.Type, err)
					break
				}
			}
		})
		lines := strings.Split(strings.TrimSuffix(log.String(), "\n"), "\n")
		if len(lines) > 8 {
			t.Errorf("%d lines of the log", len(lines))
		}
		for _, line := range lines {
			if line != "" && !strings.HasPrefix(line, "[") || strings.ContainsAny(line, "\x00\x1b\r") {
				t.Errorf("the client writes into the log: %q", line)
			}
		}
	})
}
