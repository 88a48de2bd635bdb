// Package rendezvous decides which member of a group is responsible for a host.
// All programs that know the same members and host agree without messages, and
// a member that joins or leaves moves only the hosts that are or were its own.
//
//	members := []string{"http://a:44322", "http://b:44322"}
//	first := members[rendezvous.Owner("www.example.com", members)]
//
// It is rendezvous (highest random weight) hashing: each pair of a member and a
// host has a score, and the member with the highest score is the owner. The
// scores are part of the agreement between versions; do not change them.
package rendezvous
