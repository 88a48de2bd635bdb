package record_test

import (
	"fmt"
	"log"
	"time"

	"github.com/go-pcp/pcp/pmapi/record"
)

// A program has two hosts recorded for a minute. It needs pmlogger and collectors, so
// that it is not run here.
func Example() {
	s, err := record.Setup("session.folio", record.Config{Creator: "overview"})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	var hosts []*record.Host
	for i, name := range []string{"localhost", "bozo"} {
		h, err := s.AddHost(name, i == 0)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Fprintln(h, "log mandatory on 10 sec { kernel.all.load disk.all.read }")
		hosts = append(hosts, h)
	}
	if err := s.On(); err != nil {
		log.Fatal(err)
	}
	time.Sleep(time.Minute)
	if err := s.Off(); err != nil {
		log.Print(err) // a logger has ended before
	}
	for _, h := range hosts {
		<-h.Done()
		fmt.Println(h.Archive(), h.Status(), "see", h.LogFile())
	}
}
