// Package rabbitmq is the agent for RabbitMQ: the queues that its management plugin reports.
//
//	a, err := rabbitmq.New(rabbitmq.Config{User: "monitor", Password: "secret"})
//
// Each queue is an instance. Queues of the same name in two virtual hosts are one instance, as for pmdarabbitmq(1), whose names and numbers the metrics
// have. Without a user it is guest, whom RabbitMQ accepts from its own machine.
package rabbitmq
