package pmcd

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// A logBuffer is written to by one goroutine and read by another.
type logBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *logBuffer) Bytes() []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	return bytes.Clone(b.b.Bytes())
}

func (b *logBuffer) String() string { return string(b.Bytes()) }

func (b *logBuffer) Len() int { return len(b.Bytes()) }

func (b *logBuffer) Reset() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.b.Reset()
}

// remembered is how many kinds of lines l knows.
func (l *lineLimiter) remembered() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.kinds)
}

// plainLog returns a logger without times, and its output.
func plainLog() (*slog.Logger, *logBuffer) {
	var b logBuffer
	return slog.New(slog.NewTextHandler(&b, &slog.HandlerOptions{ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey && groups == nil {
			return slog.Attr{}
		}
		return a
	}})), &b
}

func TestLineLimiter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, b := plainLog()
		l := lineLimiter{log: log}
		dropped := func(n int) {
			for i := range n {
				l.write(slog.LevelWarn, "dropped", "client dropped", "client", i)
			}
		}
		lines := func(want int) {
			t.Helper()
			synctest.Wait()
			if n := bytes.Count(b.Bytes(), []byte("\n")); n != want {
				t.Fatalf("%d lines, want %d; the last are\n%s", n, want, b.Bytes()[max(0, b.Len()-500):])
			}
		}
		dropped(maxClientLines + 1000)
		lines(maxClientLines)
		// Another kind is not touched by that.
		l.write(slog.LevelWarn, "denied", "client denied everything", "client", "x")
		lines(maxClientLines + 1)

		time.Sleep(logInterval)
		lines(maxClientLines + 2)
		want := `level=WARN msg="client dropped: more like this were left out" lines=1000 within=1m0s client=1099` + "\n"
		if !strings.HasSuffix(b.String(), want) {
			t.Errorf("at the end of the interval: %s, want %s", b.Bytes()[b.Len()-200:], want)
		}
		if l.remembered() != 0 {
			t.Errorf("%d kinds are remembered when their interval is over", l.remembered())
		}

		// The next interval has lines again, and if they are few no more than those.
		b.Reset()
		dropped(5)
		time.Sleep(2 * logInterval)
		lines(5)

		// At the end nothing is kept back, and nothing counts any more.
		b.Reset()
		dropped(maxClientLines + 3)
		l.close()
		lines(maxClientLines + 1)
		dropped(2)
		lines(maxClientLines + 3)
		time.Sleep(2 * logInterval)
		lines(maxClientLines + 3)
	})
}

// TestLineLimiterKinds logs more kinds of lines than clients should ever cause.
func TestLineLimiterKinds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, b := plainLog()
		l := lineLimiter{log: log}
		for i := range 100000 {
			l.write(slog.LevelWarn, fmt.Sprint(i), "odd")
		}
		if l.remembered() > maxLineKinds+1 {
			t.Errorf("%d kinds are remembered", l.remembered())
		}
		l.close()
		if n := bytes.Count(b.Bytes(), []byte("\n")); n != maxLineKinds+maxClientLines+1 {
			t.Errorf("%d lines, want %d", n, maxLineKinds+maxClientLines+1)
		}
	})
}
