package config_test

import (
	"fmt"
	"os"

	"github.com/go-pcp/pcp/config"
)

func ExampleConfig_Get() {
	env := map[string]string{"PCP_LOG_DIR": "/tmp/logs", "PCP_CONF": os.DevNull}
	cfg := config.New(func(name string) string { return env[name] })
	fmt.Println(cfg.Get("PCP_LOG_DIR"))
	fmt.Println(cfg.Get("PCP_VAR_DIR"))
	// Output:
	// /tmp/logs
	// /var/lib/pcp
}

// A setting can be present and empty, which Get does not distinguish.
func ExampleConfig_Lookup() {
	env := map[string]string{"PCP_XCONFIRM_PROG": "", "PCP_CONF": os.DevNull}
	cfg := config.NewLookup(func(name string) (string, bool) { value, ok := env[name]; return value, ok })
	for _, name := range []string{"PCP_XCONFIRM_PROG", "PCP_NO_SUCH_SETTING", "PCP_LOG_DIR"} {
		value, ok := cfg.Lookup(name)
		fmt.Printf("%q %t\n", value, ok)
	}
	// Output:
	// "" true
	// "" false
	// "/var/log/pcp" true
}

func ExampleFeature() {
	for _, name := range []string{"multi_threaded", "secure_sockets", "teleport"} {
		value, ok := config.Feature(name)
		fmt.Printf("%s %q %t\n", name, value, ok)
	}
	// Output:
	// multi_threaded "true" true
	// secure_sockets "true" true
	// teleport "" false
}
