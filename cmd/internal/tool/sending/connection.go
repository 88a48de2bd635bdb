package sending

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/textproto"
	"strings"

	"github.com/go-pcp/pcp/cmd/internal/prom/remote"
	"github.com/go-pcp/pcp/cmd/internal/prom/send"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/pcptime"
)

// OptRetry is the option that limits how long a request is repeated.
var OptRetry = cli.Option{Long: "retry", Arg: "TIME", Help: "how long to repeat a failed request [5 minutes]"}

// A Connection has the options of commands that connect to one server.
type Connection struct {
	Config  remote.Config
	Secrets send.Secrets

	prefix string // of the names of the options; "" means "--"
}

// option returns the name of an option.
func (c *Connection) option(name string) string { return cmp.Or(c.prefix, "--") + name }

// Check returns an error if an option lacks another one.
func (c *Connection) Check() error {
	switch {
	case (c.Config.User != "") != (c.Secrets.Password != ""):
		return fmt.Errorf("%s and %s belong together", c.option("user"), c.option("password"))
	case c.Secrets.Key != "" && c.Secrets.Cert == "":
		return fmt.Errorf("%s needs %s", c.option("key"), c.option("cert"))
	}
	return nil
}

// Read reads the files of secrets into Config. Its errors name the option.
func (c *Connection) Read() error {
	if err := c.Check(); err != nil {
		return err
	}
	err := c.Secrets.Read(&c.Config)
	if e, ok := errors.AsType[*send.SecretError](err); ok {
		return fmt.Errorf("%s: %w", c.option(e.Setting), e.Err)
	}
	return err
}

// ConnectionRows returns the rows of the options, with their heading.
func ConnectionRows() []cli.Option {
	return []cli.Option{
		cli.Heading("Connection options"),
		{Long: "header", Arg: "NAME:VALUE", Help: "add a header to each request"},
		{Long: "token", Arg: "FILE", Help: "authenticate with the bearer token in FILE"},
		{Long: "user", Arg: "NAME", Help: "authenticate as a user, with --password"},
		{Long: "password", Arg: "FILE", Help: "the password is in FILE"},
		{Long: "ca", Arg: "FILE", Help: "trust the authorities in FILE, instead of those of the system"},
		{Long: "cert", Arg: "FILE", Help: "show the certificate in FILE"},
		{Long: "key", Arg: "FILE", Help: "the key of the certificate is in FILE"},
	}
}

// Own takes an option, OptRetry included, and reports whether it is one of these. A mistake is a usage error of o.
func (c *Connection) Own(o *cli.Options, opt *cli.Option, arg string) bool {
	switch opt.Long {
	case "retry":
		d, err := pcptime.ParseInterval(arg)
		if err != nil || d <= 0 {
			o.Usagef("--retry needs a time such as 30s or 10min, not %q", arg)
		}
		c.Config.Retry = d
	case "header":
		name, value, ok := strings.Cut(arg, ":")
		name, value = textproto.CanonicalMIMEHeaderKey(strings.TrimSpace(name)), strings.TrimSpace(value)
		switch {
		case !ok || name == "" || strings.ContainsAny(name, " \r\n") || strings.ContainsAny(value, "\r\n"):
			o.Usagef("%s needs NAME:VALUE, not %q", c.option("header"), arg)
			return true
		case name == "Authorization":
			o.Usagef("%s cannot set Authorization: %s and %s authenticate, with secrets in files", c.option("header"), c.option("token"), c.option("user"))
			return true
		}
		if c.Config.Header == nil {
			c.Config.Header = make(http.Header)
		}
		c.Config.Header.Add(name, value)
	case "token":
		c.Secrets.Token = arg
	case "user":
		c.Config.User = arg
	case "password":
		c.Secrets.Password = arg
	case "ca":
		c.Secrets.CA = arg
	case "cert":
		c.Secrets.Cert = arg
	case "key":
		c.Secrets.Key = arg
	default:
		return false
	}
	return true
}
