package leak

import (
	"strings"
	"testing"
	"time"
)

// TestFind finds a goroutine while it runs, and not those of the runtime.
func TestFind(t *testing.T) {
	if left := find(); left != nil {
		t.Fatalf("before any was started: %q", left)
	}
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		<-stop
	}()
	left := find()
	close(stop)
	<-ended
	if len(left) != 1 || !strings.Contains(left[0], "TestFind") {
		t.Errorf("with one: %q", left)
	}
	for end := time.Now().Add(time.Minute); find() != nil; {
		if time.Now().After(end) {
			t.Fatalf("after its end: %q", find())
		}
	}
}
