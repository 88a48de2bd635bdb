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
