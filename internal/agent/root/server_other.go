//go:build !unix

package root

import (
	"context"
	"errors"
	"os"

	"github.com/go-pcp/pcp/config"
)

// A ServerConfig sets the users that a Server serves.
type ServerConfig struct {
	Path     string
	Users    []int
	Commands string
	Output   *os.File
}

// ServerConfigFrom returns the zero configuration.
func ServerConfigFrom(*config.Config) ServerConfig { return ServerConfig{} }

// A Server serves no clients on this system.
type Server struct{}

// Listen fails on this system.
func (a *Agent) Listen(ServerConfig) (*Server, error) { return nil, errors.ErrUnsupported }

// Run fails.
func (s *Server) Run(context.Context) error { return errors.ErrUnsupported }
