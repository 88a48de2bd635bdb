package pmns_test

import (
	"fmt"
	"os"
	"strings"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmns"
)

const simple = `root {
	simple
}
simple {
	numfetch 253:0:0
	color    253:0:1
	time
}
simple.time {
	user 253:1:2
	sys  253:1:3
}
`

func Example() {
	tree, err := pmns.Parse(strings.NewReader(simple), "simple", false)
	if err != nil {
		fmt.Println(err)
		return
	}
	id, err := tree.Lookup("simple.time.user")
	fmt.Println(id, err)
	names, err := tree.Names(pcp.NewPMID(253, 0, 1))
	fmt.Println(names, err)
	// Output:
	// 253.1.2 <nil>
	// [simple.color] <nil>
}

func ExampleTree_Leaves() {
	tree, err := pmns.Parse(strings.NewReader(simple), "simple", false)
	if err != nil {
		fmt.Println(err)
		return
	}
	leaves, err := tree.Leaves("simple.time")
	if err != nil {
		fmt.Println(err)
		return
	}
	for name, id := range leaves {
		fmt.Println(name, "PMID:", id)
	}
	// Output:
	// simple.time.user PMID: 253.1.2
	// simple.time.sys PMID: 253.1.3
}

func ExampleTree_WriteTo() {
	tree := pmns.New()
	tree.Add("disk.dev.read", pcp.NewPMID(60, 0, 4))
	tree.Add("mmv", pcp.DynamicRoot(70))
	tree.WriteTo(os.Stdout)
	// Output:
	// root {
	// 	disk
	// 	mmv	70:*:*
	// }
	//
	// disk {
	// 	dev
	// }
	//
	// disk.dev {
	// 	read	60:0:4
	// }
}

// A ParseError also has the C tools' whole message.
func ExampleParseError() {
	_, err := pmns.Parse(strings.NewReader("root {\n\tfoo 1:2:4096\n}\n"), "myroot", true)
	fmt.Println(err)
	// Output: myroot:2: Illegal item field in PMID
}
