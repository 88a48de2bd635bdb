package push

import (
	"crypto/tls"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/go-pcp/pcp/config"
	"github.com/go-pcp/pcp/internal/tlsconf"
)

// TLS returns the TLS configuration of tls.conf for [Config]. The server's certificate is always checked, whatever
// the file has, as the token may be sent to the server. getenv supplies the variable that relaxes this.
func TLS(host string, conf *config.Config, getenv func(string) string) (*tls.Config, error) {
	file, err := tlsconf.ReadFile(tlsconf.Path(conf))
	if err != nil {
		return nil, err
	}
	file.VerifyServer = "true"
	return file.Client(host, getenv)
}

// ReadToken reads a token from a file, which may be a line of pmproxy's http.tokens: a name, the token, and what
// it is for (push=…, quota=…).
func ReadToken(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxToken))
	if err != nil {
		return "", err
	}
	line, _, _ := strings.Cut(string(b), "\n")
	words := slices.DeleteFunc(strings.Fields(line), func(word string) bool {
		return strings.HasPrefix(word, "push=") || strings.HasPrefix(word, "quota=")
	})
	if len(words) == 0 {
		return "", fmt.Errorf("%s: the first line has no token", path)
	}
	return words[len(words)-1], nil
}

// maxToken limits the first line of a token file.
const maxToken = 4096
