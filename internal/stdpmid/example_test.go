package stdpmid_test

import (
	"fmt"

	"github.com/go-pcp/pcp/internal/stdpmid"
)

func ExampleNumber() {
	fmt.Println(stdpmid.Number("LINUX"))
	// Output: 60 true
}
