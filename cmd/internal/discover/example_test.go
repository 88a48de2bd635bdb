package discover_test

import (
	"context"
	"fmt"
	"net"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/discover"
	"github.com/go-pcp/pcp/config"
)

func ExampleServices() {
	// A listener in place of a collector.
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer ln.Close()
	_, port, _ := net.SplitHostPort(ln.Addr().String())
	cfg := config.New(func(name string) string { return map[string]string{"PMCD_PORT": port}[name] })

	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	urls, err := discover.Services(ctx, discover.PMCD, discover.Options{Mechanism: "probe=127.0.0.1/32,timeout=2", Config: cfg})
	fmt.Println(len(urls), err)
	// Output: 1 <nil>
}

func ExampleParseTimeout() {
	fmt.Println(discover.ParseTimeout("0.25"))
	// Output: 250ms <nil>
}
