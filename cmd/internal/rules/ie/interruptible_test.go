package ie

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"
)

// TestInterruptible ends a Read that waits for ever, as at a terminal without a line, with the cause of the context.
func TestInterruptible(t *testing.T) {
	pr, pw := io.Pipe()
	defer pw.Close()
	ctx, end := context.WithCancelCause(t.Context())
	r := interruptible{ctx, pr}
	go pw.Write([]byte("delta = 1 sec;"))
	b := make([]byte, 100)
	if n, err := r.Read(b); err != nil || string(b[:n]) != "delta = 1 sec;" {
		t.Fatalf("Read = %q, %v", b[:n], err)
	}
	want := &caught{number: sigTerm}
	time.AfterFunc(10*time.Millisecond, func() { end(want) })
	for range 2 { // the second Read does not wait
		if n, err := r.Read(b); n != 0 || !errors.Is(err, want) {
			t.Fatalf("Read of an ended context = %d, %v", n, err)
		}
	}
}
