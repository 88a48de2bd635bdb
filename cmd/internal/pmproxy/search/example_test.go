package search_test

import (
	"context"
	"fmt"

	"github.com/go-pcp/pcp/cmd/internal/pmproxy/search"
)

// Documents usually are read from a source; here they are literals.
func ExampleIndex() {
	x := search.NewIndex(search.Limits{})
	x.Replace("here", []search.Document{
		{Type: search.Metric, Name: "disk.dev.read", InDom: "60.1", OneLine: "per-disk read operations"},
		{Type: search.Metric, Name: "disk.dev.write", InDom: "60.1", OneLine: "per-disk write operations"},
		{Type: search.Instance, Name: "sda", InDom: "60.1"},
	})
	res, err := x.Text(context.Background(), search.Request{Query: "disk wri*", Highlight: search.FieldName})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, h := range res.Hits {
		fmt.Println(h.Type, h.Name, h.InDom)
	}
	// Output: metric <b>disk</b>.dev.<b>write</b> 60.1
}
