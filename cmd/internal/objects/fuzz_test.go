package objects

import (
	"bytes"
	"net/url"
	"slices"
	"strings"
	"testing"
)

// FuzzListing reads listings of S3 and of web servers. Names are never those of other directories.
func FuzzListing(f *testing.F) {
	for _, text := range []string{
		`<ListBucketResult><Contents><Key>p/a.0</Key><Size>5</Size></Contents><CommonPrefixes><Prefix>p/d/</Prefix></CommonPrefixes></ListBucketResult>`,
		`<ListBucketResult><EncodingType>url</EncodingType><Contents><Key>p/%2e%2e</Key></Contents><IsTruncated>true</IsTruncated><NextContinuationToken>x</NextContinuationToken></ListBucketResult>`,
		`<a href="a.0">a.0</a><a href='d/'><A HREF=../x><a href="/dir/%2e%2e/b"><a href="?C=N">`,
		`<pre><a class="f" href="x%20y&amp;z.meta">`,
	} {
		f.Add([]byte(text))
	}
	base := &url.URL{Scheme: "http", Host: "h", Path: "/dir/"}
	f.Fuzz(func(t *testing.T, b []byte) {
		list, _, _ := readPage(bytes.NewReader(b), "p/")
		for _, i := range append(list, links(b, base)...) {
			if i.name == "" || i.name == "." || i.name == ".." || strings.Contains(i.name, "/") {
				t.Errorf("the listing has %q", i.name)
			}
		}
	})
}

// FuzzUploads reads answers to requests about uploads. Identifiers are never empty.
func FuzzUploads(f *testing.F) {
	for _, text := range []string{
		`<InitiateMultipartUploadResult><Bucket>b</Bucket><Key>k</Key><UploadId>1</UploadId></InitiateMultipartUploadResult>`,
		`<ListMultipartUploadsResult><Upload><Key>k</Key><UploadId>1</UploadId></Upload><Upload><Key>kk</Key><UploadId>2</UploadId></Upload></ListMultipartUploadsResult>`,
		`<ListMultipartUploadsResult><Upload><Key>k</Key></Upload></ListMultipartUploadsResult>`,
		`<Error><Code>InternalError</Code><Message>again</Message></Error>`,
		`<CompleteMultipartUploadResult><ETag>x</ETag></CompleteMultipartUploadResult>`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if id, err := startedUpload(b); err == nil && id == "" {
			t.Error("an upload without an identifier")
		}
		if ids, _ := uploadsOf(b, "k"); slices.Contains(ids, "") {
			t.Error("a listed upload without an identifier")
		}
		if text := s3Message(b); len(text) > 1<<12 {
			t.Errorf("a message of %d bytes", len(text))
		}
	})
}
