package importer_test

import (
	"fmt"
	"log"
	"os"
	"path/filepath"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/archive/importer"
)

// An archive with the temperature of a cellar, and the openings of doors.
func Example() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)

	im, err := importer.Start(filepath.Join(dir, "cellar"), importer.Options{Host: "cellar.example.com", TimeZone: "UTC"})
	if err != nil {
		log.Fatal(err)
	}
	temp, err := im.NewMetric("cellar.temperature", importer.Spec{Type: pcp.TypeDouble, OneLine: "degrees Celsius"})
	if err != nil {
		log.Fatal(err)
	}
	doors, err := im.NewMetric("cellar.door.opened", importer.Spec{
		Type: pcp.TypeU32, Sem: pcp.SemCounter, Units: pcp.Units{DimCount: 1}, InDom: im.NewInDom(),
	})
	if err != nil {
		log.Fatal(err)
	}
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for i := range 3 {
		temp.PutDouble(11.5 + float64(i)/4)
		for k, name := range []string{"north", "south"} {
			door, err := doors.Instance(name)
			if err != nil {
				log.Fatal(err)
			}
			door.PutInt(int64(i * k))
		}
		if err := im.Write(start.Add(time.Duration(i) * time.Minute)); err != nil {
			log.Fatal(err)
		}
	}
	if err := im.End(); err != nil {
		log.Fatal(err)
	}

	a, err := archive.Open(im.Path())
	if err != nil {
		log.Fatal(err)
	}
	defer a.Close()
	for res, err := range a.Records(a.Label().Start, archive.Forward) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Print(res.Time.Time().UTC().Format(time.TimeOnly), " ", res.Sets[0].Values[0].Double())
		for _, v := range res.Sets[1].Values {
			name, _ := a.Meta().View(doors.Desc().InDom, res.Time).Name(v.Inst)
			fmt.Print(" ", name, " ", v.As(pcp.TypeU32).Uint32())
		}
		fmt.Println()
	}
	// Output:
	// 00:00:00 11.5 north 0 south 0
	// 00:01:00 11.75 north 0 south 1
	// 00:02:00 12 north 0 south 2
}
