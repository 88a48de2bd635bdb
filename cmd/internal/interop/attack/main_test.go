package attack

import (
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	if mode := os.Getenv(hostileEnv); mode != "" {
		hostileAgent(mode)
		os.Exit(0)
	}
	os.Exit(Main(m))
}
