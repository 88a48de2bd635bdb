package export

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
)

// TestOutbox has a receiver fail in all ways, and recover.
func TestOutbox(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var errs bytes.Buffer
		var got []string
		var fail error
		calls, complaints := 0, 0
		o := outbox{
			env: &cli.Env{Name: "pcp2x", Stderr: &errs},
			send: func(_ context.Context, m message) error {
				calls++
				if fail != nil {
					return fail
				}
				got = append(got, string(m.body))
				return nil
			},
			complain: func(message, error) { complaints++ },
		}
		put := func(s string) { o.put(t.Context(), message{body: []byte(s)}) }

		put("1")
		fail = errors.New("away")
		put("2") // tried again at once
		if calls != 1+attempts {
			t.Errorf("%d calls, want %d", calls, 1+attempts)
		}
		put("3") // known to be away: one try
		if calls != 1+attempts+1 || complaints != 2 {
			t.Errorf("%d calls and %d complaints", calls, complaints)
		}
		fail = nil
		put("4")
		if s := strings.Join(got, ""); s != "1234" {
			t.Errorf("delivered %q, want all in order", s)
		}
		fail = fmt.Errorf("%w: nonsense", errRejected)
		put("5") // not tried again
		fail = nil
		put("6")
		if s := strings.Join(got, ""); s != "12346" || o.dropped != 1 {
			t.Errorf("delivered %q, dropped %d", s, o.dropped)
		}
		fail = errors.New("away")
		for i := range maxHeld + 7 {
			put(fmt.Sprint(i))
		}
		if len(o.held) != maxHeld || o.dropped != 1+7 {
			t.Errorf("%d held, %d dropped", len(o.held), o.dropped)
		}
		o.bytes, o.held = 0, nil
		big := strings.Repeat("x", maxHeldBytes/3)
		for range 5 {
			put(big)
		}
		if len(o.held) != 3 {
			t.Errorf("%d large messages held, want 3", len(o.held))
		}
		if o.close(t.Context()) || !strings.Contains(errs.String(), "pcp2x: 13 samples were not delivered\n") {
			t.Errorf("at the end: %q", errs.String())
		}
	})
}
