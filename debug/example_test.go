package debug_test

import (
	"fmt"
	"os"

	"github.com/go-pcp/pcp/debug"
)

func Example() {
	names, ok := debug.Parse("3,derive") // a number of the old style has a bit for each option
	fmt.Println(names, ok)
	log := debug.New(os.Stdout, names...)
	if log.On("fetch") {
		log.Printf("fetch of %d metrics\n", 3)
	}
	if log.On("labels") {
		log.Printf("labels\n")
	}
	// Output:
	// [pdu fetch derive] true
	// fetch of 3 metrics
}
