// Package console asks the user at the terminal, for passwords and the like.
package console
