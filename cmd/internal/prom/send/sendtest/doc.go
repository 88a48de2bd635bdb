// Package sendtest has archives whose samples are known, and real databases, for tests of senders.
package sendtest
