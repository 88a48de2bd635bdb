package runtimemmv_test

import (
	"fmt"
	"log"
	"os"

	"github.com/go-pcp/pcp/mmv"
	"github.com/go-pcp/pcp/mmv/bridge/runtimemmv"
)

func Example() {
	dir, err := os.MkdirTemp("", "mmv") // a real program does not set Options.Dir
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	reg, err := mmv.New("shop", mmv.Options{Dir: dir})
	if err != nil {
		log.Fatal(err)
	}
	defer reg.Close()
	defer runtimemmv.Export(reg, runtimemmv.Options{Prefix: "go"}).Stop()

	fmt.Println(reg.Lookup("go.sched.goroutines.goroutines").String() != "0")
	// Output: true
}
