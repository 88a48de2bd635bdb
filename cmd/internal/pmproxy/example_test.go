package pmproxy_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"

	"github.com/go-pcp/pcp/cmd/internal/pmproxy"
)

// A proxy with its own page.
func Example() {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	s, err := pmproxy.New(pmproxy.Config{
		Listeners: []net.Listener{ln},
		Handlers: map[string]http.Handler{"/hello": http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			io.WriteString(w, "hello\n")
		})},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()

	r, err := http.Get("http://" + ln.Addr().String() + "/hello")
	if err != nil {
		fmt.Println(err)
		return
	}
	b, _ := io.ReadAll(r.Body)
	r.Body.Close()
	fmt.Print(r.Status, " ", string(b))
	http.DefaultClient.CloseIdleConnections()
	cancel()
	fmt.Println(<-done)
	// Output:
	// 200 OK hello
	// <nil>
}
