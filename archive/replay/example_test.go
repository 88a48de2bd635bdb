package replay_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/archive/replay"
)

// The values of a counter halfway between its records, backwards.
func ExampleCursor_Fetch() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	start := pcp.Timestamp{Sec: 1_700_000_000}
	id := pcp.NewPMID(510, 0, 1)
	path := filepath.Join(dir, "host")
	if err := write(path, start, id); err != nil {
		fmt.Println(err)
		return
	}

	set, err := replay.Open(path, replay.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer set.Close()
	c := set.NewCursor()
	defer c.Close()
	from := start.Add(25 * time.Second)
	if err := c.SetMode(replay.Interp, &from, -10*time.Second); err != nil {
		fmt.Println(err)
		return
	}
	var res pcp.Result
	for {
		err := c.Fetch(context.Background(), []pcp.PMID{id}, nil, false, &res)
		if errors.Is(err, pcp.ErrEOL) {
			break
		}
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(res.Time.Sub(start), res.Sets[0].Values)
	}
	// Output:
	// 25 [250]
	// 15 [150]
	// 5 [50]
}

// write writes an archive of a counter that grows by 10 each second.
func write(path string, start pcp.Timestamp, id pcp.PMID) error {
	w, err := archive.Create(path, archive.WriterConfig{Label: archive.Label{Host: "host", TimeZone: "UTC", Start: start}})
	if err != nil {
		return err
	}
	err = w.Desc(pcp.Desc{PMID: id, Type: pcp.TypeU32, InDom: pcp.InDomNull, Sem: pcp.SemCounter}, "example.requests")
	for i := 0; i < 4 && err == nil; i++ {
		res := pcp.Result{Time: start.Add(time.Duration(i) * 10 * time.Second)}
		res.AddSet(id)
		res.Add(pcp.Uint32Value(uint32(100 * i)))
		err = w.WriteResult(&res)
	}
	return errors.Join(err, w.Close())
}
