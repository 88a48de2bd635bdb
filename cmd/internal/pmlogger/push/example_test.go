package push_test

import (
	"fmt"

	"github.com/go-pcp/pcp/cmd/internal/pmlogger/push"
)

// A pusher is for one server. The URL has no path, and the port can be left out.
func ExampleNew() {
	_, err := push.New(push.Config{URL: "http://collector.example.com/archives"})
	fmt.Println(err)
	p, err := push.New(push.Config{URL: "http://collector.example.com"})
	if err != nil {
		fmt.Println(err)
		return
	}
	p.Close()
	// Output:
	// "http://collector.example.com/archives" is not of the form http://HOST:PORT
}
