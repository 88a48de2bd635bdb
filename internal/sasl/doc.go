// Package sasl implements both sides of the SASL mechanisms with which a client of
// a collector authenticates its user: PLAIN, LOGIN and SCRAM with SHA-1, SHA-256
// and SHA-512. It handles bytes only; callers send and receive them.
//
//	c, err := sasl.NewClient("SCRAM-SHA-256 PLAIN", "", "tux", "secret")
//	first := c.Start()                 // name of the mechanism, and its initial response
//	answer, done, err := c.Step(challenge)
//
//	s, err := sasl.NewServer(offered, accounts, first)
//	challenge, done, err := s.Step(answer)
//
// PCP carries each message as the value of an attribute PDU with key 0. The
// server begins with the names of its mechanisms, spaces between. The client
// answers with one of them, a NUL, and the mechanism's initial response if it
// has one. Challenges and responses follow. Data that a server sends on success
// is a separate challenge, which the client answers with an empty response; a
// mechanism that ends with a response of the client gets no answer, so that a
// client learns of a refusal with its first request.
//
// Statuses are those of the C library, moved down as PCP does. A refusal does not
// reveal whether the name or the password was wrong.
package sasl
