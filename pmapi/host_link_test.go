package pmapi

import (
	"context"
	"errors"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-pcp/pcp"
)

// readOne reads one byte as a request of l.
func readOne(ctx context.Context, l *link) error {
	if err := l.begin(ctx); err != nil {
		return err
	}
	_, err := l.conn.Read(make([]byte, 1))
	if err != nil {
		err = newConnError(err)
	}
	return l.end(ctx, err)
}

func TestLink(t *testing.T) {
	why := errors.New("why")
	begin := func(name string, want error, wait time.Duration, f func(l *link, ctx context.Context, cancel context.CancelCauseFunc)) {
		t.Helper()
		synctest.Test(t, func(t *testing.T) {
			client, server := net.Pipe()
			defer server.Close()
			l := &link{timeout: 10 * time.Second}
			l.replace(client)
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			f(l, ctx, cancel)
			start := time.Now()
			if err := readOne(ctx, l); !errors.Is(err, want) || time.Since(start) != wait {
				t.Errorf("%s: %v after %v, want %v after %v", name, err, time.Since(start), want, wait)
			}
			if _, ok := l.usable(); ok && wait > 0 {
				t.Errorf("%s: still of use", name)
			}
			if err := readOne(t.Context(), l); !errors.Is(err, pcp.ErrIPC) && !errors.Is(err, errClosed) && wait > 0 {
				t.Errorf("%s: next request: %v", name, err)
			}
			l.close()
			if err := l.close(); err != errClosed || !l.ended() {
				t.Errorf("%s: second close: %v", name, err)
			}
		})
	}
	begin("time-out", pcp.ErrTimeout, 10*time.Second, func(*link, context.Context, context.CancelCauseFunc) {})
	begin("given up before", why, 0, func(_ *link, _ context.Context, cancel context.CancelCauseFunc) { cancel(why) })
	begin("given up", why, time.Second, func(_ *link, _ context.Context, cancel context.CancelCauseFunc) {
		time.AfterFunc(time.Second, func() { cancel(why) })
	})
	begin("closed before", errClosed, 0, func(l *link, _ context.Context, _ context.CancelCauseFunc) { l.close() })
	begin("closed", errClosed, time.Second, func(l *link, _ context.Context, _ context.CancelCauseFunc) {
		time.AfterFunc(time.Second, func() { l.close() })
	})
	begin("failed before", pcp.ErrIPC, 0, func(l *link, _ context.Context, _ context.CancelCauseFunc) { l.fail(why) })
	begin("suspended and resumed", pcp.ErrTimeout, 15*time.Second, func(l *link, ctx context.Context, _ context.CancelCauseFunc) {
		time.AfterFunc(time.Second, l.suspend)
		time.AfterFunc(5*time.Second, l.resume)
	})
	begin("extended", pcp.ErrTimeout, 20*time.Second, func(l *link, ctx context.Context, _ context.CancelCauseFunc) {
		late := time.Now().Add(20 * time.Second)
		time.AfterFunc(time.Second, func() {
			if l.extend(ctx, time.Now()) || !l.extend(ctx, late) {
				t.Error("extend to the present, or not to the future")
			}
		})
	})
}

func TestLinkReplaced(t *testing.T) {
	var l link
	first, server := net.Pipe()
	l.replace(first)
	l.fail(errors.New("why"))
	second, other := net.Pipe()
	l.replace(second)
	if _, err := server.Read(make([]byte, 1)); err == nil {
		t.Error("connection that was replaced is open")
	}
	if conn, ok := l.usable(); !ok || conn != second {
		t.Error("new connection is of no use")
	}
	go other.Write([]byte{1})
	if err := readOne(t.Context(), &l); err != nil {
		t.Error(err)
	}
	l.close()
}
