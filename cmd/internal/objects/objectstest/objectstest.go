// Package objectstest has servers of S3 for tests.
//
//	srv := objectstest.Start(t, false)
//	srv.Before(func(w http.ResponseWriter, r *http.Request) bool { … }) // a fault
//	dir, err := objects.OpenDir("s3://bucket/prefix", srv.Getenv)
package objectstest

import (
	"bytes"
	"crypto/md5"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
)

// Bucket is the bucket of a server.
const Bucket = "bucket"

// A Server is a server of S3 with one bucket, which keeps its objects in memory.
type Server struct {
	// URL is the address of the server.
	URL string
	// Requests is the number of requests.
	Requests atomic.Int64

	fake      http.Handler
	mu        sync.Mutex
	before    func(http.ResponseWriter, *http.Request) bool
	checksums map[string]string // of objects, if the server keeps them
	errs      []string
}

// Start starts a server, which ends with the test. The test fails if a request is not signed or has a wrong checksum.
// With checksums, a HEAD request returns the SHA-256 and an ETag that is not a checksum, as Amazon's with encryption; otherwise the MD5 is the ETag.
func Start(t testing.TB, checksums bool) *Server {
	t.Helper()
	back := s3mem.New()
	if err := back.CreateBucket(Bucket); err != nil {
		t.Fatal(err)
	}
	s := &Server{fake: gofakes3.New(back).Server()}
	if checksums {
		s.checksums = make(map[string]string)
	}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.Requests.Add(1)
		s.mu.Lock()
		before := s.before
		s.mu.Unlock()
		if before == nil || !before(w, r) {
			s.Serve(w, r)
		}
	}))
	s.URL = srv.URL
	t.Cleanup(func() {
		srv.CloseClientConnections()
		srv.Close()
		for _, e := range s.errs {
			t.Error(e)
		}
	})
	return s
}

// Before sets a function that sees each request first. The request is not served if the function returns true.
func (s *Server) Before(f func(w http.ResponseWriter, r *http.Request) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.before = f
}

// Getenv returns the variables for the clients of the server.
func (s *Server) Getenv(name string) string { return s.Env()[name] }

// Env returns the variables for the clients of the server.
func (s *Server) Env() map[string]string {
	return map[string]string{
		"AWS_ENDPOINT_URL": s.URL, "AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "PCP_OBJECT_CACHE": "off",
	}
}

// Damage lets Serve store other bytes than those of a request, without a complaint.
func (s *Server) Damage(r *http.Request) {
	r.Header.Set("X-Damage", "true")
}

// Serve checks a request that is complete, and serves it.
func (s *Server) Serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		w.WriteHeader(http.StatusBadRequest) // the client is gone
		return
	}
	sha, md := sha256.Sum256(body), md5.Sum(body)
	base := base64.StdEncoding.EncodeToString
	fail := func(what string) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.errs = append(s.errs, r.Method+" "+r.URL.String()+": "+what)
	}
	if !strings.HasPrefix(r.Header.Get("Authorization"), "AWS4-HMAC-SHA256 Credential=key/") {
		fail("not signed")
	}
	if got := r.Header.Get("X-Amz-Content-Sha256"); got != hex.EncodeToString(sha[:]) {
		fail("the body is not what was signed")
	}
	if got := r.Header.Get("Content-Md5"); got != "" && got != base(md[:]) {
		fail("Content-MD5 is wrong")
	}
	sum := r.Header.Get("X-Amz-Checksum-Sha256")
	if sum != "" && sum != base(sha[:]) {
		fail("X-Amz-Checksum-Sha256 is wrong")
	}
	if r.Method == http.MethodPut && sum == "" {
		fail("no X-Amz-Checksum-Sha256")
	}
	if r.Header.Get("X-Damage") != "" && len(body) > 0 {
		body[len(body)/2] ^= 1
		r.Header.Del("Content-Md5")
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	if s.checksums == nil {
		s.fake.ServeHTTP(w, r)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if stored := s.checksums[r.URL.Path]; stored != "" && r.Method == http.MethodHead && r.Header.Get("X-Amz-Checksum-Mode") == "ENABLED" {
		w.Header().Set("X-Amz-Checksum-Sha256", stored)
		w.Header().Set("X-Amz-Server-Side-Encryption", "aws:kms")
	}
	rec := &recorder{ResponseWriter: w, plain: r.Method != http.MethodHead}
	s.fake.ServeHTTP(rec, r)
	if rec.status == 0 {
		rec.WriteHeader(http.StatusOK)
	}
	if r.Method == http.MethodPut && rec.status < 300 && r.URL.RawQuery == "" {
		s.checksums[r.URL.Path] = sum
	} else if r.Method == http.MethodPost || r.Method == http.MethodDelete {
		delete(s.checksums, r.URL.Path)
	}
}

// A recorder keeps the status, and replaces the ETag unless the answer is to be plain.
type recorder struct {
	http.ResponseWriter
	plain  bool
	status int
}

// WriteHeader writes the status.
func (r *recorder) WriteHeader(status int) {
	r.status = status
	if tag := r.Header().Get("ETag"); tag != "" && !r.plain {
		r.Header().Set("ETag", `"`+strings.Repeat("0", 32)+`"`)
	}
	r.ResponseWriter.WriteHeader(status)
}

// Write writes the body.
func (r *recorder) Write(b []byte) (int, error) {
	if r.status == 0 {
		r.WriteHeader(http.StatusOK)
	}
	return r.ResponseWriter.Write(b)
}
