package objects

import (
	"bytes"
	"cmp"
	"context"
	"crypto/md5"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A payload is the body of a request.
type payload struct {
	r      io.ReaderAt
	off, n int64
	sum    partSum
}

func newPayload(data []byte) *payload {
	return &payload{bytes.NewReader(data), 0, int64(len(data)), partSum{sha256.Sum256(data), md5.Sum(data)}}
}

// put adds the body and its checksums to a request.
func (p *payload) put(req *http.Request) {
	req.ContentLength, req.Body = p.n, http.NoBody
	if p.n > 0 {
		req.Body = io.NopCloser(io.NewSectionReader(p.r, p.off, p.n))
	}
	req.Header.Set("Content-MD5", base64.StdEncoding.EncodeToString(p.sum.md5[:]))
}

// checksum sets the header that lets a store check and keep the SHA-256 of the body.
func (p *payload) checksum(h http.Header) {
	h.Set("X-Amz-Checksum-Sha256", base64.StdEncoding.EncodeToString(p.sum.sha[:]))
}

// send makes a request with a body, with a limit on its time. It returns how often it was made, and the headers and the body
// of the answer.
func (s *s3) send(ctx context.Context, method, bucket, key string, query url.Values, set func(http.Header), body *payload) (made int, h http.Header, answer []byte, err error) {
	limit := uploadTime
	if body != nil {
		limit += time.Duration(body.n/slowestRate) * time.Second
	}
	ctx, cancel := context.WithTimeout(ctx, tries*limit)
	defer cancel()
	resp, err := s.do(ctx, method, bucket, key, query, func(h http.Header) {
		made++
		if set != nil {
			set(h)
		}
	}, body)
	if err != nil {
		return made, nil, nil, err
	}
	defer resp.Body.Close()
	answer, err = io.ReadAll(io.LimitReader(resp.Body, maxSmall+1))
	return made, resp.Header, answer, err
}

func (s *s3) read(ctx context.Context, address string) ([]byte, string, error) {
	bucket, key, err := s.parse(address)
	if err != nil {
		return nil, "", err
	}
	var last error
	for range tries {
		_, h, data, err := s.send(ctx, http.MethodGet, bucket, key, nil, nil, nil)
		switch {
		case errors.Is(err, io.ErrUnexpectedEOF) && ctx.Err() == nil:
			last = errors.New("the server's answers are cut")
			continue
		case err != nil:
			return nil, "", err
		case len(data) > maxSmall:
			return nil, "", fmt.Errorf("it has more than %d bytes", maxSmall)
		}
		return data, h.Get("ETag"), nil
	}
	return nil, "", last
}

func (s *s3) write(ctx context.Context, address string, data []byte, cond Condition) (string, error) {
	bucket, key, err := s.parse(address)
	if err != nil {
		return "", err
	}
	body := newPayload(data)
	set := func(h http.Header) {
		body.checksum(h)
		switch {
		case cond.absent:
			h.Set("If-None-Match", "*")
		case cond.version != "":
			h.Set("If-Match", strings.Trim(cond.version, `"`)) // Ceph 16 compares it as it is
		}
	}
	for try := 0; ; try++ {
		made, h, _, err := s.send(ctx, http.MethodPut, bucket, key, nil, set, body)
		if e, ok := errors.AsType[*statusError](err); ok && e.status == http.StatusConflict && try < tries {
			select { // another conditional write is under way
			case <-ctx.Done():
				return "", ctx.Err()
			case <-time.After(firstPause << try):
			}
			continue
		}
		if err != nil && cond != (Condition{}) && conflict(err, cond) {
			if made > 1 || try > 0 {
				if stored, version, err := s.read(ctx, address); err == nil && bytes.Equal(stored, data) {
					return version, nil // the answer to an earlier request was lost
				}
			}
			return "", ErrConflict
		}
		if err != nil {
			return "", err
		}
		return cmp.Or(h.Get("ETag"), `"`+hex.EncodeToString(body.sum.md5[:])+`"`), nil
	}
}

func (s *s3) upload(ctx context.Context, address string, src *os.File, sums *Sums) error {
	bucket, key, err := s.parse(address)
	if err != nil {
		return err
	}
	meta := func(h http.Header) { h.Set("X-Amz-Meta-Sha256", sums.SHA256) }
	if len(sums.parts) == 1 {
		body := &payload{src, 0, sums.Size, sums.parts[0]}
		_, _, _, err := s.send(ctx, http.MethodPut, bucket, key, nil, func(h http.Header) {
			meta(h)
			body.checksum(h)
		}, body)
		return err
	}
	if err := s.abandon(ctx, bucket, key); err != nil {
		return err
	}
	_, _, answer, err := s.send(ctx, http.MethodPost, bucket, key, url.Values{"uploads": {""}}, func(h http.Header) {
		meta(h)
		h.Set("X-Amz-Checksum-Algorithm", "SHA256")
	}, nil)
	if err != nil {
		return err
	}
	id, err := startedUpload(answer)
	if err != nil {
		return err
	}
	if err := s.parts(ctx, bucket, key, id, src, sums); err != nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		s.abort(ctx, bucket, key, id) // if it fails, the next upload of the file does it
		return err
	}
	return nil
}

// startedUpload returns the identifier of an upload from the answer to the request that starts it.
func startedUpload(answer []byte) (string, error) {
	var started struct{ UploadId string }
	if err := xml.Unmarshal(answer, &started); err != nil || started.UploadId == "" {
		return "", fmt.Errorf("the server starts no upload: %.200q", answer)
	}
	return started.UploadId, nil
}

// uploadsOf returns the identifiers of the uploads of a key from a listing.
func uploadsOf(answer []byte, key string) ([]string, error) {
	var list struct {
		Upload []struct{ Key, UploadId string }
	}
	if err := xml.Unmarshal(answer, &list); err != nil {
		return nil, fmt.Errorf("listing of uploads: %w", err)
	}
	var ids []string
	for _, u := range list.Upload {
		if u.Key == key && u.UploadId != "" {
			ids = append(ids, u.UploadId)
		}
	}
	return ids, nil
}

// A completion is the body of the request that completes an upload of parts.
type completion struct {
	XMLName xml.Name `xml:"http://s3.amazonaws.com/doc/2006-03-01/ CompleteMultipartUpload"`
	Part    []donePart
}

type donePart struct {
	PartNumber     int
	ETag           string
	ChecksumSHA256 string `xml:",omitempty"`
}

func (s *s3) parts(ctx context.Context, bucket, key, id string, src *os.File, sums *Sums) error {
	step := part(sums.Size)
	var done completion
	for i, sum := range sums.parts {
		off := int64(i) * step
		body := &payload{src, off, min(step, sums.Size-off), sum}
		_, h, _, err := s.send(ctx, http.MethodPut, bucket, key, url.Values{"uploadId": {id}, "partNumber": {strconv.Itoa(i + 1)}}, body.checksum, body)
		if err != nil {
			return fmt.Errorf("part %d of %d: %w", i+1, len(sums.parts), err)
		}
		p := donePart{i + 1, h.Get("ETag"), h.Get("X-Amz-Checksum-Sha256")}
		if p.ETag == "" {
			return fmt.Errorf("part %d of %d: the server gives no ETag", i+1, len(sums.parts))
		}
		done.Part = append(done.Part, p)
	}
	text, err := xml.Marshal(done)
	if err != nil {
		return err
	}
	made, _, answer, err := s.send(ctx, http.MethodPost, bucket, key, url.Values{"uploadId": {id}}, nil, newPayload(text))
	if err != nil {
		if e, ok := errors.AsType[*statusError](err); ok && e.status == http.StatusNotFound && made > 1 {
			return nil // the answer to an earlier request was lost; the check of the file decides
		}
		return err
	}
	if text := s3Message(answer); text != "" { // an error after the headers were sent
		return fmt.Errorf("completing the upload: %s", text)
	}
	return nil
}

// abandon ends uploads of parts of a file that an earlier process did not complete.
func (s *s3) abandon(ctx context.Context, bucket, key string) error {
	_, _, answer, err := s.send(ctx, http.MethodGet, bucket, "", url.Values{"uploads": {""}, "prefix": {key}}, nil, nil)
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrNotExist) {
		return nil // a user who must not list them
	} else if err != nil {
		return err
	}
	ids, err := uploadsOf(answer, key)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if err := s.abort(ctx, bucket, key, id); err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission) {
			return err
		}
	}
	return nil
}

func (s *s3) abort(ctx context.Context, bucket, key, id string) error {
	_, _, _, err := s.send(ctx, http.MethodDelete, bucket, key, url.Values{"uploadId": {id}}, nil, nil)
	return err
}

// verify compares the checksum that the store has computed, its own or the ETag, and reads the file if it has no such checksum.
func (s *s3) verify(ctx context.Context, address string, sums *Sums) error {
	bucket, key, err := s.parse(address)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, tries*uploadTime+time.Duration(sums.Size/slowestRate)*time.Second)
	defer cancel()
	resp, err := s.do(ctx, http.MethodHead, bucket, key, nil, func(h http.Header) { h.Set("X-Amz-Checksum-Mode", "ENABLED") }, nil)
	if err != nil {
		return err
	}
	resp.Body.Close()
	if resp.ContentLength != sums.Size {
		return fmt.Errorf("%w: it has %d bytes, not %d", ErrDiffers, resp.ContentLength, sums.Size)
	}
	sha, tag := sums.tags()
	if strings.EqualFold(strings.Trim(resp.Header.Get("ETag"), `"`), tag) {
		return nil
	}
	// Where files are encrypted, ETags are not checksums. Other stores may return a header that they do not know as it was sent.
	encrypted := strings.HasPrefix(resp.Header.Get("X-Amz-Server-Side-Encryption"), "aws:") || resp.Header.Get("X-Amz-Server-Side-Encryption-Customer-Algorithm") != ""
	if encrypted && resp.Header.Get("X-Amz-Checksum-Sha256") == sha {
		return nil
	}
	var last error
	for range tries {
		resp, err := s.do(ctx, http.MethodGet, bucket, key, nil, nil, nil)
		if err != nil {
			return err
		}
		last = sums.same(resp.Body)
		resp.Body.Close()
		if last == nil || errors.Is(last, ErrDiffers) || ctx.Err() != nil {
			return last
		}
	}
	return last
}

// tags returns the checksum and the ETag that a store has for a file that was uploaded as here.
func (s *Sums) tags() (sha, tag string) {
	if len(s.parts) == 1 {
		return base64.StdEncoding.EncodeToString(s.parts[0].sha[:]), hex.EncodeToString(s.parts[0].md5[:])
	}
	shas, mds := sha256.New(), md5.New()
	for _, p := range s.parts {
		shas.Write(p.sha[:])
		mds.Write(p.md5[:])
	}
	return fmt.Sprintf("%s-%d", base64.StdEncoding.EncodeToString(shas.Sum(nil)), len(s.parts)), fmt.Sprintf("%x-%d", mds.Sum(nil), len(s.parts))
}

func (s *s3) entries(ctx context.Context, dir string) ([]Entry, error) {
	list, err := s.list(ctx, dir+"/")
	if err != nil {
		return nil, err
	}
	entries := make([]Entry, len(list))
	for i, e := range list {
		entries[i] = Entry{e.name, max(e.size, 0), e.time, e.version, e.dir}
	}
	slices.SortFunc(entries, func(a, b Entry) int { return strings.Compare(a.Name, b.Name) })
	return entries, nil
}

func (s *s3) remove(ctx context.Context, address string) error {
	bucket, key, err := s.parse(address)
	if err != nil {
		return err
	}
	_, _, _, err = s.send(ctx, http.MethodDelete, bucket, key, nil, nil, nil)
	return err
}
