package getopt_test

import (
	"fmt"
	"os"
	"slices"

	"github.com/go-pcp/pcp/config"
	"github.com/go-pcp/pcp/getopt"
)

func Example() {
	options := []getopt.Option{
		getopt.Heading("Options"),
		{Short: 'b', Long: "batch", Arg: "N", Help: "fetch at most N metrics at a time"},
		{Short: 'v', Long: "verbose", Help: "say more"},
	}
	p := getopt.New(options, []string{"-vb3", "disk.dev", "--bat=5", "--quiet"})
	for opt, arg := range p.All() {
		if opt == nil {
			fmt.Println("tool:", p.Problem())
			continue
		}
		fmt.Printf("%c %q\n", opt.Short, arg)
	}
	fmt.Println(p.Args())
	fmt.Print(getopt.Usage("tool", "[options] metric", options))
	// Output:
	// v ""
	// b "3"
	// b "5"
	// tool: unrecognized option '--quiet'
	// [disk.dev]
	// Usage: tool [options] metric
	//
	// Options:
	//   -b N, --batch=N       fetch at most N metrics at a time
	//   -v, --verbose         say more
}

// The options that programs of PCP have in common, and one of the program's own.
func ExampleOptions() {
	env := map[string]string{"PCP_INTERVAL": "5sec", "PCP_CONF": os.DevNull}
	width := 80
	o := getopt.NewOptions(&getopt.Program{
		Synopsis: "[options] metricname ...",
		Options:  append(slices.Clone(getopt.General), getopt.Option{Short: 'w', Long: "width", Arg: "N", Help: "columns of the report"}),
		Own: func(o *getopt.Options, opt *getopt.Option, arg string) bool {
			if opt.Short != 'w' {
				return false
			}
			width = o.Number(opt, arg, 1, "a positive numeric")
			return true
		},
		Config: config.New(func(name string) string { return env[name] }),
		Stderr: os.Stdout,
	}, []string{"/usr/bin/report", "-h", "db7", "--samples=3", "-w", "120", "disk.dev.read"})
	o.Parse()
	if status, exit := o.Done(); exit {
		os.Exit(status)
	}
	fmt.Println(o.Hosts, o.Samples, o.Interval, width, o.Args)
	// Output: [db7] 3 5s 120 [disk.dev.read]
}

// Messages are kept until a program has printed all of them.
func ExampleMessages() {
	m := getopt.Messages{Name: "report", Stderr: os.Stdout, Config: config.New(func(string) string { return "" })}
	m.Errorf("%s: no such metric", "disk.dev.raed")
	m.Printf("Is it %s?\n", "disk.dev.read")
	m.Flush()
	// Output:
	// report: disk.dev.raed: no such metric
	// Is it disk.dev.read?
}
