// Pducapture is a relay between two programs that speak PCP's protocol, and
// writes each PDU as annotated text (see wire.Dump).
//
// Between clients and a collector:
//
//	pducapture -o out.txt -to 127.0.0.1:44321 -- pminfo -h 127.0.0.1:PORT -d sample
//
// It listens on its own port, puts its number in place of PORT in the command,
// runs the command, and ends with it.
//
// Between a collector and an agent it takes the agent's place in pmcd.conf:
//
//	sample 29 pipe binary /path/pducapture -agent -o out.txt -- /path/pmdasample -d 29
//
// Lines with ">" begin PDUs to the collector or agent, "<" those from it.
// Captures serve as tests of package wire.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"github.com/go-pcp/pcp/wire"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("pducapture: ")
	out := flag.String("o", "/dev/stdout", "write PDUs to `file`")
	to := flag.String("to", "127.0.0.1:44321", "collector at `address`; a path is a Unix socket")
	agent := flag.Bool("agent", false, "relay standard input and output to and from the command, an agent")
	flag.Parse()
	if flag.NArg() == 0 {
		flag.Usage()
		os.Exit(2)
	}
	f, err := os.OpenFile(*out, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		log.Fatal(err)
	}
	c := &capture{w: f}
	if *agent {
		err = c.agent(flag.Args())
	} else {
		err = c.clients(*to, flag.Args())
	}
	if err := errors.Join(err, f.Close()); err != nil {
		log.Fatal(err)
	}
}

// A capture writes PDUs whole, from any goroutine.
type capture struct {
	mu sync.Mutex
	w  io.Writer
}

// relay copies PDUs from one side to the other until the stream ends.
func (c *capture) relay(dir string, to io.Writer, from io.Reader) error {
	r := wire.NewReader(from)
	r.Max = wire.MaxPDU
	for {
		h, body, err := r.Next()
		switch {
		case err == io.EOF, errors.Is(err, net.ErrClosed), errors.Is(err, os.ErrClosed), errors.Is(err, syscall.ECONNRESET):
			return nil // one side has left, perhaps with the other's words unread
		}
		if err != nil {
			return err
		}
		pdu := wire.AppendHeader(nil, h)
		pdu = append(pdu, body...)
		if err := c.dump(dir, h, pdu); err != nil {
			return err
		}
		if _, err := to.Write(pdu); err != nil {
			return err
		}
	}
}

func (c *capture) dump(dir string, h wire.Header, pdu []byte) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s %v\n", dir, h.Type)
	if err := wire.Dump(&b, pdu); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	_, err := c.w.Write(b.Bytes())
	return err
}

// agent runs an agent between our standard input and output.
func (c *capture) agent(args []string) error {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	sent := make(chan error, 1)
	go func() {
		err := c.relay(">", in, os.Stdin)
		sent <- errors.Join(err, in.Close())
	}()
	err = c.relay("<", os.Stdout, out)
	// The agent is gone, and this program ends too: the collector need not send
	// more.
	select {
	case e := <-sent:
		err = errors.Join(err, e)
	default:
	}
	return errors.Join(err, cmd.Wait())
}

// clients runs a command whose connections are relayed to a collector.
func (c *capture) clients(to string, args []string) error {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			wg.Go(func() {
				if err := c.client(conn, to); err != nil {
					log.Print(err)
				}
			})
		}
	})
	port := strconv.Itoa(ln.Addr().(*net.TCPAddr).Port)
	for i := range args {
		args[i] = strings.ReplaceAll(args[i], "PORT", port)
	}
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	err = cmd.Run()
	ln.Close()
	wg.Wait()
	if status := new(exec.ExitError); errors.As(err, &status) {
		log.Print(err) // captures of failures are wanted too
		return nil
	}
	return err
}

func (c *capture) client(conn net.Conn, to string) error {
	defer conn.Close()
	network := "tcp"
	if strings.HasPrefix(to, "/") {
		network = "unix"
	}
	server, err := net.Dial(network, to)
	if err != nil {
		return err
	}
	defer server.Close()
	asked := make(chan error, 1)
	go func() {
		err := c.relay(">", server, conn)
		server.Close() // the client has gone
		asked <- err
	}()
	err = c.relay("<", conn, server)
	conn.Close()
	return errors.Join(err, <-asked)
}
