package conf_test

import (
	"fmt"
	"log"
	"strings"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/pmlogger/conf"
)

func ExampleRead() {
	const text = `
log mandatory on every 10 seconds {
	kernel.all.load [ "1 minute" ]
	disk.dev
}
[access]
allow localhost : all;
`
	c, err := conf.Read(strings.NewReader(text), "config", time.Minute)
	if err != nil {
		log.Fatal(err)
	}
	for _, g := range c.Groups {
		for _, m := range g.Metrics {
			fmt.Println(m.Name, m.Instances, g.Interval)
		}
	}
	// Output:
	// kernel.all.load [{1 minute 0}] 10s
	// disk.dev [] 10s
}
