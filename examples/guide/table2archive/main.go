// Table2archive makes an archive of a table on its standard input. A line has the time in seconds
// since 1970, the load of one minute and of fifteen, the milliseconds that two processors spent in
// programs (two columns) and in the kernel (two columns), the free memory in kilobytes, and the
// number of operations of the disks.
//
//	go run ./examples/guide/table2archive /tmp/shop <table
//	pmclient -a /tmp/shop -t 10sec
package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/archive/importer"
)

func main() {
	log.SetFlags(0)
	if len(os.Args) != 2 {
		log.Fatal("Usage: table2archive archive <table")
	}
	if err := run(os.Args[1], os.Stdin); err != nil {
		log.Fatal(err)
	}
}

// columns are the metrics and instances of the columns after the time.
func columns() [][2]string {
	return [][2]string{
		{"kernel.all.load", "1 minute"},
		{"kernel.all.load", "15 minute"},
		{"kernel.percpu.cpu.user", "cpu0"},
		{"kernel.percpu.cpu.user", "cpu1"},
		{"kernel.percpu.cpu.sys", "cpu0"},
		{"kernel.percpu.cpu.sys", "cpu1"},
		{"mem.freemem", ""},
		{"disk.all.total", ""},
	}
}

func run(path string, table io.Reader) (err error) {
	im, err := importer.Start(path, importer.Options{Host: "shop.example", TimeZone: "UTC", Version: archive.Version2})
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, im.Discard())
			return
		}
		err = im.End()
	}()
	if err := describe(im); err != nil {
		return err
	}
	if err := im.PutValue("hinv.ncpu", "", "2"); err != nil { // goes into the first record
		return err
	}
	s := bufio.NewScanner(table)
	for n := 1; s.Scan(); n++ {
		words := strings.Fields(s.Text())
		if len(words) != 1+len(columns()) {
			return fmt.Errorf("line %d: %d columns, not %d", n, len(words), 1+len(columns()))
		}
		sec, err := strconv.ParseInt(words[0], 10, 64)
		if err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
		for i, column := range columns() {
			if err := im.PutValue(column[0], column[1], words[1+i]); err != nil {
				return fmt.Errorf("line %d: %w", n, err)
			}
		}
		if err := im.Write(time.Unix(sec, 0)); err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
	}
	return s.Err()
}

// describe declares the metrics with the identifiers that they have on hosts with Linux.
func describe(im *importer.Importer) error {
	loads, processors := pcp.NewInDom(60, 2), pcp.NewInDom(60, 0)
	count, msec := pcp.NewUnits(0, 0, 1, 0, 0, pcp.CountOne), pcp.NewUnits(0, 1, 0, 0, pcp.TimeMsec, 0)
	for _, m := range []struct {
		name string
		desc pcp.Desc
	}{
		{"hinv.ncpu", pcp.Desc{PMID: pcp.NewPMID(60, 0, 32), Type: pcp.TypeU32, InDom: pcp.InDomNull, Sem: pcp.SemDiscrete}},
		{"kernel.all.load", pcp.Desc{PMID: pcp.NewPMID(60, 2, 0), Type: pcp.TypeFloat, InDom: loads, Sem: pcp.SemInstant}},
		{"kernel.percpu.cpu.user", pcp.Desc{PMID: pcp.NewPMID(60, 0, 0), Type: pcp.TypeU64, InDom: processors, Sem: pcp.SemCounter, Units: msec}},
		{"kernel.percpu.cpu.sys", pcp.Desc{PMID: pcp.NewPMID(60, 0, 2), Type: pcp.TypeU64, InDom: processors, Sem: pcp.SemCounter, Units: msec}},
		{"mem.freemem", pcp.Desc{
			PMID: pcp.NewPMID(60, 1, 10), Type: pcp.TypeU64, InDom: pcp.InDomNull, Sem: pcp.SemInstant,
			Units: pcp.NewUnits(1, 0, 0, pcp.SpaceKByte, 0, 0),
		}},
		{"disk.all.total", pcp.Desc{PMID: pcp.NewPMID(60, 0, 29), Type: pcp.TypeU64, InDom: pcp.InDomNull, Sem: pcp.SemCounter, Units: count}},
	} {
		if _, err := im.AddMetric(m.name, m.desc); err != nil {
			return err
		}
	}
	for _, in := range []struct {
		indom pcp.InDom
		name  string
		inst  int32
	}{{loads, "1 minute", 1}, {loads, "15 minute", 15}, {processors, "cpu0", 0}, {processors, "cpu1", 1}} {
		if err := im.AddInstance(in.indom, in.name, in.inst); err != nil {
			return err
		}
	}
	return nil
}
