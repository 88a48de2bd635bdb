package mmv_test

import (
	"fmt"
	"log"
	"os"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/mmv"
)

// dir replaces the default directory of Options: examples should not appear among
// the metrics of this machine.
func dir() string {
	dir, err := os.MkdirTemp("", "mmv")
	if err != nil {
		log.Fatal(err)
	}
	return dir
}

// A factory counts its products: pminfo -f mmv.acme shows it.
func Example() {
	reg, err := mmv.New("acme", mmv.Options{Dir: dir(), Cluster: 321})
	if err != nil {
		log.Fatal(err)
	}
	defer reg.Close()

	products := reg.InDom(mmv.InDomDef{
		OneLine:   "Acme products",
		Instances: []string{"Anvils", "Rockets", "Giant_Rubber_Bands"},
	})
	count := reg.CounterVec(mmv.Metric{Name: "products.count", InDom: products, OneLine: "Acme factory product throughput"})
	spent := reg.TimerVec(mmv.Metric{Name: "products.time", InDom: products, OneLine: "Machine time spent producing Acme products"})
	if err := reg.Err(); err != nil {
		log.Fatal(err)
	}

	anvils, anvilTime := count.With("Anvils"), spent.With("Anvils")
	for range 3 {
		start := time.Now()
		// ... make an anvil ...
		anvils.Inc()
		anvilTime.Since(start)
	}
	fmt.Println(anvils.Value())
	// Output: 3
}

func ExampleCounter() {
	reg, err := mmv.New("shop", mmv.Options{Dir: dir()})
	if err != nil {
		log.Fatal(err)
	}
	defer reg.Close()
	orders := reg.Counter(mmv.Metric{Name: "orders", OneLine: "Orders taken", Help: "Orders taken, those included that are cancelled later."})
	sent := reg.Counter(mmv.Metric{Name: "sent", Units: pcp.Units{DimSpace: 1, ScaleSpace: pcp.SpaceByte}})
	orders.Inc()
	sent.Add(1500)
	fmt.Println(orders.Value(), sent.Value())
	// Output: 1 1500
}

// Instances are added while the program runs.
func ExampleVec_With() {
	reg, err := mmv.New("server", mmv.Options{Dir: dir()})
	if err != nil {
		log.Fatal(err)
	}
	defer reg.Close()
	requests := reg.CounterVec(mmv.Metric{Name: "requests"})
	for _, route := range []string{"GET /", "GET /cart", "GET /"} {
		requests.With(route).Inc()
	}
	fmt.Println(requests.With("GET /").Value())
	// Output: 2
}

func ExampleVec_WithLabels() {
	reg, err := mmv.New("disks", mmv.Options{Dir: dir(), Labels: []mmv.Label{{Name: "team", Value: "storage"}}})
	if err != nil {
		log.Fatal(err)
	}
	defer reg.Close()
	reads := reg.CounterVec(mmv.Metric{Name: "reads", Labels: []mmv.Label{{Name: "layer", Value: "cache", Optional: true}}})
	reads.WithLabels("sda", mmv.Label{Name: "rotational", Value: true}, mmv.Label{Name: "rpm", Value: 7200}).Inc()

	f, err := mmv.Open(reg.Path())
	if err != nil {
		log.Fatal(err)
	}
	for _, l := range f.Labels {
		fmt.Println(l.Kind.Level(), l.JSON)
	}
	// Output:
	// cluster {"team":"storage"}
	// pmid {"layer":"cache"}
	// instances {"rotational":true}
	// instances {"rpm":7200}
}

func ExampleTimer() {
	reg, err := mmv.New("jobs", mmv.Options{Dir: dir()})
	if err != nil {
		log.Fatal(err)
	}
	defer reg.Close()
	busy := reg.Timer(mmv.Metric{Name: "busy", OneLine: "Time spent in jobs"})
	job := func() {
		defer busy.Since(time.Now())
		// ... work ...
	}
	job()
	fmt.Println(busy.Value() > 0)
	// Output: true
}

// The time of a download is correct during the download, unlike that of a Timer.
func ExampleElapsed() {
	reg, err := mmv.New("download", mmv.Options{Dir: dir()})
	if err != nil {
		log.Fatal(err)
	}
	defer reg.Close()
	active := reg.Elapsed(mmv.Metric{Name: "active", OneLine: "Time in downloads"})
	active.Start()
	time.Sleep(2 * time.Millisecond)
	fmt.Println(active.Value() >= 2*time.Millisecond)
	active.End()
	// Output: true
}

func ExampleHistogram() {
	reg, err := mmv.New("api", mmv.Options{Dir: dir()})
	if err != nil {
		log.Fatal(err)
	}
	defer reg.Close()
	latency := reg.Histogram(mmv.Metric{
		Name:  "latency",
		Units: pcp.Units{DimTime: 1, ScaleTime: pcp.TimeNsec},
	})
	for i := range 100 {
		latency.ObserveDuration(time.Duration(i) * time.Millisecond)
	}
	reg.Flush() // done automatically once a second
	fmt.Println(reg.Lookup("latency.count"), reg.Lookup("latency.stats", "max"))
	// Output: 100 9.9e+07
}

func ExampleString() {
	reg, err := mmv.New("build", mmv.Options{Dir: dir()})
	if err != nil {
		log.Fatal(err)
	}
	defer reg.Close()
	version := reg.String(mmv.Metric{Name: "version"})
	version.Set("1.2.3")
	fmt.Println(version.Value())
	// Output: 1.2.3
}

// A program that finds its values by name, as with libpcp_mmv.
func ExampleRegistry_Lookup() {
	reg, err := mmv.New("acme", mmv.Options{Dir: dir()})
	if err != nil {
		log.Fatal(err)
	}
	defer reg.Close()
	kinds := reg.InDom(mmv.InDomDef{Instances: []string{"Anvils", "other"}})
	reg.ValueVec(mmv.Metric{Name: "sold", InDom: kinds}, mmv.TypeU32)
	reg.Lookup("sold", "Anvils").Inc()
	reg.Lookup("sold", "Bird Seed", "other").Add(5)
	reg.Lookup("nothing").Inc()
	fmt.Println(reg.Lookup("sold", "Anvils"), reg.Lookup("sold", "other"))
	// Output: 1 5
}

// A program that starts again continues from its last values.
func ExampleOptions_continue() {
	opt := mmv.Options{Dir: dir(), Persist: true, Continue: true}
	for range 3 {
		reg, err := mmv.New("worker", opt)
		if err != nil {
			log.Fatal(err)
		}
		done := reg.Counter(mmv.Metric{Name: "done"})
		done.Add(10)
		fmt.Println(done.Value())
		reg.Close()
	}
	// Output:
	// 10
	// 20
	// 30
}
