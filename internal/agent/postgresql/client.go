package postgresql

import (
	"bufio"
	"bytes"
	"crypto/hmac"
	"crypto/md5"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/go-pcp/pcp/internal/agent/service"
)

// Limits of messages.
const (
	maxMessage = 1 << 20
	maxColumns = 1000
	maxRounds  = 1 << 20 // of the key of a password
)

var errProtocol = errors.New("not an answer of PostgreSQL")

// A message is a type and a body: 1 type, 4 length of the rest with this number, body.
func readMessage(r *bufio.Reader) (kind byte, body []byte, err error) {
	var head [5]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return 0, nil, err
	}
	n := binary.BigEndian.Uint32(head[1:])
	if n < 4 || n > maxMessage {
		return 0, nil, fmt.Errorf("%w: a message of %d bytes", errProtocol, n)
	}
	var b bytes.Buffer // grows as the bytes come
	if _, err := io.CopyN(&b, r, int64(n-4)); err != nil {
		return 0, nil, err
	}
	return head[0], b.Bytes(), nil
}

func writeMessage(w io.Writer, kind byte, body []byte) error {
	var b []byte
	if kind != 0 { // the first message has no type
		b = append(b, kind)
	}
	b = binary.BigEndian.AppendUint32(b, uint32(len(body)+4))
	_, err := w.Write(append(b, body...))
	return err
}

// text cuts a string from b that ends with 0.
func text(b []byte) (s string, rest []byte, ok bool) {
	i := bytes.IndexByte(b, 0)
	if i < 0 {
		return "", nil, false
	}
	return string(b[:i]), b[i+1:], true
}

// serverError reads an error: fields of a letter and a text, and 0.
func serverError(b []byte) error {
	var message, code string
	for len(b) > 1 {
		field := b[0]
		s, rest, ok := text(b[1:])
		if !ok {
			break
		}
		switch field {
		case 'M':
			message = s
		case 'C':
			code = s
		}
		b = rest
	}
	err := fmt.Errorf("the server answers %.300q (%.5q)", message, code)
	if strings.HasPrefix(code, "28") { // invalid authorization
		err = fmt.Errorf("%w: %w", err, service.ErrCredentials)
	}
	return err
}

// encrypt asks the server for TLS, and begins it if the server offers it.
func encrypt(conn net.Conn, r *bufio.Reader, cfg Config) (net.Conn, error) {
	const request = 1234<<16 | 5679
	if !cfg.Security.Wanted(conn) {
		return conn, nil
	}
	if err := writeMessage(conn, 0, binary.BigEndian.AppendUint32(nil, request)); err != nil {
		return nil, err
	}
	answer, err := r.ReadByte()
	switch {
	case err != nil:
		return nil, err
	case answer == 'S':
		return cfg.Security.Start(conn, r, cfg.Host)
	case answer == 'N':
		return conn, cfg.Security.Without()
	}
	return nil, fmt.Errorf("%w: %q to a request for TLS", errProtocol, answer)
}

// logIn begins a session.
func logIn(conn net.Conn, r *bufio.Reader, cfg Config) error {
	b := binary.BigEndian.AppendUint32(nil, 3<<16)
	for _, s := range []string{
		"user", cfg.User, "database", cfg.Database, "application_name", "pcp", "client_encoding", "UTF8", "datestyle", "ISO",
		"default_transaction_read_only", "on", "statement_timeout", strconv.Itoa(int(service.Limit.Milliseconds())),
	} {
		b = append(append(b, s...), 0)
	}
	if err := writeMessage(conn, 0, append(b, 0)); err != nil {
		return err
	}
	var proof *scram
	for {
		kind, b, err := readMessage(r)
		if err != nil {
			return err
		}
		switch kind {
		case 'E':
			return serverError(b)
		case 'Z':
			return nil
		case 'R':
			if len(b) < 4 {
				return errProtocol
			}
			if err := authenticate(conn, binary.BigEndian.Uint32(b), b[4:], cfg, &proof); err != nil {
				return err
			}
		case 'S', 'K', 'N': // settings, the key to cancel queries, notices
		default:
			return fmt.Errorf("%w: a message of type %q", errProtocol, kind)
		}
	}
}

// authenticate answers a request for authentication.
func authenticate(conn net.Conn, kind uint32, b []byte, cfg Config, proof **scram) error {
	const ok, clear, hashed, mechanisms, proceed, final = 0, 3, 5, 10, 11, 12
	if kind != ok && cfg.Password == "" {
		return fmt.Errorf("user %q: %w", cfg.User, service.ErrCredentials)
	}
	switch kind {
	case ok:
		if *proof != nil && !(*proof).verified {
			return errors.New("the server does not prove that it knows the password")
		}
		return nil
	case clear:
		if !isLocal(conn) && !cfg.Security.Proven(conn) {
			return errors.New("the server asks for the password in the clear, which is sent over the network only with the setting tls = verify")
		}
		return writeMessage(conn, 'p', append([]byte(cfg.Password), 0))
	case hashed:
		if len(b) != 4 {
			return errProtocol
		}
		sum := md5.Sum([]byte(cfg.Password + cfg.User))
		sum = md5.Sum(append([]byte(hex.EncodeToString(sum[:])), b...))
		return writeMessage(conn, 'p', append([]byte("md5"+hex.EncodeToString(sum[:])), 0))
	case mechanisms:
		const name = "SCRAM-SHA-256"
		if !slices.Contains(strings.Split(string(b), "\x00"), name) {
			return fmt.Errorf("the server knows only the methods of authentication %.100q, not %s", b, name)
		}
		*proof = newScram(cfg.Password)
		first := (*proof).first()
		msg := append([]byte(name), 0)
		msg = binary.BigEndian.AppendUint32(msg, uint32(len(first)))
		return writeMessage(conn, 'p', append(msg, first...))
	case proceed:
		if *proof == nil {
			return errProtocol
		}
		answer, err := (*proof).answer(string(b))
		if err != nil {
			return err
		}
		return writeMessage(conn, 'p', []byte(answer))
	case final:
		if *proof == nil {
			return errProtocol
		}
		return (*proof).verify(string(b))
	}
	return fmt.Errorf("the server asks for authentication %d, which is not supported", kind)
}

func isLocal(conn net.Conn) bool {
	a, ok := conn.RemoteAddr().(*net.TCPAddr)
	return !ok || a.IP.IsLoopback()
}

// A scram is an authentication by SCRAM-SHA-256 (RFC 5802, RFC 7677) without channel binding.
type scram struct {
	password, nonce, bare string
	server                []byte // signature that it must show
	verified              bool
}

func newScram(password string) *scram { return &scram{password: password, nonce: rand.Text()} }

func (s *scram) first() string {
	s.bare = "n=,r=" + s.nonce // PostgreSQL takes the user from the session
	return "n,," + s.bare
}

// answer returns the proof for the server's challenge, r=NONCE,s=SALT,i=ROUNDS.
func (s *scram) answer(challenge string) (string, error) {
	var nonce string
	var salt []byte
	var rounds int
	for part := range strings.SplitSeq(challenge, ",") {
		var err error
		switch k, v, _ := strings.Cut(part, "="); k {
		case "r":
			nonce = v
		case "s":
			salt, err = base64.StdEncoding.DecodeString(v)
		case "i":
			rounds, err = strconv.Atoi(v)
		}
		if err != nil {
			return "", fmt.Errorf("%w: the challenge %.100q", errProtocol, challenge)
		}
	}
	if !strings.HasPrefix(nonce, s.nonce) || len(salt) == 0 || rounds < 1 || rounds > maxRounds {
		return "", fmt.Errorf("%w: the challenge %.100q", errProtocol, challenge)
	}
	key, err := pbkdf2.Key(sha256.New, s.password, salt, rounds, sha256.Size)
	if err != nil {
		return "", err
	}
	sign := func(key []byte, text string) []byte {
		h := hmac.New(sha256.New, key)
		h.Write([]byte(text))
		return h.Sum(nil)
	}
	final := "c=biws,r=" + nonce
	all := s.bare + "," + challenge + "," + final
	client := sign(key, "Client Key")
	stored := sha256.Sum256(client)
	for i, b := range sign(stored[:], all) {
		client[i] ^= b
	}
	s.server = sign(sign(key, "Server Key"), all)
	return final + ",p=" + base64.StdEncoding.EncodeToString(client), nil
}

func (s *scram) verify(final string) error {
	v, ok := strings.CutPrefix(final, "v=")
	sig, err := base64.StdEncoding.DecodeString(v)
	if !ok || err != nil || s.server == nil || !hmac.Equal(sig, s.server) {
		return fmt.Errorf("the server does not prove that it knows the password: %.100q", final)
	}
	s.verified = true
	return nil
}

// query sends queries, and calls row for each row of the nth query: values are nil for NULL and valid until row returns.
func query(conn io.Writer, r *bufio.Reader, sql string, row func(n int, columns []string, values [][]byte)) error {
	if err := writeMessage(conn, 'Q', append([]byte(sql), 0)); err != nil {
		return err
	}
	var columns []string
	var values [][]byte
	var failed error
	total, n := 0, 0
	for {
		kind, b, err := readMessage(r)
		if err != nil {
			return err
		}
		if total += len(b); total > service.MaxAnswer {
			return service.ErrTooBig
		}
		switch kind {
		case 'T':
			columns, err = readColumns(b)
		case 'D':
			if values, err = readRow(b, values[:0]); err == nil && len(values) != len(columns) {
				err = fmt.Errorf("%w: a row of %d values for %d columns", errProtocol, len(values), len(columns))
			}
			if err == nil {
				row(n, columns, values)
			}
		case 'C':
			n++
		case 'E':
			failed = serverError(b)
		case 'Z':
			return failed
		case 'S', 'N', 'I':
		default:
			err = fmt.Errorf("%w: a message of type %q", errProtocol, kind)
		}
		if err != nil {
			return err
		}
	}
}

// readColumns reads the names of columns: 2 number, then for each the name and 18 bytes.
func readColumns(b []byte) ([]string, error) {
	const rest = 18
	if len(b) < 2 {
		return nil, errProtocol
	}
	n := int(binary.BigEndian.Uint16(b))
	if n > maxColumns {
		return nil, errProtocol
	}
	b = b[2:]
	var names []string
	for range n {
		name, after, ok := text(b)
		if !ok || len(after) < rest {
			return nil, errProtocol
		}
		names, b = append(names, name), after[rest:]
	}
	return names, nil
}

// readRow reads values: 2 number, then for each 4 length, -1 for NULL, and the value.
func readRow(b []byte, values [][]byte) ([][]byte, error) {
	if len(b) < 2 {
		return nil, errProtocol
	}
	n := int(binary.BigEndian.Uint16(b))
	b = b[2:]
	for range n {
		if len(b) < 4 {
			return nil, errProtocol
		}
		size := binary.BigEndian.Uint32(b)
		b = b[4:]
		if size == 1<<32-1 {
			values = append(values, nil)
			continue
		}
		if uint64(size) > uint64(len(b)) {
			return nil, errProtocol
		}
		values, b = append(values, b[:size:size]), b[size:]
	}
	return values, nil
}
