//go:build !unix

package rootproto

import (
	"errors"
	"os"

	"github.com/go-pcp/pcp/config"
)

// DefaultPath is "": there is no helper on this system.
func DefaultPath(*config.Config) string { return "" }

// A Client has no helper to ask on this system.
type Client struct{ path string }

// NewClient returns a client.
func NewClient(path string) *Client { return &Client{path} }

// Path returns the argument of NewClient.
func (c *Client) Path() string { return c.path }

// Connect fails.
func (c *Client) Connect() error { return errors.ErrUnsupported }

// Close does nothing.
func (c *Client) Close() error { return nil }

// HostName fails.
func (c *Client) HostName(string) (string, error) { return "", errors.ErrUnsupported }

// HostNameOf fails.
func (c *Client) HostNameOf(int) (string, error) { return "", errors.ErrUnsupported }

// ProcessID fails.
func (c *Client) ProcessID(string) (int, error) { return 0, errors.ErrUnsupported }

// CGroupName fails.
func (c *Client) CGroupName(string) (string, error) { return "", errors.ErrUnsupported }

// A Process is an agent that was started.
type Process struct {
	PID     int
	In, Out *os.File
}

// Start fails.
func (c *Client) Start(int, string, string) (Process, error) {
	return Process{}, errors.ErrUnsupported
}

// Wait fails.
func (c *Client) Wait() (pid, status int, err error) { return 0, 0, errors.ErrUnsupported }

// Kill fails.
func (c *Client) Kill(int) error { return errors.ErrUnsupported }

// Terminate fails.
func (c *Client) Terminate(int) error { return errors.ErrUnsupported }
