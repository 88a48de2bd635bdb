package conf_test

import (
	"fmt"
	"strings"

	"github.com/go-pcp/pcp/pmcd/conf"
)

func ExampleParse() {
	file, err := conf.Parse(strings.NewReader(`
# Name  Id  IPC   Command
linux   60  pipe  binary /var/lib/pcp/pmdas/linux/pmdalinux
mmv     70  dso   mmv_init /var/lib/pcp/pmdas/mmv/pmda_mmv.so
broken  71  pipe
`))
	fmt.Println(err)
	for _, a := range file.Agents {
		fmt.Printf("%s %d %v %q\n", a.Name, a.Domain, a.Kind, a.Args)
	}
	// Output:
	// pmcd config[line 5]: Error: pipe PDU type expected (`binary')
	// linux 60 pipe ["/var/lib/pcp/pmdas/linux/pmdalinux"]
	// mmv 70 dso []
}

func ExampleAgent_Line() {
	agent := conf.Agent{Name: "hello", Domain: 400, Transport: conf.Transport{
		Kind: conf.Pipe,
		Args: []string{"/opt/hello/pmdahello", "-t", "two words"},
	}}
	fmt.Print(agent.Line())
	// Output:
	// hello	400	pipe	binary	/opt/hello/pmdahello -t "two words"
}
