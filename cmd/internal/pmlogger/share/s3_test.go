package share

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/objects/objectstest"
)

// TestS3 has two recorders share hosts by way of object storage.
func TestS3(t *testing.T) {
	srv := objectstest.Start(t, false)
	store, err := OpenStore("s3://"+objectstest.Bucket+"/site", srv.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	a, b := join(t, store, "a"), join(t, store, "b.example.com")
	deadline := time.Now().Add(time.Minute)
	for !a.is("a", "b.example.com") || !b.is("a", "b.example.com") {
		if time.Now().After(deadline) {
			t.Fatalf("%v %v", a, b)
		}
		time.Sleep(10 * time.Millisecond)
	}
	if err := WriteStatus(t.Context(), store, sample("a", "alpha")); err != nil {
		t.Fatal(err)
	}
	list, err := ReadStatus(t.Context(), store)
	if err != nil || len(list) != 1 || list[0].Gone || len(list[0].Hosts) != 1 {
		t.Errorf("%+v, %v", list, err)
	}
	r := Registration{Store: store, Address: "[fe80::1]:44322"}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	reg := Registry{Store: store}
	for {
		hosts, err := reg.List(t.Context())
		if err != nil || time.Now().After(deadline) {
			t.Fatalf("%v, %v", hosts, err)
		}
		if strings.Join(hosts, " ") == "[fe80::1]:44322" {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	for _, r := range []*recorder{a, b} {
		r.stop()
		if err := <-r.done; err != nil {
			t.Error(err)
		}
	}
	for _, dir := range []string{recorders, hosts, "fleet/check"} {
		if entries, err := store.List(t.Context(), dir); err != nil || len(entries) > 0 {
			t.Errorf("%s: %v, %v", dir, entries, err)
		}
	}
}
