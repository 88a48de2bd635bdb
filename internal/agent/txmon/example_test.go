package txmon_test

import (
	"fmt"
	"os"

	"github.com/go-pcp/pcp/internal/agent/txmon"
)

func Example() {
	key := 0x10000000 | os.Getpid() // 0 is the default key
	a, err := txmon.New(txmon.Config{Types: []string{"query", "update"}, Key: key})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer a.Close()

	rec, err := txmon.Attach(key)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer rec.Close()
	rec.Record("query", 0.25)
	rec.Record("query", 0.75)
	for _, typ := range rec.Types() {
		fmt.Println(typ.Name, typ.Count, typ.Sum, typ.Max)
	}
	// Output:
	// query 2 1 0.75
	// update 0 0 -1
}
