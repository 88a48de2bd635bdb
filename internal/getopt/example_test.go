package getopt_test

import (
	"fmt"

	"github.com/go-pcp/pcp/internal/getopt"
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
