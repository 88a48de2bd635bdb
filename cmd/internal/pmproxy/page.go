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

// pagePath is the path where a browser presents the page's token, and asks whether it is recognised.
const pagePath = "/-/page"

// PageHeader is the header in which the page sends its key.
const PageHeader = "X-PCP-Page"

const (
	minPageToken = 16
	pageLife     = 30 * 24 * time.Hour // lifetime of the cookie
	pageUser     = "page"              // user name of such clients in handlers
)

// A pageAccess recognises the browser of the user with the page's token.
//
// It recognises a browser by a cookie and a key, neither of which is the token. Both are valid for one run of the
// server: after it stops, a server of another user of the machine may listen on its port and receive both from a page
// that is still open. Scripts cannot read the cookie, but browsers send it to all ports of a host, where a server of
// another user could see it. The page keeps the key in its storage, which belongs to one port and cannot be read by a
// server on another port.
type pageAccess struct {
	token  [sha256.Size]byte
	secret string // the token, for hide to remove
	cookie string // name of the cookie
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
		cookie: "pcp-page-" + of([]byte(token), "name")[:8], // servers on other ports have their own cookies
		value:  of(run, "cookie"), key: of(run, "key"),
	}, nil
}

// hide returns a URL for the log, with the token removed.
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

// bearer returns the token of a request.
func bearer(r *http.Request) string {
	scheme, value, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(value)
}

// holds reports whether a request has the token itself.
func (p *pageAccess) holds(r *http.Request) bool {
	digest := sha256.Sum256([]byte(bearer(r)))
	return subtle.ConstantTimeCompare(digest[:], p.token[:]) == 1
}

// knows reports whether a request is from the user with the token: it has the token
// itself, or the cookie and the key that the page was given.
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

var errBadToken = errors.New("that is not the token of this page, which may have been restarted: open the address that it prints now")

// page answers a browser that presents its token or asks whether it is recognised.
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
