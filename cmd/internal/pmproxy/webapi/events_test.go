package webapi

import (
	"strings"
	"testing"
)

// TestEvents fetches event records, which the collector queues for each client: the context gets a connection of its
// own, and others share theirs as before.
func TestEvents(t *testing.T) {
	h := serve(t, Config{Host: startCollector(t).spec()})
	a, b := newContext(t, h, "?polltimeout=600"), newContext(t, h, "?polltimeout=600")
	for range 3 {
		for _, names := range []string{"sample.event.records", "sample.event.highres_records,sample.long.one"} {
			w := do(h, trusted, "GET", "/pmapi/"+a+"/fetch?names="+names, "")
			if w.Code != 200 || !strings.Contains(w.Body.String(), `"name":"`+strings.Split(names, ",")[0]+`","instances":[`) ||
				strings.Contains(names, "long") && !strings.Contains(w.Body.String(), `"value":1}`) {
				t.Errorf("%s: %d %s", names, w.Code, w.Body)
			}
		}
		if w := do(h, trusted, "GET", "/pmapi/"+b+"/fetch?names=sample.long.one", ""); w.Code != 200 {
			t.Errorf("%d %s", w.Code, w.Body)
		}
	}
	if n := h.owned.Load(); n != 1 {
		t.Errorf("%d contexts have a connection of their own, want 1", n)
	}
}
