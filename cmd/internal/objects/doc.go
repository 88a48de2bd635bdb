// Package objects reads archives from object storage and web servers: s3://BUCKET/DIR/ARCHIVE, https:// and
// http:// addresses. It also writes to object storage and to directories that several machines share.
//
//	objects.Register(os.Getenv)
//	a, err := archive.Open("s3://archives/www/20261124")
//
//	d, err := objects.OpenDir("s3://archives/www", os.Getenv)
//	sums, err := d.Upload(ctx, "20261124.0.zst", file)
//
// A file is read in blocks, as far as it is needed, several at once if it is read in order. Blocks are kept on disk,
// with a bound on their total size, under the version of the file, so that a file that was replaced is read again.
//
// S3 requests are signed with signature version 4. Endpoint, region and credentials come from the variables and the
// file that Amazon's tools use: AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL, AWS_REGION, AWS_DEFAULT_REGION,
// AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN, AWS_PROFILE and AWS_SHARED_CREDENTIALS_FILE. Without
// credentials, requests are anonymous.
//
// A directory of a web server is read from its listing, as HTML with links.
package objects
