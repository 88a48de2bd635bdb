package rest

import (
	"fmt"
	"html"
	"net/http"
	"net/url"
	"strconv"
	"unicode/utf8"

	"github.com/go-pcp/pcp/internal/version"
)

// Content types of replies.
const (
	TypeJSON = "application/json"
	TypeText = "text/plain"
	TypeHTML = "text/html"
	// TypeNone is the type of empty replies of /series.
	TypeNone = "application/octet-stream"
)

// Send sends a reply with a body, which is not modified.
func Send(w http.ResponseWriter, status int, contentType string, body []byte) {
	h := w.Header()
	h["Content-Type"] = []string{contentType}
	h["Content-Length"] = []string{strconv.Itoa(len(body))}
	w.WriteHeader(status)
	w.Write(body) // an error is the connection's, which net/http ends
}

// Fail sends an error as JSON: {"message":"…","success":false}.
func Fail(w http.ResponseWriter, status int, message string) {
	b := append(make([]byte, 0, 128), `{"message":`...)
	b = AppendString(b, message)
	b = append(b, ",\"success\":false}\r\n"...)
	Send(w, status, TypeJSON, b)
}

// Refuse sends status 400 and an HTML page for a bad URL or bad parameters, as
// pmproxy does for errors found while it parses the URL. The servlet is the
// name of the interface, such as "webapi".
func Refuse(w http.ResponseWriter, servlet, message string) {
	RefuseWith(w, http.StatusBadRequest, servlet, message)
}

// RefuseWith is Refuse with another status.
func RefuseWith(w http.ResponseWriter, status int, servlet, message string) {
	Send(w, status, TypeHTML, Page(fmt.Sprintf("%d %s", status, http.StatusText(status)), servlet, message))
}

// Page returns the HTML page of an error, laid out as in pmproxy (http.c: http_response_error).
func Page(title, servlet, message string) []byte {
	return fmt.Appendf(nil, "<html>\r\n<head><title>%s</title></head>\r\n<body>\r\n<h1>%s</h1>\r\n"+
		"<p><b>%s servlet</b>: %s</p><hr>\r\n<p><small><i>pmproxy/%s</i></small></p>\r\n</body>\r\n</html>\r\n",
		title, title, html.EscapeString(servlet), html.EscapeString(message), version.Number)
}

// AppendString appends s as a JSON string. Quotes, backslashes and control
// characters become \u00XX, as in pmproxy; other ASCII and valid UTF-8 are
// unchanged, and invalid bytes become U+FFFD.
func AppendString(b []byte, s string) []byte {
	const hex = "0123456789ABCDEF"
	b = append(b, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		switch {
		case c < 0x20 || c == '"' || c == '\\' || c == 0x7f:
			b = append(b, s[start:i]...)
			b = append(b, `\u00`...)
			b = append(b, hex[c>>4], hex[c&15])
			i++
			start = i
		case c < utf8.RuneSelf:
			i++
		default:
			r, n := utf8.DecodeRuneInString(s[i:])
			if r != utf8.RuneError || n > 1 {
				// U+2028 and U+2029 end lines in older JavaScript.
				if r != 0x2028 && r != 0x2029 {
					i += n
					continue
				}
			}
			b = append(b, s[start:i]...)
			if n == 1 {
				r = utf8.RuneError
			}
			b = append(b, `\u`...)
			b = append(b, hex[r>>12&15], hex[r>>8&15], hex[r>>4&15], hex[r&15])
			i += n
			start = i
		}
	}
	b = append(b, s[start:]...)
	return append(b, '"')
}

// Query returns the parameters of a GET or HEAD request to a servlet. It answers requests with other methods or bad parameters itself, and
// then returns false.
func Query(w http.ResponseWriter, r *http.Request, servlet string) (url.Values, bool) {
	switch r.Method {
	case http.MethodGet, http.MethodHead:
	case http.MethodOptions, http.MethodTrace: // nothing is executed
		Send(w, http.StatusOK, TypeJSON, nil)
		return nil, false
	default:
		w.Header().Set("Allow", "GET, HEAD")
		Fail(w, http.StatusMethodNotAllowed, "want GET or HEAD")
		return nil, false
	}
	params, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		Refuse(w, servlet, "bad parameters")
		return nil, false
	}
	return params, true
}
