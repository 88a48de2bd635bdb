package diagnose_test

import (
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/go-pcp/pcp/cmd/internal/pmproxy/diagnose"
)

// TestOpenAPI checks that requests take the parameters of the description, and that answers have its members.
func TestOpenAPI(t *testing.T) {
	h := diagnose.New(diagnose.Config{Rules: builtin})
	t.Cleanup(func() { h.Close() })
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", "/diagnose/openapi.json", nil))
	var doc struct {
		OpenAPI string
		Paths   map[string]map[string]struct {
			Parameters []struct{ Name, Description string }
			Responses  map[string]struct {
				Content map[string]struct {
					Schema struct{ Properties map[string]any }
				}
			}
		}
	}
	if err := json.Unmarshal(w.Body.Bytes(), &doc); err != nil || w.Code != 200 || doc.OpenAPI == "" {
		t.Fatalf("%d %s, %v", w.Code, w.Body, err)
	}
	get := doc.Paths["/diagnose"]["get"]
	if len(get.Parameters) < 5 {
		t.Errorf("parameters: %v", get.Parameters)
	}
	for _, p := range get.Parameters {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("GET", "/diagnose?"+p.Name+"=", nil))
		if p.Description == "" || strings.Contains(w.Body.String(), "no such parameter") {
			t.Errorf("%s: %q: %s", p.Name, p.Description, w.Body)
		}
	}
	recording := recorded(t, nil)
	w = httptest.NewRecorder()
	recording.ServeHTTP(w, httptest.NewRequest("GET", "/diagnose?host=staged.example.com&start=1&end=2", nil))
	f := func(w *httptest.ResponseRecorder, status string) {
		t.Helper()
		var members map[string]any
		if err := json.Unmarshal(w.Body.Bytes(), &members); err != nil || len(members) == 0 {
			t.Fatalf("%s, %v", w.Body, err)
		}
		described := get.Responses[status].Content["application/json"].Schema.Properties
		for name := range members {
			if described[name] == nil {
				t.Errorf("%s: %s is not described", status, name)
			}
		}
	}
	f(w, "404")
}
