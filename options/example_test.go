package options_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive/importer"
	"github.com/go-pcp/pcp/getopt"
	"github.com/go-pcp/pcp/options"
)

// tool is a whole program with the options that all programs of PCP have. Its main calls
// os.Exit(tool(os.Args...)).
func tool(args ...string) (status int) {
	o := options.Parse(&getopt.Program{Synopsis: "[options] metricname ...", Options: getopt.General}, args)
	if len(o.Args) == 0 && !o.WantsVersion() {
		o.Usagef("no metricname")
	}
	if status, exit := o.Done(); exit {
		return status
	}
	ctx := context.Background()
	c, err := o.Open(ctx)
	if err != nil {
		return o.Fatal(err)
	}
	defer c.Close()
	for s, err := range o.Watch(ctx, c, o.Args...) {
		if err != nil {
			return o.Fatal(err)
		}
		for _, v := range s.Values {
			fmt.Println(s.Time.Time().In(o.Zone).Format(time.TimeOnly), v)
		}
	}
	return 0
}

// A tool with all standard options, and an archive for it.
func Example() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	cellar := filepath.Join(dir, "cellar")
	if err := record(cellar); err != nil {
		log.Fatal(err)
	}
	tool("report", "-a", cellar, "-t", "2min", "-S", "+2min", "-s", "2", "-Z", "UTC", "cellar.temperature")
	status := tool("report", "--archive", cellar, "-z", "--interval=1min", "-T10sec", "cellar.temperature")
	fmt.Println("status", status)
	// Output:
	// Note: timezone set to "TZ=UTC"
	//
	// 12:02:00 cellar.temperature 1.200000e+01
	// 12:04:00 cellar.temperature 1.250000e+01
	// Note: timezone set to local timezone of host "cellar" from archive
	//
	// 07:00:00 cellar.temperature 1.150000e+01
	// status 0
}

// record makes an archive of ten minutes.
func record(path string) error {
	im, err := importer.Start(path, importer.Options{Host: "cellar", TimeZone: "EST5EDT"})
	if err != nil {
		return err
	}
	temp, err := im.NewMetric("cellar.temperature", importer.Spec{Type: pcp.TypeDouble})
	if err != nil {
		return err
	}
	start := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	for i := range 11 {
		temp.PutDouble(11.5 + float64(i)/4)
		if err := im.Write(start.Add(time.Duration(i) * time.Minute)); err != nil {
			return err
		}
	}
	return im.End()
}
