package tlsconf

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-pcp/pcp/config"
	"github.com/go-pcp/pcp/internal/ctext"
)

// Limits of the files read.
const (
	maxFile  = 1 << 20  // a tls.conf, a certificate chain, a key
	maxCA    = 16 << 20 // trusted certificates, in a file or all files of a directory
	maxCADir = 4096     // files of a directory of trusted certificates
)

// A File is the settings of a tls.conf. The zero File is that of none.
type File struct {
	Path string // for messages

	CertFile, KeyFile             string // tls-cert-file, tls-key-file
	ClientCertFile, ClientKeyFile string // tls-client-cert-file, tls-client-key-file
	CAFile, CADir                 string // tls-ca-cert-file, tls-ca-cert-dir
	Ciphers, CipherSuites         string // tls-ciphers, tls-ciphersuites
	VerifyClients                 string // tls-verify-clients
	VerifyServer                  string // tls-verify-server, which only we know
}

// An Error is about a setting that cannot be used. Text is the message of PCP's
// library.
type Error struct {
	Text string
	Err  error // more, or nil
}

// Error returns Text and the details.
func (e *Error) Error() string {
	if e.Err == nil {
		return e.Text
	}
	return e.Text + ": " + e.Err.Error()
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// ReadFile reads a tls.conf. A missing file has no settings.
func ReadFile(path string) (*File, error) {
	b, err := readFile(path, maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return &File{Path: path}, nil
	}
	if err != nil {
		return nil, err
	}
	f := Parse(b)
	f.Path = path
	return f, nil
}

// readFile reads a regular file of at most limit bytes.
func readFile(path string, limit int64) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() { // it might never end, nor even open
		return nil, fmt.Errorf("%s is not a regular file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(b)) > limit {
		return nil, fmt.Errorf("%s is longer than %d bytes", path, limit)
	}
	return b, nil
}

// A setting is one key of the file.
type setting struct {
	key   string
	value *string
}

// settings are in the order of secureconnect.c, for a key can be cut short and
// is then the first that begins so.
func (f *File) settings() []setting {
	return []setting{
		{"tls-cert-file", &f.CertFile},
		{"tls-key-file", &f.KeyFile},
		{"tls-ciphers", &f.Ciphers},
		{"tls-ciphersuites", &f.CipherSuites},
		{"tls-ca-cert-file", &f.CAFile},
		{"tls-ca-cert-dir", &f.CADir},
		{"tls-client-cert-file", &f.ClientCertFile},
		{"tls-client-key-file", &f.ClientKeyFile},
		{"tls-verify-clients", &f.VerifyClients},
		{"tls-verify-server", &f.VerifyServer},
	}
}

// Parse reads the text of a tls.conf. It ignores lines that are not settings; of
// several for one key the last counts.
func Parse(text []byte) *File {
	f := new(File)
	settings := f.settings()
	for line := range bytes.Lines(text) {
		key, value, ok := parseLine(string(line))
		if !ok {
			continue
		}
		for _, s := range settings {
			if strings.HasPrefix(s.key, key) {
				*s.value = value
				break
			}
		}
	}
	return f
}

// parseLine takes a line apart. A key ends at white space, though the mark
// that ends it may come later; there is neither key nor value without.
func parseLine(line string) (key, value string, ok bool) {
	line, _, _ = strings.Cut(line, "\x00") // as C sees it
	line = strings.TrimLeft(line, ctext.Space)
	mark := strings.IndexAny(line, ":=#\n")
	if mark < 0 || line[mark] == '#' || line[mark] == '\n' {
		return "", "", false
	}
	key, value = line[:mark], strings.TrimLeft(line[mark+1:], ctext.Space)
	if n := strings.IndexAny(key, ctext.Space); n >= 0 {
		key = key[:n]
	}
	if n := strings.IndexAny(value, "#"+ctext.Space); n >= 0 {
		value = value[:n]
	}
	return key, value, key != "" && value != ""
}

// isTrue reports whether a setting is on, in the words that the client of PCP's
// library knows.
func isTrue(value string) bool { return value == "true" || value == "yes" }

// Path is where the file is: PCP_TLSCONF_PATH of the environment or of
// pcp.conf, else tls.conf in PCP_SYSCONF_DIR.
func Path(c *config.Config) string {
	if path := c.Get("PCP_TLSCONF_PATH"); path != "" {
		return path
	}
	return filepath.Join(c.Get("PCP_SYSCONF_DIR"), "tls.conf")
}
