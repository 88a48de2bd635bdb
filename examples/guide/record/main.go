// Record has pmlogger record the load of some hosts for a minute, into archives that a folio lists.
//
//	go run ./examples/guide/record session.folio local: server.example
//	pmafm session.folio list
package main

import (
	"errors"
	"flag"
	"fmt"
	"log"
	"time"

	"github.com/go-pcp/pcp/pmapi/record"
)

func main() {
	log.SetFlags(0)
	limit := flag.Duration("for", time.Minute, "how long to record")
	flag.Parse()
	if flag.NArg() < 2 {
		log.Fatal("Usage: record [-for 1m] folio host ...")
	}
	if err := run(flag.Arg(0), flag.Args()[1:], *limit); err != nil {
		log.Fatal(err)
	}
}

func run(folio string, names []string, limit time.Duration) error {
	s, err := record.Setup(folio, record.Config{Creator: "record"})
	if err != nil {
		return err
	}
	defer s.Close()
	var hosts []*record.Host
	for i, name := range names {
		h, err := s.AddHost(name, i == 0)
		if err != nil {
			return err
		}
		fmt.Fprintln(h, "log mandatory on 250 msec { kernel.all.load }")
		hosts = append(hosts, h)
	}
	if err := s.On(); err != nil {
		return err
	}
	time.Sleep(limit)
	err = s.Off()
	for i, h := range hosts {
		<-h.Done()
		fmt.Printf("%s: %s\n", names[i], h.Archive())
		if h.Status() != 0 {
			err = errors.Join(err, fmt.Errorf("pmlogger for %s: status %d, see %s", names[i], h.Status(), h.LogFile()))
		}
	}
	return err
}
