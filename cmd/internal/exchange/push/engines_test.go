package push

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/prom/send"
	"github.com/go-pcp/pcp/cmd/internal/prom/send/sendtest"
	"github.com/go-pcp/pcp/internal/testing/await"
	"github.com/go-pcp/pcp/internal/testing/longtest"
)

// TestPrometheus pushes an archive into Debian's Prometheus, with a pusher that is killed again and again, and compares all samples.
func TestPrometheus(t *testing.T) {
	server := sendtest.Prometheus(t)
	t.Parallel()
	kills(t, server.Addr, sendtest.FromPrometheus)
}

// TestVictoriaMetrics does the same with VictoriaMetrics, where it is installed.
func TestVictoriaMetrics(t *testing.T) {
	server := sendtest.Victoria(t)
	if server == nil {
		return
	}
	t.Parallel()
	kills(t, server.Addr, sendtest.FromVictoria)
}

// kills pushes an archive with a pusher that is killed at random moments, the last time not. Each sample must then be in the server once.
func kills(t *testing.T, addr string, read func(*testing.T, string, sendtest.Contents) sendtest.Contents) {
	base, want := sendtest.Generate(t, 1200, 60)
	target, err := url.Parse("http://" + addr)
	if err != nil {
		t.Fatal(err)
	}
	// A slow link: a kill before and after the server has a request, and while it has it.
	forward := httputil.NewSingleHostReverseProxy(target)
	link := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				return // killed
			}
			r.Body = io.NopCloser(bytes.NewReader(body))
			time.Sleep(100 * time.Millisecond)
			defer time.Sleep(100 * time.Millisecond)
		}
		forward.ServeHTTP(w, r)
	}))
	defer link.Close()
	random := rand.New(rand.NewPCG(longtest.Seed(t), 0))
	push := func() (*exec.Cmd, *bytes.Buffer) {
		cmd := exec.Command(os.Args[0], "--to", link.URL, base)
		cmd.Env = append(os.Environ(), "PUSH_TEST_MAIN=1")
		out := new(bytes.Buffer)
		cmd.Stdout, cmd.Stderr = out, out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		return cmd, out
	}
	for range longtest.N(1, 10) {
		cmd, _ := push()
		time.Sleep(send.Settle + time.Duration(500+random.IntN(2000))*time.Millisecond)
		cmd.Process.Kill()
		cmd.Wait()
	}
	cmd, out := push()
	if err := await.Exit(t, cmd); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var n int
	if _, rest, ok := strings.Cut(out.String(), ": sent "); ok {
		fmt.Sscan(rest, &n)
	}
	total := 0
	for _, list := range want {
		total += len(list)
	}
	if n == 0 || n >= total {
		t.Errorf("the last push sent %d of %d samples:\n%s", n, total, out)
	}
	sendtest.Compare(t, read(t, addr, want), want)
	cmd, out = push() // all is there
	if err := await.Exit(t, cmd); err != nil || !strings.Contains(out.String(), "sent 0 samples") {
		t.Errorf("another push: %v\n%s", err, out)
	}
}
