package prommmv_test

import (
	"fmt"
	"log"
	"os"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/go-pcp/pcp/mmv"
	"github.com/go-pcp/pcp/mmv/bridge/prommmv"
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

	prom := prometheus.NewRegistry() // or prometheus.DefaultGatherer
	sold := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "sold_total"}, []string{"product"})
	prom.MustRegister(sold)
	sold.WithLabelValues("Anvils").Add(3)

	defer prommmv.Export(reg, prom, prommmv.Options{}).Stop()

	fmt.Println(reg.Lookup("sold_total", "product=Anvils"))
	// Output: 3
}
