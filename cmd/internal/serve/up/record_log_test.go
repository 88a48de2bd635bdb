package up

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/go-pcp/pcp/cmd/internal/pmlogger/fleet"
)

// TestRecordingLog checks that the log has the error of an event, and no word of one where there is none.
func TestRecordingLog(t *testing.T) {
	var log bytes.Buffer
	r := &recording{env: testEnv(new(screen), new(screen), nil), set: &settings{}, log: slog.New(slog.NewTextHandler(&log, nil))}
	r.event(fleet.Event{Text: "recording to x"})
	if got := log.String(); !strings.Contains(got, "recording to x") || strings.Contains(got, "err=") {
		t.Errorf("log: %s", got)
	}
	log.Reset()
	r.event(fleet.Event{Text: "ended", Err: errors.New("full")})
	if got := log.String(); !strings.Contains(got, "ended") || !strings.Contains(got, "err=full") {
		t.Errorf("log: %s", got)
	}
}
