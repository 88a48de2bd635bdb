package access_test

import (
	"errors"
	"fmt"
	"net"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmcd/access"
)

func ExampleRules() {
	rules := access.Default()
	rules.AddHost("10.1.*", access.Rule{Ops: access.OpAll, Deny: access.OpAll})

	for _, from := range []string{"192.0.2.1", "10.1.2.3"} {
		ad, err := rules.Admit(&net.TCPAddr{IP: net.ParseIP(from)}, false)
		if err != nil {
			fmt.Println(from, "is refused:", errors.Is(err, pcp.ErrPermission))
			continue
		}
		fmt.Println(from, "may fetch:", ad.Deny&access.OpFetch == 0, "store:", ad.Deny&access.OpStore == 0)
		rules.Leave(ad)
	}
	// Output:
	// 192.0.2.1 may fetch: true store: false
	// 10.1.2.3 is refused: true
}
