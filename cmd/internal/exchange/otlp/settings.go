package otlp

import (
	"bytes"
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"net/textproto"
	"os"
	"strings"

	"github.com/go-pcp/pcp/cmd/internal/prom/names"
	"github.com/go-pcp/pcp/cmd/internal/prom/remote"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/pcptime"
)

// settings are the options of this tool.
type settings struct {
	cfg        remote.Config
	dry        bool
	attributes []names.Pair
	token      string
	password   string
	ca         string
	cert, key  string
}

func (set *settings) own(o *cli.Options, opt *cli.Option, arg string) bool {
	switch opt.Long {
	case "to":
		set.cfg.URL = arg
	case "dry-run":
		set.dry = true
	case "attribute":
		name, value, ok := strings.Cut(arg, "=")
		if name = strings.TrimSpace(name); !ok || name == "" {
			o.Usagef("--attribute needs NAME=VALUE")
			return true
		}
		set.attributes = names.Set(set.attributes, name, names.Quote(value))
	case "retry":
		d, err := pcptime.ParseInterval(arg)
		if err != nil || d <= 0 {
			o.Usagef("--retry needs a time such as 30s or 10min")
		}
		set.cfg.Retry = d
	case "header":
		name, value, ok := strings.Cut(arg, ":")
		name, value = textproto.CanonicalMIMEHeaderKey(strings.TrimSpace(name)), strings.TrimSpace(value)
		switch {
		case !ok || name == "" || strings.ContainsAny(name, " \r\n") || strings.ContainsAny(value, "\r\n"):
			o.Usagef("--header needs NAME:VALUE")
			return true
		case name == "Authorization":
			o.Usagef("--token and --user authenticate, with secrets in files")
			return true
		}
		if set.cfg.Header == nil {
			set.cfg.Header = make(http.Header)
		}
		set.cfg.Header.Add(name, value)
	case "token":
		set.token = arg
	case "user":
		set.cfg.User = arg
	case "password":
		set.password = arg
	case "ca":
		set.ca = arg
	case "cert":
		set.cert = arg
	case "key":
		set.key = arg
	default:
		return false
	}
	return true
}

// secrets reads the files of the options for connections.
func (set *settings) secrets() error {
	var err error
	if set.token != "" {
		if set.cfg.Token, err = secret(set.token); err != nil {
			return err
		}
	}
	if set.password != "" {
		if set.cfg.Password, err = secret(set.password); err != nil {
			return err
		}
	}
	if set.ca == "" && set.cert == "" {
		return nil
	}
	set.cfg.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
	if set.ca != "" {
		b, err := os.ReadFile(set.ca)
		if err != nil {
			return err
		}
		set.cfg.TLS.RootCAs = x509.NewCertPool()
		if !set.cfg.TLS.RootCAs.AppendCertsFromPEM(b) {
			return fmt.Errorf("%s: no certificate in it", set.ca)
		}
	}
	if set.cert != "" {
		pair, err := tls.LoadX509KeyPair(set.cert, cmp.Or(set.key, set.cert))
		if err != nil {
			return fmt.Errorf("%s: %w", set.cert, err)
		}
		set.cfg.TLS.Certificates = []tls.Certificate{pair}
	}
	return nil
}

// maxSecret limits the file of a secret.
const maxSecret = 64 << 10

// secret reads the first line of a file.
func secret(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxSecret))
	if err != nil {
		return "", err
	}
	line, _, _ := bytes.Cut(b, []byte("\n"))
	text := strings.TrimSpace(string(line))
	if text == "" {
		return "", fmt.Errorf("%s: the first line is empty", path)
	}
	if strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return "", fmt.Errorf("%s: not a line of text", path)
	}
	return text, nil
}
