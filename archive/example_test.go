package archive_test

import (
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/go-pcp/pcp/archive"
)

func Example() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	base := filepath.Join(dir, "small")
	m := small(archive.Version3)
	for suffix, b := range map[string][]byte{".meta": m.meta, ".0": m.data, ".index": m.index} {
		os.WriteFile(base+suffix, b, 0o666)
	}

	a, err := archive.Open(base)
	if err != nil {
		log.Fatal(err)
	}
	defer a.Close()
	fmt.Println(a.Label().Host)
	for res, err := range a.Records(a.Label().Start, archive.Forward) {
		if err != nil {
			log.Fatal(err)
		}
		if len(res.Sets) == 0 {
			fmt.Println(res.Time.Sec, "mark")
			continue
		}
		vs := res.Sets[0]
		desc, err := a.Meta().Desc(vs.PMID)
		if err != nil {
			log.Fatal(err)
		}
		view := a.Meta().View(desc.InDom, res.Time)
		fmt.Print(res.Time.Sec, " ", a.Meta().Names(vs.PMID)[0])
		for _, v := range vs.Values {
			if name, ok := view.Name(v.Inst); ok {
				fmt.Printf(" [%s] %s", name, v.As(desc.Type))
			}
		}
		fmt.Println()
	}
	// Output:
	// dark.example.com
	// 1000 kernel.all.load [1 minute] 7 [5 minute] 8
	// 1010 kernel.all.load [1 minute] 8 [5 minute] 9
	// 1020 kernel.all.load [5 minute] 10
	// 1025 mark
	// 1030 kernel.all.load [5 minute] 11
}
