package pmproxy

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/pmproxy/internal/rest"
)

// pagePath is where a browser shows the token of the page, and asks whether it is known.
const pagePath = "/-/page"

// PageHeader is the header in which the page sends its key.
const PageHeader = "X-PCP-Page"

const (
	minPageToken = 16
	pageLife     = 30 * 24 * time.Hour // of the cookie
	pageUser     = "page"              // what handlers know such clients as
)

// A pageAccess knows the browser of the user who has the token of the page.
//
// It is known by two things, neither of which is the token. They are of one run of the server: while there is none,
// another user of the machine may serve its port, and is sent both by a page that is still open. The cookie is out of the reach of
// scripts, but browsers send it to all ports of a host, so that a server of another
// user of the machine could see it. The key is kept by the page, whose storage belongs to
// one port, and cannot be had by a server on another one.
type pageAccess struct {
	token  [sha256.Size]byte
	secret string // the token, to hide it
	cookie string // its name
	value  string
	key    string
}

func newPageAccess(token string) (*pageAccess, error) {
	if token == "" {
		return nil, nil
	}
	if len(token) < minPageToken {
		return nil, fmt.Errorf("the token of the page has %d bytes, want at least %d", len(token), minPageToken)
	}
	of := func(key []byte, what string) string {
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(what))
		return hex.EncodeToString(mac.Sum(nil))
	}
	run := make([]byte, sha256.Size)
	rand.Read(run)
	return &pageAccess{
		token:  sha256.Sum256([]byte(token)),
		secret: token,
		cookie: "pcp-page-" + of([]byte(token), "name")[:8], // servers on other ports have theirs
		value:  of(run, "cookie"), key: of(run, "key"),
	}, nil
}

// hide returns a URL, for the log, without the token.
func (p *pageAccess) hide(url string) string {
	if p == nil {
		return url
	}
	return strings.ReplaceAll(url, p.secret, "***")
}

func same(a, b string) bool {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1
}

// bearer returns the token that a request shows.
func bearer(r *http.Request) string {
	scheme, value, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(value)
}

// holds reports whether a request shows the token itself.
func (p *pageAccess) holds(r *http.Request) bool {
	digest := sha256.Sum256([]byte(bearer(r)))
	return subtle.ConstantTimeCompare(digest[:], p.token[:]) == 1
}

// knows reports whether a request is of the user who has the token: it shows that, or
// what the page was given for it.
func (p *pageAccess) knows(r *http.Request) bool {
	if p == nil || crossSite(r) {
		return false
	}
	if p.holds(r) {
		return true
	}
	c, err := r.Cookie(p.cookie)
	value := ""
	if err == nil {
		value = c.Value
	}
	return same(value, p.value) && same(r.Header.Get(PageHeader), p.key)
}

var errBadToken = errors.New("that is not the token of this page, which may have started anew since: open the address that it prints now")

// page answers a browser that shows its token or asks whether it is known.
func (w *web) page(c *conn, out *response, r *http.Request) {
	out.Header().Set("Cache-Control", "no-store")
	switch {
	case r.Method == http.MethodGet:
		rest.Send(out, http.StatusOK, rest.TypeJSON, fmt.Appendf(nil, "{\"known\":%v,\"success\":true}\r\n", w.access.knows(r)))
	case r.Method != http.MethodPost:
		out.Header().Set("Allow", "GET, POST")
		rest.Fail(out, http.StatusMethodNotAllowed, "want GET or POST")
	case crossSite(r):
		w.s.stats.denied.Inc()
		rest.Fail(out, http.StatusForbidden, "a page of another origin cannot do this")
	case !w.access.holds(r):
		w.s.stats.denied.Inc()
		w.s.lines.log(w.s.log, slog.LevelWarn, "wrong token for the page")
		select { // makes guessing slow
		case <-time.After(refusalPause):
		case <-r.Context().Done():
		case <-w.s.closing:
		}
		rest.Fail(out, http.StatusForbidden, errBadToken.Error())
	default:
		http.SetCookie(out, &http.Cookie{
			Name: w.access.cookie, Value: w.access.value, Path: "/", MaxAge: int(pageLife.Seconds()),
			HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: c.tls != nil,
		})
		rest.Send(out, http.StatusOK, rest.TypeJSON, fmt.Appendf(nil, "{\"key\":\"%s\",\"success\":true}\r\n", w.access.key))
	}
}
