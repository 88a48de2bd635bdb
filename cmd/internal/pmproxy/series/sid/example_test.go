package sid_test

import (
	"fmt"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series/sid"
)

func Example() {
	context, err := pcp.StringLabels(pcp.LabelContext, "hostname", "h.example.com")
	if err != nil {
		fmt.Println(err)
		return
	}
	labels, err := sid.Labels(context)
	if err != nil {
		fmt.Println(err)
		return
	}
	desc := pcp.Desc{Type: pcp.TypeU32, Sem: pcp.SemDiscrete}
	fmt.Println(labels)
	fmt.Println(sid.Metric("hinv.ncpu", labels, desc))
	// Output:
	// {"hostname":"h.example.com"}
	// faf0408a60fc997b1f4fbd67aab70dcfc5a9f7bd
}
