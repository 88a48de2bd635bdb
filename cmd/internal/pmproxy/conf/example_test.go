package conf_test

import (
	"fmt"

	"github.com/go-pcp/pcp/cmd/internal/pmproxy/conf"
)

// The settings of a file, and the notes on those without effect.
func ExampleParse() {
	f, err := conf.Parse([]byte("[pmproxy]\nhttp.enabled = false\nchunksize = 4096\n"))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(f.NoHTTP)
	fmt.Println(f.Notes[0])
	// Output:
	// true
	// chunksize is ignored: answers are sent in pieces as they come
}
