package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"github.com/go-pcp/pcp/pmapi"
)

// Delay until a peer that has accepted but is silent is probed as a web server, and the time that
// it has to answer.
const (
	silence   = 700 * time.Millisecond
	webAnswer = 500 * time.Millisecond
)

// errWebServer means that a web server has answered: a web server sends nothing until a
// client asks.
var errWebServer = errors.New("a web server has this port")

// watchSilence returns a context for a connection whose attempts it watches. If whoever accepted it is silent, as a web
// server is until it is asked, and does speak HTTP, the context ends with errWebServer: without that the connection would
// only time out. A collector speaks first. Stop ends the watch.
func watchSilence(ctx context.Context, tried *attempts) (_ context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		t := time.NewTimer(silence)
		defer t.Stop()
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
		if a := tried.answered(); a != nil && a.network == "tcp" && speaksHTTP(ctx, a.address) {
			cancel(errWebServer)
		}
	}()
	return ctx, func() {
		cancel(nil)
		<-done
	}
}

// answered returns the last attempt that was accepted, if it is the last one of all.
func (a *attempts) answered() *attempt {
	a.mu.Lock()
	defer a.mu.Unlock()
	if n := len(a.list); n > 0 && a.list[n-1].err == nil {
		last := a.list[n-1]
		return &last
	}
	return nil
}

func speaksHTTP(ctx context.Context, address string) bool {
	d := net.Dialer{Timeout: webAnswer}
	conn, err := d.DialContext(ctx, "tcp", address)
	if err != nil {
		return false
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	conn.SetDeadline(time.Now().Add(webAnswer))
	if _, err := fmt.Fprintf(conn, "HEAD / HTTP/1.0\r\nHost: %s\r\n\r\n", address); err != nil {
		return false
	}
	var begin [5]byte
	_, err = io.ReadFull(conn, begin[:])
	return err == nil && strings.HasPrefix(string(begin[:]), "HTTP/")
}

// proxied reports whether the connection to a host goes by way of a pmproxy, which does speak HTTP.
func (o *Options) proxied(host string) bool {
	spec, err := pmapi.ParseHostSpec(host)
	return err != nil || len(spec.Hosts) > 1 || o.env.Getenv("PMPROXY_HOST") != ""
}
