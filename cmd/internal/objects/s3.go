package objects

import (
	"bufio"
	"context"
	"encoding/hex"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/signer/v4"
)

// emptySHA is the SHA-256 of a request without a body.
const emptySHA = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

// s3 reads from and writes to stores with the protocol of Amazon S3.
type s3 struct {
	client   *http.Client
	endpoint *url.URL // nil for Amazon
	region   string
	creds    aws.Credentials // without a key, requests are anonymous
	signer   *v4.Signer
}

func newS3(client *http.Client, getenv func(string) string) (*s3, error) {
	first := func(names ...string) string {
		for _, n := range names {
			if v := getenv(n); v != "" {
				return v
			}
		}
		return ""
	}
	s := &s3{client: client, region: first("AWS_REGION", "AWS_DEFAULT_REGION")}
	s.signer = v4.NewSigner(func(o *v4.SignerOptions) { o.DisableURIPathEscaping = true })
	if s.region == "" {
		s.region = "us-east-1"
	}
	if text := first("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"); text != "" {
		u, err := url.Parse(text)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return s, fmt.Errorf("AWS_ENDPOINT_URL=%s is not of the form https://HOST:PORT", text)
		}
		s.endpoint = u
	}
	s.creds = aws.Credentials{AccessKeyID: getenv("AWS_ACCESS_KEY_ID"), SecretAccessKey: getenv("AWS_SECRET_ACCESS_KEY"), SessionToken: getenv("AWS_SESSION_TOKEN")}
	if s.creds.AccessKeyID != "" {
		return s, nil
	}
	file, profile := getenv("AWS_SHARED_CREDENTIALS_FILE"), getenv("AWS_PROFILE")
	asked := file != "" || profile != ""
	if file == "" {
		file = filepath.Join(getenv("HOME"), ".aws", "credentials")
	}
	if profile == "" {
		profile = "default"
	}
	creds, err := credentials(file, profile)
	if err != nil && (asked || !errors.Is(err, fs.ErrNotExist)) {
		return s, err
	}
	s.creds = creds
	return s, nil
}

// credentials reads a profile of a file of credentials.
func credentials(file, profile string) (aws.Credentials, error) {
	var c aws.Credentials
	f, err := os.Open(file)
	if err != nil {
		return c, err
	}
	defer f.Close()
	found, within := false, false
	lines := bufio.NewScanner(io.LimitReader(f, 1<<20))
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		if strings.HasPrefix(line, "[") {
			within = strings.TrimSpace(strings.Trim(line, "[]")) == profile
			found = found || within
			continue
		}
		name, value, ok := strings.Cut(line, "=")
		if !within || !ok || strings.HasPrefix(line, "#") {
			continue
		}
		switch value = strings.TrimSpace(value); strings.ToLower(strings.TrimSpace(name)) {
		case "aws_access_key_id":
			c.AccessKeyID = value
		case "aws_secret_access_key":
			c.SecretAccessKey = value
		case "aws_session_token":
			c.SessionToken = value
		}
	}
	if err := lines.Err(); err != nil {
		return c, fmt.Errorf("%s: %w", file, err)
	}
	if !found {
		return c, fmt.Errorf("%s: no profile %q: %w", file, profile, fs.ErrNotExist)
	}
	return c, nil
}

// parse splits an address into bucket and key.
func (s *s3) parse(address string) (bucket, key string, err error) {
	bucket, key, _ = strings.Cut(strings.TrimPrefix(address, "s3://"), "/")
	if bucket == "" || strings.ContainsAny(bucket, "?#%@: \\") {
		return "", "", fmt.Errorf("%q is not of the form s3://BUCKET/DIR/ARCHIVE", address)
	}
	return bucket, key, nil
}

// do makes a signed request, with a body if it is not nil.
func (s *s3) do(ctx context.Context, method, bucket, key string, query url.Values, set func(http.Header), body *payload) (*http.Response, error) {
	u := url.URL{Scheme: "https", Host: bucket + ".s3." + s.region + ".amazonaws.com", Path: "/" + key}
	switch {
	case s.endpoint != nil:
		u.Scheme, u.Host = s.endpoint.Scheme, s.endpoint.Host
		u.Path = strings.TrimRight(s.endpoint.Path, "/") + "/" + bucket + "/" + key
	case strings.Contains(bucket, "."): // no certificate matches it
		u.Host, u.Path = "s3."+s.region+".amazonaws.com", "/"+bucket+"/"+key
	}
	u.RawPath, u.RawQuery = escapeKey(u.Path), strings.ReplaceAll(query.Encode(), "+", "%20")
	return request(ctx, s.client, func() (*http.Request, error) {
		req, err := http.NewRequest(method, u.String(), nil)
		if err != nil {
			return nil, err
		}
		if set != nil {
			set(req.Header)
		}
		sha := emptySHA
		if body != nil {
			body.put(req)
			sha = hex.EncodeToString(body.sum.sha[:])
		}
		if s.creds.AccessKeyID != "" {
			req.Header.Set("X-Amz-Content-Sha256", sha)
			err = s.signer.SignHTTP(ctx, s.creds, req, sha, "s3", s.region, time.Now())
		}
		return req, err
	})
}

// escapeKey escapes a path as signatures of S3 want it: all but letters, digits, "-._~" and "/".
func escapeKey(path string) string {
	const hex = "0123456789ABCDEF"
	b := make([]byte, 0, len(path))
	for i := range len(path) {
		switch c := path[i]; {
		case c >= '0' && c <= '9', c|0x20 >= 'a' && c|0x20 <= 'z', strings.IndexByte("-._~/", c) >= 0:
			b = append(b, c)
		default:
			b = append(b, '%', hex[c>>4], hex[c&15])
		}
	}
	return string(b)
}

func (s *s3) head(ctx context.Context, address string) (*info, error) {
	bucket, key, err := s.parse(address)
	if err != nil {
		return nil, err
	}
	resp, err := s.do(ctx, http.MethodHead, bucket, key, nil, nil, nil)
	if err != nil {
		return nil, err
	}
	resp.Body.Close()
	i := &info{name: path.Base(key), size: resp.ContentLength, version: resp.Header.Get("ETag")}
	i.time, _ = http.ParseTime(resp.Header.Get("Last-Modified"))
	if i.size < 0 {
		return nil, fmt.Errorf("the server does not give the size of the object")
	}
	return i, nil
}

// A listBucket is a page of the answer to ListObjectsV2.
type listBucket struct {
	Contents []struct {
		Key          string
		Size         int64
		ETag         string
		LastModified string
	}
	CommonPrefixes        []struct{ Prefix string }
	IsTruncated           bool
	NextContinuationToken string
	EncodingType          string
}

func (s *s3) list(ctx context.Context, dir string) ([]*info, error) {
	return s.listPrefix(ctx, dir, "")
}

func (s *s3) listPrefix(ctx context.Context, dir, name string) ([]*info, error) {
	bucket, prefix, err := s.parse(dir)
	if err != nil {
		return nil, err
	}
	query := url.Values{"list-type": {"2"}, "delimiter": {"/"}, "prefix": {prefix + name}, "encoding-type": {"url"}}
	var list []*info
	for {
		resp, err := s.do(ctx, http.MethodGet, bucket, "", query, nil, nil)
		if err != nil {
			return nil, err
		}
		entries, next, err := readPage(io.LimitReader(resp.Body, maxListing), prefix)
		resp.Body.Close()
		if err != nil {
			return nil, fmt.Errorf("listing: %w", err)
		}
		list = append(list, entries...)
		if len(list) > maxEntries {
			return nil, fmt.Errorf("more than %d objects", maxEntries)
		}
		if next == "" || next == query.Get("continuation-token") {
			return list, nil
		}
		query.Set("continuation-token", next)
	}
}

// readPage reads a page of a listing of the keys with a prefix, and the token of the next page, "" if there is none.
func readPage(r io.Reader, prefix string) (list []*info, next string, err error) {
	var page listBucket
	if err := xml.NewDecoder(r).Decode(&page); err != nil {
		return nil, "", err
	}
	name := func(key string) string {
		if page.EncodingType == "url" {
			if plain, err := url.QueryUnescape(key); err == nil {
				key = plain
			}
		}
		key, ok := strings.CutPrefix(key, prefix)
		if !ok {
			return ""
		}
		return key
	}
	for _, c := range page.Contents {
		if n := name(c.Key); n != "" && n != "." && n != ".." && !strings.Contains(n, "/") && c.Size >= 0 {
			list = append(list, &info{name: n, size: c.Size, version: c.ETag, time: s3Time(c.LastModified)})
		}
	}
	for _, p := range page.CommonPrefixes {
		if n := strings.TrimSuffix(name(p.Prefix), "/"); n != "" && n != "." && n != ".." && !strings.Contains(n, "/") {
			list = append(list, &info{name: n, dir: true})
		}
	}
	if page.IsTruncated {
		next = page.NextContinuationToken
	}
	return list, next, nil
}

// s3Time parses a time of a listing.
func s3Time(text string) time.Time {
	t, _ := time.Parse(time.RFC3339, text)
	return t
}

func (s *s3) get(ctx context.Context, address, version string, off, n int64) (io.ReadCloser, int64, error) {
	bucket, key, err := s.parse(address)
	if err != nil {
		return nil, 0, err
	}
	resp, err := s.do(ctx, http.MethodGet, bucket, key, nil, func(h http.Header) {
		h.Set("Range", fmt.Sprintf("bytes=%d-%d", off, off+n-1))
		if version != "" {
			h.Set("If-Match", version)
		}
	}, nil)
	if err != nil {
		return nil, 0, err
	}
	from, err := partOf(resp, off)
	if tag := resp.Header.Get("ETag"); err == nil && version != "" && tag != "" && tag != version {
		err = errReplaced
	}
	if err != nil {
		resp.Body.Close()
		return nil, 0, err
	}
	return resp.Body, from, nil
}

// s3Message returns the code and the message of an error of S3, "" for other bodies.
func s3Message(body []byte) string {
	code, message := s3Error(body)
	return strings.TrimSuffix(fmt.Sprintf("%.200s: %.500s", code, message), ": ")
}

func s3Error(body []byte) (code, message string) {
	var e struct {
		XMLName       xml.Name
		Code, Message string
	}
	if xml.Unmarshal(body, &e) != nil || e.XMLName.Local != "Error" {
		return "", ""
	}
	return e.Code, e.Message
}
