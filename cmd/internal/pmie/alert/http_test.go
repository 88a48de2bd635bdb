package alert

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// TestReadableJSON checks that texts that receivers show to people have no escapes for HTML.
func TestReadableJSON(t *testing.T) {
	for _, kind := range []Kind{Webhook, Alertmanager} {
		var body string
		server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			b, err := io.ReadAll(r.Body)
			if err != nil {
				t.Error(err)
			}
			body = string(b)
		}))
		r := &Receiver{Name: "r", Kind: kind, URL: parseURL(t, server.URL)}
		err := r.Send(t.Context(), NewTest("h", "load > 5 & <more>", time.Now()))
		server.Close()
		if err != nil || !strings.Contains(body, "load > 5 & <more>") {
			t.Errorf("%v: %v, body %s", kind, err, body)
		}
	}
}
