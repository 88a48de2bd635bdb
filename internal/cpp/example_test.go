package cpp_test

import (
	"fmt"
	"os"
	"strings"

	"github.com/go-pcp/pcp/internal/cpp"
)

func Example() {
	const text = `#define SIMPLE 253
root {
    simple
}
#ifdef SIMPLE
simple {
    color  SIMPLE:0:1  /* of instances */
}
#endif
`
	r := cpp.NewReader(strings.NewReader(text), "root", cpp.Config{})
	defer r.Close()
	if err := r.Copy(os.Stdout, false); err != nil {
		fmt.Println(err)
	}
	// Output:
	//
	// root {
	//     simple
	// }
	//
	// simple {
	//     color  253:0:1
	// }
	//
}
