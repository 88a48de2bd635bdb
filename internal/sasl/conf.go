package sasl

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// A Conf is the SASL library's configuration for an application, such as
// /etc/sasl2/pmcd.conf.
type Conf struct {
	Mechanisms   []string // mech_list; nil means all
	Database     string   // sasldb_path; "" means DefaultDatabase
	CheckMethods []string // pwcheck_method; nil means auxprop
	PropPlugins  []string // auxprop_plugin; nil means all
}

// DefaultDatabase is where the SASL library has its accounts.
const DefaultDatabase = "/etc/sasldb2"

// ParseConf reads a configuration: lines of a key, a colon and a value. Other
// keys are ignored.
func ParseConf(r io.Reader) (Conf, error) {
	var c Conf
	lines := bufio.NewScanner(io.LimitReader(r, 1<<20))
	no := 0
	for lines.Scan() {
		no++
		line := strings.TrimSpace(lines.Text())
		if line == "" || line[0] == '#' {
			continue
		}
		key, value, ok := strings.Cut(line, ":")
		if !ok {
			return c, fmt.Errorf("line %d: no ':' after the key", no)
		}
		value = strings.TrimSpace(value)
		switch strings.ToLower(strings.TrimSpace(key)) {
		case "mech_list":
			c.Mechanisms = fields(value)
		case "sasldb_path":
			c.Database = value
		case "pwcheck_method":
			c.CheckMethods = strings.Fields(value)
		case "auxprop_plugin":
			c.PropPlugins = strings.Fields(value)
		}
	}
	if err := lines.Err(); err != nil {
		return c, fmt.Errorf("line %d: %w", no+1, err)
	}
	return c, nil
}
