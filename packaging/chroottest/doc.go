// Package chroottest tests the packages of a release in root directories of their own: installed, upgraded, removed and
// purged, and in place of Debian's pcp and back. The short form takes Debian's pcp over, goes back, and boots once.
//
//	make chroot
//	go test ./packaging/chroottest
//	PCP_TEST_LONG=1 go test ./packaging/chroottest
//	PCP_PACKAGES=$PWD/dist PCP_TEST_LONG=1 go test ./packaging/chroottest # the packages of make release OUT=dist
package chroottest
