package ie

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
)

const (
	stompTimeout   = 2 * time.Second
	stompReconnect = time.Minute // between attempts
	maxStompFrame  = 64 << 10    // of what a broker answers
)

// A stomp sends messages to a broker, by STOMP 1.0. It is for one goroutine.
type stomp struct {
	host, port, user, pass, topic string
	timeout                       time.Duration
	report                        func(format string, args ...any)

	conn     net.Conn
	in       *bufio.Reader
	receipts int
	tried    time.Time
}

// readStomp reads the file with the address of the broker.
func readStomp(path string) (*stomp, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("cannot open STOMP configuration file %s: %s", path, cli.ErrText(err))
	}
	s := &stomp{topic: "PMIE", timeout: stompTimeout}
	for line := range strings.Lines(string(b)) {
		name, value, ok := strings.Cut(line, "=")
		if !ok {
			continue
		}
		if i := strings.IndexAny(value, " \t\r\n\v\f"); i >= 0 {
			value = value[:i]
		}
		switch name {
		case "host", "hostname":
			s.host = value
		case "port":
			s.port = value
		case "user", "username":
			s.user = value
		case "password", "passcode":
			s.pass = value
		case "topic":
			s.topic = value
		case "timeout":
			n, err := strconv.ParseUint(value, 10, 16)
			if err != nil || n == 0 {
				return nil, fmt.Errorf("timeout in STOMP config file %s is not a number of seconds: %q", path, value)
			}
			s.timeout = time.Duration(n) * time.Second
		}
	}
	for _, f := range []struct{ name, value string }{{"host", s.host}, {"port", s.port}, {"username", s.user}, {"passcode", s.pass}} {
		if f.value == "" {
			return nil, fmt.Errorf("no %s in STOMP config file %s", f.name, path)
		}
	}
	if _, err := strconv.ParseUint(s.port, 10, 16); err != nil {
		return nil, fmt.Errorf("port in STOMP config file %s is not a port: %q", path, s.port)
	}
	return s, nil
}

// connect logs in.
func (s *stomp) connect(ctx context.Context) error {
	s.tried = time.Now()
	d := net.Dialer{Timeout: s.timeout}
	conn, err := d.DialContext(ctx, "tcp", net.JoinHostPort(s.host, s.port))
	if err != nil {
		return fmt.Errorf("could not connect to the message server: %w", err)
	}
	s.conn, s.in = conn, bufio.NewReader(conn)
	err = s.frame("CONNECT\nlogin:"+s.user+"\npasscode:"+s.pass+"\n", "")
	if err == nil {
		err = s.expect("CONNECTED", "")
	}
	if err == nil {
		err = s.send("INFO: PMIE: Established initial connection")
	}
	if err != nil {
		s.close()
		return fmt.Errorf("message server %s:%s: %w", s.host, s.port, err)
	}
	return nil
}

func (s *stomp) close() {
	if s.conn != nil {
		s.conn.Close()
		s.conn = nil
	}
}

// Send sends a text, and returns when the broker has it. A lost connection is made again, but not
// more often than once a minute.
func (s *stomp) Send(ctx context.Context, text string) error {
	if s.conn == nil {
		if time.Since(s.tried) < stompReconnect {
			return errors.New("there is no connection to the message server")
		}
		if err := s.connect(ctx); err != nil {
			s.report("%v\n", err)
			return err
		}
		s.report("Reconnected to STOMP protocol server\n")
	}
	if err := s.send(text); err != nil {
		s.report("Write error to JMS server %s:%s - %v\n", s.host, s.port, err)
		s.close()
		return err
	}
	return nil
}

func (s *stomp) send(text string) error {
	s.receipts++
	receipt := "pmie-" + strconv.Itoa(s.receipts)
	head := "SEND\ndestination:/topic/" + s.topic + "\nreceipt:" + receipt + "\n"
	if strings.ContainsRune(text, 0) {
		// The length must be given, or the first NUL would end the text. Other texts omit it:
		// there are brokers that take a message with a length for one of bytes.
		head += "content-length:" + strconv.Itoa(len(text)) + "\n"
	}
	if err := s.frame(head, text); err != nil {
		return err
	}
	return s.expect("RECEIPT", receipt)
}

func (s *stomp) frame(head, body string) error {
	s.conn.SetDeadline(time.Now().Add(s.timeout))
	_, err := s.conn.Write([]byte(head + "\n" + body + "\x00\n"))
	return err
}

// expect reads frames up to one of a kind, which may answer a receipt.
func (s *stomp) expect(kind, receipt string) error {
	for {
		b, err := s.read()
		if err != nil {
			return err
		}
		head, body, _ := bytes.Cut(bytes.TrimLeft(b, "\r\n"), []byte("\n\n"))
		lines := strings.Split(string(head), "\n")
		switch command := strings.TrimSuffix(lines[0], "\r"); {
		case command == "ERROR":
			return fmt.Errorf("the server refuses: %q", strings.TrimSpace(strings.Join(append(lines[1:], string(body)), " ")))
		case command != kind:
			continue
		}
		if receipt == "" {
			return nil
		}
		for _, l := range lines[1:] {
			if strings.TrimSuffix(l, "\r") == "receipt-id:"+receipt {
				return nil
			}
		}
	}
}

// read reads a frame without the NUL at its end.
func (s *stomp) read() ([]byte, error) {
	var frame []byte
	for {
		b, err := s.in.ReadSlice(0)
		frame = append(frame, b...)
		switch {
		case len(frame) > maxStompFrame:
			return nil, fmt.Errorf("an answer of more than %d bytes", maxStompFrame)
		case err == nil:
			return frame[:len(frame)-1], nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		}
	}
}
