package keys_test

import (
	"testing"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series/keys"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series/keys/keystest"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series/seriestest"
)

// TestContract checks that the store answers as all stores must.
func TestContract(t *testing.T) {
	server := keystest.Start(t)
	store := open(t, server.Address)
	set := seriestest.WriteArchives(t, t.TempDir(), time.Now().Add(-time.Hour).Truncate(time.Second))
	for _, base := range set.Bases {
		if _, err := store.Load(t.Context(), base, keys.LoadOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	set.Repeats, set.EarlyLabels = true, true // as the C implementation
	set.Contract(t, store, true)
}
