package pmapi_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"

	"github.com/go-pcp/pcp/pmapi"
)

// A program that does not leave to tls.conf whom it trusts.
func ExampleDialer_tls() {
	ca, err := os.ReadFile("/etc/pcp/tls/ca.crt")
	if err != nil {
		fmt.Println(err)
		return
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	d := pmapi.Dialer{TLS: &tls.Config{RootCAs: roots}}
	c, err := d.Dial(context.Background(), "pcps://server.example") // which is the name to check
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
}
