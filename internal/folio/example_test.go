package folio_test

import (
	"fmt"
	"strings"

	"github.com/go-pcp/pcp/internal/folio"
)

func Example() {
	f, err := folio.Parse(strings.NewReader("PCPFolio\nVersion: 1\nArchive: bozo 20240305\n"))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, a := range f.Archives {
		fmt.Println(a.Host, a.Path("/var/log/f"))
	}
	// Output: bozo /var/log/20240305
}
