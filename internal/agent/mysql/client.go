package mysql

import (
	"bufio"
	"bytes"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"

	"github.com/go-pcp/pcp/internal/agent/service"
)

// Limits of an answer.
const (
	maxPacket  = 1 << 20
	maxColumns = 1000
	maxRows    = 20_000
)

var errProtocol = errors.New("not an answer of MySQL")

// Capabilities of a client.
const (
	longPassword = 1 << 0
	protocol41   = 1 << 9
	overTLS      = 1 << 11
	secure       = 1 << 15
	pluginAuth   = 1 << 19
)

// Authentication plugins.
const (
	nativePassword = "mysql_native_password"
	cachingSHA2    = "caching_sha2_password"
	unixSocket     = "auth_socket"
)

// First bytes of packets.
const (
	okPacket    = 0x00
	moreData    = 0x01
	eofPacket   = 0xfe
	errorPacket = 0xff
	null        = 0xfb
)

// A stream has the packets of a connection: 3 length, 1 number, body.
type stream struct {
	w     io.Writer
	r     *bufio.Reader
	next  byte
	total int
}

func (s *stream) read() ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(s.r, head[:]); err != nil {
		return nil, err
	}
	n := int(head[0]) | int(head[1])<<8 | int(head[2])<<16
	if s.total += n; s.total > service.MaxAnswer {
		return nil, service.ErrTooBig
	}
	if n > maxPacket {
		return nil, fmt.Errorf("%w: a packet of %d bytes", errProtocol, n)
	}
	s.next = head[3] + 1
	var b bytes.Buffer // grows as the bytes come
	if _, err := io.CopyN(&b, s.r, int64(n)); err != nil {
		return nil, err
	}
	if n == 0 {
		return nil, fmt.Errorf("%w: an empty packet", errProtocol)
	}
	return b.Bytes(), nil
}

func (s *stream) write(b []byte) error {
	n := len(b)
	_, err := s.w.Write(append([]byte{byte(n), byte(n >> 8), byte(n >> 16), s.next}, b...))
	return err
}

// A refusal is an error that the server answers. The connection can be used again.
type refusal struct{ err error }

func (e *refusal) Error() string { return e.err.Error() }
func (e *refusal) Unwrap() error { return e.err }

// serverError reads an error: 1 type, 2 code, # and 5 state, text.
func serverError(b []byte) error {
	const accessDenied, noUser, notHost = 1045, 1044, 1698
	if len(b) < 3 {
		return errProtocol
	}
	code, text := binary.LittleEndian.Uint16(b[1:]), b[3:]
	if len(text) >= 6 && text[0] == '#' {
		text = text[6:]
	}
	err := fmt.Errorf("the server answers %.300q (%d)", text, code)
	if code == accessDenied || code == noUser || code == notHost {
		err = fmt.Errorf("%w: %w", err, service.ErrCredentials)
	}
	return &refusal{err}
}

// text cuts a string from b that ends with 0.
func text(b []byte) (s string, rest []byte, ok bool) {
	i := bytes.IndexByte(b, 0)
	if i < 0 {
		return "", nil, false
	}
	return string(b[:i]), b[i+1:], true
}

// logIn begins a session, on a connection that is encrypted if the server offers that. It returns the connection to be used.
func logIn(conn net.Conn, r *bufio.Reader, cfg Config) (net.Conn, error) {
	s := &stream{w: conn, r: r}
	b, err := s.read()
	if err != nil {
		return nil, err
	}
	if b[0] == errorPacket {
		return nil, serverError(b)
	}
	g, err := readGreeting(b)
	if err != nil {
		return nil, err
	}
	const utf8 = 33
	flags := uint32(longPassword | protocol41 | secure | pluginAuth)
	encrypt := cfg.Security.Wanted(conn) && g.capabilities&overTLS != 0
	if encrypt {
		flags |= overTLS
	} else if err := cfg.Security.Without(); err != nil && conn.RemoteAddr().Network() != "unix" {
		return nil, err
	}
	msg := binary.LittleEndian.AppendUint32(nil, flags)
	msg = binary.LittleEndian.AppendUint32(msg, maxPacket)
	msg = append(append(msg, utf8), make([]byte, 23)...)
	if encrypt {
		if err := s.write(msg); err != nil {
			return nil, err
		}
		host, _, _ := net.SplitHostPort(cfg.Address)
		if conn, err = cfg.Security.Start(conn, r, host); err != nil {
			return nil, err
		}
		s.w = conn
		s.next++
	}
	return conn, s.authenticate(conn, msg, g, cfg)
}

// authenticate sends the user with a proof of the password behind msg, and answers what the server asks for.
func (s *stream) authenticate(conn net.Conn, msg []byte, g greeting, cfg Config) error {
	nonce, plugin, password := g.nonce, g.plugin, cfg.Password
	if plugin != nativePassword && plugin != cachingSHA2 {
		plugin = nativePassword // the server asks for another
	}
	msg = append(append(msg, cfg.User...), 0)
	proof := scramble(plugin, password, nonce)
	msg = append(append(msg, byte(len(proof))), proof...)
	msg = append(append(msg, plugin...), 0)
	if err := s.write(msg); err != nil {
		return err
	}
	const rounds = 5
	for range rounds {
		b, err := s.read()
		if err != nil {
			return err
		}
		switch b[0] {
		case okPacket:
			return nil
		case errorPacket:
			return serverError(b)
		case eofPacket: // another plugin
			name, rest, ok := text(b[1:])
			if !ok {
				return errProtocol
			}
			plugin, nonce = name, bytes.TrimSuffix(rest, []byte{0})
			if plugin != nativePassword && plugin != cachingSHA2 && plugin != unixSocket {
				return fmt.Errorf("the server asks for the authentication plugin %.100q, which is not supported: %w", plugin, service.ErrCredentials)
			}
			if err := s.write(scramble(plugin, password, nonce)); err != nil {
				return err
			}
		case moreData:
			const fast, full = 3, 4
			switch {
			case plugin != cachingSHA2 || len(b) != 2:
				return errProtocol
			case b[1] == fast:
			case b[1] == full && (conn.RemoteAddr().Network() == "unix" || cfg.Security.Proven(conn)):
				if err := s.write(append([]byte(password), 0)); err != nil {
					return err
				}
			default:
				return errors.New("the server asks for the password in the clear, which is only sent through a Unix socket, or with the setting tls = verify")
			}
		default:
			return errProtocol
		}
	}
	return errProtocol
}

// A greeting is what a server sends first.
type greeting struct {
	nonce        []byte
	plugin       string // of authentication
	capabilities uint16 // the lower half
}

// readGreeting reads the first packet: 1 protocol, version and 0, 4 thread, 8 nonce, 1 filler, 2 capabilities, 1 charset, 2 status, 2 capabilities,
// 1 length of the nonce, 10 filler, the rest of the nonce, and the name of a plugin and 0.
func readGreeting(b []byte) (g greeting, err error) {
	const version, first, rest, nonceSize = 10, 8, 19, 20
	if b[0] != version {
		return g, fmt.Errorf("%w: version %d of the protocol", errProtocol, b[0])
	}
	_, b, ok := text(b[1:])
	if !ok || len(b) < 4+first+rest+nonceSize-first {
		return g, errProtocol
	}
	g.nonce = append(g.nonce, b[4:4+first]...)
	g.capabilities = binary.LittleEndian.Uint16(b[4+first+1:])
	b = b[4+first+rest:]
	g.nonce = append(g.nonce, b[:nonceSize-first]...)
	if b = b[nonceSize-first:]; len(b) > 0 && b[0] == 0 {
		g.plugin, _, _ = text(b[1:])
	}
	return g, nil
}

// scramble proves that the client knows the password.
func scramble(plugin, password string, nonce []byte) []byte {
	if password == "" || plugin == unixSocket {
		return nil
	}
	xor := func(a, b []byte) []byte {
		for i := range a {
			a[i] ^= b[i]
		}
		return a
	}
	if plugin == cachingSHA2 {
		one := sha256.Sum256([]byte(password))
		two := sha256.Sum256(one[:])
		three := sha256.Sum256(append(two[:], nonce...))
		return xor(one[:], three[:])
	}
	one := sha1.Sum([]byte(password))
	two := sha1.Sum(one[:])
	three := sha1.Sum(append(append([]byte(nil), nonce...), two[:]...))
	return xor(one[:], three[:])
}

// query sends a query, and calls row for each row of its answer: values are nil for NULL and valid until row returns.
func query(w io.Writer, r *bufio.Reader, sql string, row func(columns []string, values [][]byte)) error {
	const comQuery = 3
	s := &stream{w: w, r: r}
	if err := s.write(append([]byte{comQuery}, sql...)); err != nil {
		return err
	}
	b, err := s.read()
	if err != nil {
		return err
	}
	switch b[0] {
	case okPacket:
		return nil
	case errorPacket:
		return serverError(b)
	}
	n, _, ok := number(b)
	if !ok || n == 0 || n > maxColumns {
		return errProtocol
	}
	columns := make([]string, 0, n)
	for range n {
		if b, err = s.read(); err != nil {
			return err
		}
		name, err := columnName(b)
		if err != nil {
			return err
		}
		columns = append(columns, name)
	}
	const eofSize = 9 // a row may begin with the same byte
	if b, err = s.read(); err != nil || b[0] != eofPacket || len(b) >= eofSize {
		return errors.Join(err, errProtocol)
	}
	var values [][]byte
	for range maxRows {
		if b, err = s.read(); err != nil {
			return err
		}
		switch {
		case b[0] == eofPacket && len(b) < eofSize:
			return nil
		case b[0] == errorPacket:
			return serverError(b)
		}
		values = values[:0]
		for range columns {
			if len(b) > 0 && b[0] == null {
				values, b = append(values, nil), b[1:]
				continue
			}
			v, rest, ok := counted(b)
			if !ok {
				return errProtocol
			}
			values, b = append(values, v), rest
		}
		row(columns, values)
	}
	return service.ErrTooBig
}

// columnName reads a definition of a column: catalog, schema, table, original table, name, …
func columnName(b []byte) (string, error) {
	var v []byte
	for range 5 {
		var ok bool
		if v, b, ok = counted(b); !ok {
			return "", errProtocol
		}
	}
	return string(v), nil
}

// number cuts a number of 1, 3, 4 or 9 bytes from b.
func number(b []byte) (n uint64, rest []byte, ok bool) {
	if len(b) == 0 {
		return 0, nil, false
	}
	size := 0
	switch b[0] {
	case 0xfc:
		size = 2
	case 0xfd:
		size = 3
	case 0xfe:
		size = 8
	case 0xfb, 0xff:
		return 0, nil, false
	default:
		return uint64(b[0]), b[1:], true
	}
	if len(b) < 1+size {
		return 0, nil, false
	}
	for i := range size {
		n |= uint64(b[1+i]) << (8 * i)
	}
	return n, b[1+size:], true
}

// counted cuts a string from b whose length comes first.
func counted(b []byte) (v, rest []byte, ok bool) {
	n, b, ok := number(b)
	if !ok || n > uint64(len(b)) {
		return nil, nil, false
	}
	return b[:n:n], b[n:], true
}
