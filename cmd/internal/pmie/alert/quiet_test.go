package alert

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/pmie/deliver"
)

// evaluation returns the result of a rule that is true for instances.
func evaluation(rule string, insts ...string) deliver.Evaluation {
	ev := deliver.Evaluation{Rule: rule, Time: time.Now(), State: deliver.False}
	for _, inst := range insts {
		ev.State = deliver.True
		ev.Matches = append(ev.Matches, deliver.Match{Host: "h", Instance: inst})
	}
	return ev
}

// TestMuted checks that a receiver is not notified of silenced and acknowledged alerts, is notified when a silence ends, and always
// of the end of an alert that it knows.
func TestMuted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHook(t)
		q := OpenQuiet(filepath.Join(t.TempDir(), "alerts.json"), nil)
		m, err := New(Config{Receivers: []*Receiver{h.receiver(t, "pager", Webhook)}, Dir: t.TempDir(), Muted: q.Muted})
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		fires := func(insts ...string) {
			t.Helper()
			q.Observe(evaluation("r", insts...))
			a := action("r", deliver.Webhook, "pager", insts...)
			a.Holdoff = time.Minute
			act(t, m, a)
			synctest.Wait()
		}
		silence, err := q.Silence(Silence{Subject: Subject{Rule: "r", Instance: "sda"}, Until: time.Now().Add(time.Hour)})
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		fires("sda", "sdb")
		same(t, "silenced", statuses(h.alerts(t)), "sdb firing")
		// An acknowledged alert is not repeated.
		sdb := &Alert{Rule: "r", Host: "h", Instance: "sdb"}
		if err := q.Acknowledge(sdb, "", true); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Minute)
		fires("sda", "sdb")
		same(t, "acknowledged", statuses(h.alerts(t)), "sdb firing")
		// Its end is reported, and is the end of the acknowledgement.
		fires("sda")
		time.Sleep(10 * time.Minute)
		fires("sda", "sdb")
		same(t, "cleared", statuses(h.alerts(t)), "sdb firing", "sdb resolved", "sdb firing")
		time.Sleep(time.Until(silence.Until))
		fires("sda")
		list := h.alerts(t)
		same(t, "after the silence", statuses(list), "sdb firing", "sdb resolved", "sdb firing", "sda firing", "sdb resolved")
		if !list[3].Since.Equal(began) {
			t.Errorf("it fires since %v, want %v", list[3].Since, began)
		}
		if got := q.Past(sdb); len(got) != 2 || got[0].Until.IsZero() || got[1].Until.Sub(got[1].From) < 30*time.Minute {
			t.Errorf("the past: %v", got)
		}
	})
}

// TestQuietFile checks that silences, acknowledgements and the past survive a restart.
func TestQuietFile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "alerts.json")
		q := OpenQuiet(path, nil)
		a, b := &Alert{Rule: "r", Host: "h", Instance: "a"}, &Alert{Rule: "r", Host: "h", Instance: "b"}
		q.Observe(evaluation("r", "a", "b"))
		began := time.Now()
		s, err := q.Silence(Silence{Subject: Subject{Host: "h"}, Until: time.Now().Add(time.Hour), Comment: "c"})
		if err != nil {
			t.Fatal(err)
		}
		if err := q.Acknowledge(a, "mine", true); err != nil {
			t.Fatal(err)
		}
		for _, bad := range []Silence{{}, {Until: time.Now().Add(-time.Second)}, {Until: time.Now().Add(2 * MaxSilence)}, {Until: time.Now().Add(time.Hour), Comment: strings.Repeat("x", MaxName+1)}} {
			if _, err := q.Silence(bad); err == nil {
				t.Errorf("%+v is accepted", bad.Subject)
			}
		}
		time.Sleep(time.Minute)
		if err := q.Close(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		q = OpenQuiet(path, nil)
		q.Observe(evaluation("r", "a"))
		if k, ok := q.Acknowledged(a); !ok || k.Comment != "mine" {
			t.Errorf("acknowledged: %v %v", k, ok)
		}
		if got, ok := q.Silenced(b); !ok || got.ID != s.ID || got.Comment != "c" {
			t.Errorf("silenced: %v %v", got, ok)
		}
		// What fires still has fired all the time; what does not ended when the process did.
		if p := q.Past(a); len(p) != 1 || !p[0].From.Equal(began) || !p[0].Until.IsZero() {
			t.Errorf("the past of a: %v", p)
		}
		if p := q.Past(b); len(p) != 1 || p[0].Until.IsZero() {
			t.Errorf("the past of b: %v", p)
		}
		if err := q.EndSilence(s.ID); err != nil {
			t.Error(err)
		}
		if err := q.EndSilence(s.ID); !errors.Is(err, ErrNoSilence) {
			t.Errorf("it ends twice: %v", err)
		}
		time.Sleep(8 * 24 * time.Hour)
		q.Observe(evaluation("r"))
		if len(q.Pasts()) != 1 {
			t.Errorf("after a week: %v", q.Pasts())
		}
	})
}

// TestQuietLimits checks the limits, and files that cannot be used.
func TestQuietLimits(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "alerts.json")
	q := OpenQuiet(path, nil)
	for i := range maxPasts + 10 {
		q.Observe(evaluation(fmt.Sprint(i), "x"))
	}
	for range maxPeriods + 10 {
		q.Observe(evaluation("1", "x"))
		q.Observe(evaluation("1"))
	}
	if n, p := len(q.Pasts()), q.Past(&Alert{Rule: "1", Host: "h", Instance: "x"}); n != maxPasts || len(p) != maxPeriods {
		t.Errorf("%d alerts, %d periods", n, len(p))
	}
	var log bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&log, nil))
	if err := os.WriteFile(path, []byte(`{"version":2,"silences":7}`), 0o600); err != nil {
		t.Fatal(err)
	}
	q = OpenQuiet(path, logger)
	if _, err := q.Silence(Silence{Until: time.Now().Add(time.Hour)}); err == nil || !strings.Contains(err.Error(), "a later release") {
		t.Errorf("a later file: %v", err)
	}
	if err := q.Close(); err != nil {
		t.Error(err)
	}
	if b, _ := os.ReadFile(path); !strings.Contains(string(b), `"version":2`) {
		t.Errorf("the later file is now %s", b)
	}
	if err := os.WriteFile(path, []byte(`{"silences":[{"id":"x"}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	q = OpenQuiet(path, logger)
	if len(q.Silences()) != 0 || !strings.Contains(log.String(), "forgotten") {
		t.Errorf("the log has %s", &log)
	}
	if _, err := os.Stat(path + ".bad"); err != nil {
		t.Error(err)
	}
}

func FuzzQuiet(f *testing.F) {
	for _, s := range []string{"", "{}", `{"version":1,"silences":[{"id":"` + strings.Repeat("0a", idBytes) + `","rule":"r","until":"2026-01-02T03:04:05Z"}],"acknowledgements":[{"rule":"r"}],"past":[{"rule":"r","periods":[{"from":"2026-01-02T03:04:05Z"}]}]}`, `{"version":9}`, `{"past":[{"periods":[{}]}]}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		v, err := decodeQuiet(b)
		if err != nil {
			return
		}
		q := OpenQuiet(filepath.Join(t.TempDir(), "none"), nil)
		q.load(v)
		q.Observe(evaluation("r", "a"))
		q.Muted(&Alert{Rule: "r"})
		if err := q.save(time.Now()); err != nil {
			t.Errorf("it cannot be saved: %v", err)
		}
	})
}
