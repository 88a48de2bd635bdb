//go:build unix

package janitor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/pmlogger"
	"github.com/go-pcp/pcp/pmapi"
)

// errorsOnly is a log that reports only failures to begin an archive.
type errorsOnly chan string

func (l errorsOnly) Write(b []byte) (int, error) {
	if strings.Contains(string(b), "msg=rotate") {
		select {
		case l <- string(b):
		default:
		}
	}
	return len(b), nil
}

// TestRunMidnight passes two midnights. At the first no archive can be created at first: it is created as soon as
// possible, and not a day later.
func TestRunMidnight(t *testing.T) {
	dir := t.TempDir()
	socket := filepath.Join(t.TempDir(), "socket")
	serveCount(t, socket)
	c, err := pmapi.Dial(t.Context(), "unix:"+socket)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	r, err := pmlogger.New(t.Context(), c, pmlogger.Config{Archive: filepath.Join(dir, "first")})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Configure(t.Context(), strings.NewReader("log on 1 msec { count }"), "config"); err != nil {
		t.Fatal(err)
	}
	zone := time.FixedZone("east", 9*3600)
	var now atomic.Int64
	set := func(day, hour, minute int) {
		now.Store(time.Date(2026, 1, day, hour, minute, 0, 0, zone).Unix())
	}
	set(1, 23, 59)
	made, failed, looked := make(chan string, 100), make(errorsOnly, 1), make(chan bool)
	j, err := New(Config{
		Dir: dir, Recorder: r, Daily: true, Zone: zone, Interval: time.Millisecond, NoCompress: true,
		Rotated: func(base string) { made <- filepath.Base(base) }, Log: slog.New(slog.NewTextHandler(failed, nil)),
		now: func() time.Time {
			select {
			case looked <- true:
			default:
			}
			return time.Unix(now.Load(), 0)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	recorded, kept := make(chan error, 1), make(chan error, 1)
	go func() { recorded <- r.Run(ctx) }()
	if err := r.Call(ctx, func() {}); err != nil {
		t.Fatal(err)
	}
	go func() { kept <- j.Run(ctx) }()
	look := func() {
		t.Helper()
		for range 20 {
			select {
			case <-looked:
			case <-time.After(time.Minute):
				t.Fatal("it does not look at the time")
			}
		}
		select {
		case base := <-made:
			t.Fatalf("%s was begun at %v", base, time.Unix(now.Load(), 0).In(zone))
		default:
		}
	}
	wait := func(ch <-chan string, want string) string {
		t.Helper()
		select {
		case got := <-ch:
			if !strings.Contains(got, want) {
				t.Fatalf("%q, want %q", got, want)
			}
			return got
		case <-time.After(time.Minute):
			t.Fatalf("no %q", want)
		}
		return ""
	}
	look() // it has removed the remains of others
	var taken []string
	for i := range 100 {
		name := filepath.Join(dir, "20260102.00.00.meta")
		if i > 0 {
			name = filepath.Join(dir, fmt.Sprintf("20260102.00.00-%02d.meta", i-1))
		}
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		taken = append(taken, name)
	}
	set(2, 0, 0)
	wait(failed, "20260102.00.00")
	look()
	for _, name := range taken {
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
	}
	second := wait(made, "20260102.00.00") // or with the first free number
	set(2, 23, 59)
	look()
	set(3, 0, 1)
	wait(made, "20260103.00.01")
	look()
	cancel()
	if err := errors.Join(<-recorded, <-kept); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	for _, name := range []string{"first", second, "20260103.00.01"} {
		if len(dump(t, filepath.Join(dir, name))) == 0 {
			t.Errorf("%s has no samples", name)
		}
	}
}
