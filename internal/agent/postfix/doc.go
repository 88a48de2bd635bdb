// Package postfix is the agent for the mail server Postfix: the recipients of the messages in its queues, by age, and the messages that its log
// reports as sent and received.
//
// Queues are read as qshape(1) does. Counting of the log begins with the agent. Names, PMIDs, types and units are those of pmdapostfix(1).
package postfix
