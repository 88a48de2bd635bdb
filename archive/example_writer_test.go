package archive_test

import (
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
)

// An archive with one metric, as pmlogger would write it. For a program's own
// data, package importer is simpler.
func ExampleWriter() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)

	w, err := archive.Create(filepath.Join(dir, "20260101"), archive.WriterConfig{
		Label: archive.Label{Version: archive.Version3, PID: int32(os.Getpid()), Host: "www.example.com", TimeZone: "UTC"},
	})
	if err != nil {
		log.Fatal(err)
	}
	reads := pcp.Desc{PMID: pcp.NewPMID(60, 0, 4), Type: pcp.TypeU64, InDom: pcp.NewInDom(60, 1), Sem: pcp.SemCounter}
	if err := w.Desc(reads, "disk.dev.read"); err != nil {
		log.Fatal(err)
	}
	var res pcp.Result
	for i := range 3 {
		res.Reset()
		res.Time = pcp.Timestamp{Sec: int64(1_767_225_600 + 10*i)}
		disks := []pcp.Instance{{Inst: 0, Name: "sda"}, {Inst: 1, Name: "sdb"}}[:1+i/2]
		if err := w.InDom(res.Time, reads.InDom, disks); err != nil {
			log.Fatal(err)
		}
		res.AddSet(reads.PMID)
		for _, d := range disks {
			res.Add(pcp.Uint64Value(uint64(1000 * i)).WithInst(d.Inst))
		}
		if err := w.WriteResult(&res); err != nil {
			log.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		log.Fatal(err)
	}

	a, err := archive.Open(w.Path())
	if err != nil {
		log.Fatal(err)
	}
	defer a.Close()
	for res, err := range a.Records(a.Label().Start, archive.Forward) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(res.Time.Time().UTC().Format("15:04:05"), len(res.Sets[0].Values), "disks")
	}
	// Output:
	// 00:00:00 1 disks
	// 00:00:10 1 disks
	// 00:00:20 2 disks
}
