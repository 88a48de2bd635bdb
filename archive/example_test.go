package archive_test

import (
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
)

// record writes a small archive: the load, with a mark for a pause of the
// recorder. One instance is gone after that.
func record(path string) error {
	w, err := archive.Create(path, archive.WriterConfig{Label: archive.Label{Host: "dark.example.com", TimeZone: "UTC"}})
	if err != nil {
		return err
	}
	defer w.Close()
	load := pcp.Desc{PMID: pcp.NewPMID(60, 2, 0), Type: pcp.TypeFloat, InDom: pcp.NewInDom(60, 2), Sem: pcp.SemInstant}
	if err := w.Desc(load, "kernel.all.load"); err != nil {
		return err
	}
	averages := []pcp.Instance{{Inst: 1, Name: "1 minute"}, {Inst: 5, Name: "5 minute"}}
	var res pcp.Result
	for i := range 3 {
		res.Reset()
		res.Time = pcp.Timestamp{Sec: int64(1000 + 10*i)}
		if i == 2 {
			if err := w.Mark(pcp.Timestamp{Sec: 1015}); err != nil {
				return err
			}
			averages = averages[1:]
		}
		if err := w.InDom(res.Time, load.InDom, averages); err != nil {
			return err
		}
		res.AddSet(load.PMID)
		for _, in := range averages {
			res.Add(pcp.FloatValue(float32(i) + 0.5).WithInst(in.Inst))
		}
		if err := w.WriteResult(&res); err != nil {
			return err
		}
	}
	return w.Close()
}

func Example() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "20260101") // or that of an archive of pmlogger
	if err := record(path); err != nil {
		log.Fatal(err)
	}

	a, err := archive.Open(path)
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
	// 1000 kernel.all.load [1 minute] 5.000000e-01 [5 minute] 5.000000e-01
	// 1010 kernel.all.load [1 minute] 1.500000e+00 [5 minute] 1.500000e+00
	// 1015 mark
	// 1020 kernel.all.load [5 minute] 2.500000e+00
}
