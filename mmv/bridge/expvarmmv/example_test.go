package expvarmmv_test

import (
	"expvar"
	"fmt"
	"log"
	"os"

	"github.com/go-pcp/pcp/mmv"
	"github.com/go-pcp/pcp/mmv/bridge/expvarmmv"
)

var orders = expvar.NewMap("orders")

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

	orders.Set("Anvils", new(expvar.Int))
	orders.Add("Anvils", 3)
	defer expvarmmv.Export(reg, expvarmmv.Options{
		Counter: func(name string) bool { return name == "orders" },
	}).Stop()

	fmt.Println(reg.Lookup("orders", "Anvils"))
	// Output: 3
}
