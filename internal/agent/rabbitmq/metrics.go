package rabbitmq

import (
	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/agent/service"
)

// metrics returns the table. Keys are paths in the object of a queue.
func metrics(queues *service.InDom) []service.Metric {
	const discrete, instant, counter = pcp.SemDiscrete, pcp.SemInstant, pcp.SemCounter
	count, bytes := pcp.Units{DimCount: 1}, pcp.Units{DimSpace: 1}
	return []service.Metric{
		{Name: "rabbitmq.queue.autodelete", Item: 0, Type: pcp.TypeString, InDom: queues, Sem: discrete, Key: "auto_delete", Help: "Whether the queue is deleted with its last consumer"},
		{Name: "rabbitmq.queue.backing_queue_status.avg_ack_egress_rate", Item: 1, Type: pcp.TypeFloat, InDom: queues, Sem: instant, Key: "backing_queue_status.avg_ack_egress_rate", Help: "Rate at which unacknowledged messages leave memory"},
		{Name: "rabbitmq.queue.backing_queue_status.avg_ack_ingress_rate", Item: 2, Type: pcp.TypeFloat, InDom: queues, Sem: instant, Key: "backing_queue_status.avg_ack_ingress_rate", Help: "Rate at which unacknowledged messages enter memory"},
		{Name: "rabbitmq.queue.backing_queue_status.avg_egress_rate", Item: 3, Type: pcp.TypeFloat, InDom: queues, Sem: instant, Key: "backing_queue_status.avg_egress_rate", Help: "Rate at which messages leave the queue"},
		{Name: "rabbitmq.queue.backing_queue_status.avg_ingress_rate", Item: 4, Type: pcp.TypeFloat, InDom: queues, Sem: instant, Key: "backing_queue_status.avg_ingress_rate", Help: "Rate at which messages enter the queue"},
		{Name: "rabbitmq.queue.backing_queue_status.delta", Item: 5, Type: pcp.TypeString, InDom: queues, Sem: instant, Key: "backing_queue_status.delta", Help: "State of the messages on disk only"},
		{Name: "rabbitmq.queue.backing_queue_status.len", Item: 6, Type: pcp.TypeU64, InDom: queues, Sem: instant, Units: count, Key: "backing_queue_status.len", Help: "Messages in the backing queue"},
		{Name: "rabbitmq.queue.backing_queue_status.mode", Item: 7, Type: pcp.TypeString, InDom: queues, Sem: instant, Key: "backing_queue_status.mode", Help: "Mode of the backing queue"},
		{Name: "rabbitmq.queue.backing_queue_status.next_seq_id", Item: 8, Type: pcp.TypeU64, InDom: queues, Sem: instant, Key: "backing_queue_status.next_seq_id", Help: "Next number in the backing queue"},
		{Name: "rabbitmq.queue.backing_queue_status.q1", Item: 9, Type: pcp.TypeU64, InDom: queues, Sem: instant, Units: count, Key: "backing_queue_status.q1", Help: "Messages in part 1 of the backing queue"},
		{Name: "rabbitmq.queue.backing_queue_status.q2", Item: 10, Type: pcp.TypeU64, InDom: queues, Sem: instant, Units: count, Key: "backing_queue_status.q2", Help: "Messages in part 2 of the backing queue"},
		{Name: "rabbitmq.queue.backing_queue_status.q3", Item: 11, Type: pcp.TypeU64, InDom: queues, Sem: instant, Units: count, Key: "backing_queue_status.q3", Help: "Messages in part 3 of the backing queue"},
		{Name: "rabbitmq.queue.backing_queue_status.q4", Item: 12, Type: pcp.TypeU64, InDom: queues, Sem: instant, Units: count, Key: "backing_queue_status.q4", Help: "Messages in part 4 of the backing queue"},
		{Name: "rabbitmq.queue.backing_queue_status.target_ram_count", Item: 13, Type: pcp.TypeString, InDom: queues, Sem: instant, Key: "backing_queue_status.target_ram_count", Help: "Messages that are to be kept in memory"},
		{Name: "rabbitmq.queue.consumer_utilization", Item: 14, Type: pcp.TypeString, InDom: queues, Sem: instant, Key: "consumer_utilisation", Help: "Share of time in which consumers can take messages at once, from 0 to 1"},
		{Name: "rabbitmq.queue.consumers", Item: 15, Type: pcp.TypeU64, InDom: queues, Sem: instant, Units: count, Key: "consumers", Help: "Consumers"},
		{Name: "rabbitmq.queue.durable", Item: 16, Type: pcp.TypeString, InDom: queues, Sem: instant, Key: "durable", Help: "Whether the queue survives a restart"},
		{Name: "rabbitmq.queue.effective_policy_definition", Item: 17, Type: pcp.TypeString, InDom: queues, Sem: instant, Key: "effective_policy_definition", Help: "Policy in effect"},
		{Name: "rabbitmq.queue.exclusive", Item: 18, Type: pcp.TypeString, InDom: queues, Sem: instant, Key: "exclusive", Help: "Whether only one connection uses the queue"},
		{Name: "rabbitmq.queue.exclusive_consumer_tag", Item: 19, Type: pcp.TypeString, InDom: queues, Sem: instant, Key: "exclusive_consumer_tag", Help: "Tag of the exclusive consumer"},
		{Name: "rabbitmq.queue.garbage_collection.fullsweep_after", Item: 20, Type: pcp.TypeU64, InDom: queues, Sem: counter, Key: "garbage_collection.fullsweep_after", Help: "Minor collections until one of all memory"},
		{Name: "rabbitmq.queue.garbage_collection.max_heap_size", Item: 21, Type: pcp.TypeU64, InDom: queues, Sem: counter, Units: bytes, Key: "garbage_collection.max_heap_size", Help: "Largest heap of the process of the queue"},
		{Name: "rabbitmq.queue.garbage_collection.min_bin_vheap_size", Item: 22, Type: pcp.TypeU64, InDom: queues, Sem: counter, Units: bytes, Key: "garbage_collection.min_bin_vheap_size", Help: "Least size of the heap for binaries"},
		{Name: "rabbitmq.queue.garbage_collection.min_heap_size", Item: 23, Type: pcp.TypeU64, InDom: queues, Sem: counter, Units: bytes, Key: "garbage_collection.min_heap_size", Help: "Least size of the heap"},
		{Name: "rabbitmq.queue.garbage_collection.minor_gcs", Item: 24, Type: pcp.TypeU64, InDom: queues, Sem: counter, Key: "garbage_collection.minor_gcs", Help: "Minor collections of garbage"},
		{Name: "rabbitmq.queue.head_message_timestamp", Item: 25, Type: pcp.TypeString, InDom: queues, Sem: instant, Key: "head_message_timestamp", Help: "Time stamp of the first message"},
		{Name: "rabbitmq.queue.idle_since", Item: 26, Type: pcp.TypeString, InDom: queues, Sem: instant, Key: "idle_since", Help: "Time since when the queue is idle"},
		{Name: "rabbitmq.queue.memory", Item: 27, Type: pcp.TypeU64, InDom: queues, Sem: instant, Units: bytes, Key: "memory", Help: "Memory of the process of the queue"},
		{Name: "rabbitmq.queue.message_bytes", Item: 28, Type: pcp.TypeU64, InDom: queues, Sem: instant, Units: bytes, Key: "message_bytes", Help: "Bytes of the bodies of all messages"},
		{Name: "rabbitmq.queue.message_bytes_paged_out", Item: 29, Type: pcp.TypeU64, InDom: queues, Sem: instant, Units: bytes, Key: "message_bytes_paged_out", Help: "Bytes of the bodies of messages that are on disk only"},
		{Name: "rabbitmq.queue.message_bytes_persistent", Item: 30, Type: pcp.TypeU64, InDom: queues, Sem: instant, Units: bytes, Key: "message_bytes_persistent", Help: "Bytes of the bodies of persistent messages"},
		{Name: "rabbitmq.queue.message_bytes_ram", Item: 31, Type: pcp.TypeU64, InDom: queues, Sem: instant, Units: bytes, Key: "message_bytes_ram", Help: "Bytes of the bodies of messages in memory"},
		{Name: "rabbitmq.queue.message_bytes_ready", Item: 32, Type: pcp.TypeU64, InDom: queues, Sem: instant, Units: bytes, Key: "message_bytes_ready", Help: "Bytes of the bodies of messages that are ready"},
		{Name: "rabbitmq.queue.message_bytes_unacknowledged", Item: 33, Type: pcp.TypeU64, InDom: queues, Sem: instant, Units: bytes, Key: "message_bytes_unacknowledged", Help: "Bytes of the bodies of unacknowledged messages"},
		{Name: "rabbitmq.queue.messages", Item: 34, Type: pcp.TypeU64, InDom: queues, Sem: instant, Units: count, Key: "messages", Help: "Messages, ready and unacknowledged"},
		{Name: "rabbitmq.queue.messages_unacknowledged_details.rate", Item: 35, Type: pcp.TypeFloat, InDom: queues, Sem: instant, Key: "messages_unacknowledged_details.rate", Help: "Change of the unacknowledged messages a second"},
		{Name: "rabbitmq.queue.messages_unacknowledged_ram", Item: 36, Type: pcp.TypeU64, InDom: queues, Sem: instant, Units: count, Key: "messages_unacknowledged_ram", Help: "Unacknowledged messages in memory"},
		{Name: "rabbitmq.queue.name", Item: 37, Type: pcp.TypeString, InDom: queues, Sem: discrete, Key: "name", Help: "Name of the queue"},
		{Name: "rabbitmq.queue.node", Item: 38, Type: pcp.TypeString, InDom: queues, Sem: discrete, Key: "node", Help: "Node of the queue"},
		{Name: "rabbitmq.queue.operator_policy", Item: 39, Type: pcp.TypeString, InDom: queues, Sem: discrete, Key: "operator_policy", Help: "Policy of the operator"},
		{Name: "rabbitmq.queue.policy", Item: 40, Type: pcp.TypeString, InDom: queues, Sem: discrete, Key: "policy", Help: "Policy"},
		{Name: "rabbitmq.queue.recoverable_slaves", Item: 41, Type: pcp.TypeString, InDom: queues, Sem: discrete, Key: "recoverable_slaves", Help: "Mirrors that can take over"},
		{Name: "rabbitmq.queue.reductions", Item: 42, Type: pcp.TypeU64, InDom: queues, Sem: instant, Key: "reductions", Help: "Work of the process of the queue, in reductions"},
		{Name: "rabbitmq.queue.reductions_details.rate", Item: 43, Type: pcp.TypeFloat, InDom: queues, Sem: instant, Key: "reductions_details.rate", Help: "Work of the process of the queue a second, in reductions"},
		{Name: "rabbitmq.queue.single_active_consumer_tag", Item: 44, Type: pcp.TypeString, InDom: queues, Sem: instant, Key: "single_active_consumer_tag", Help: "Tag of the single active consumer"},
		{Name: "rabbitmq.queue.state", Item: 45, Type: pcp.TypeString, InDom: queues, Sem: discrete, Key: "state", Help: "State of the queue"},
		{Name: "rabbitmq.queue.type", Item: 46, Type: pcp.TypeString, InDom: queues, Sem: discrete, Key: "type", Help: "Type of the queue"},
		{Name: "rabbitmq.queue.vhost", Item: 47, Type: pcp.TypeString, InDom: queues, Sem: discrete, Key: "vhost", Help: "Virtual host of the queue"},
		{Name: "rabbitmq.queue.messages_details.rate", Item: 48, Type: pcp.TypeFloat, InDom: queues, Sem: instant, Key: "messages_details.rate", Help: "Change of the messages a second"},
		{Name: "rabbitmq.queue.messages_paged_out", Item: 49, Type: pcp.TypeU64, InDom: queues, Sem: instant, Units: count, Key: "messages_paged_out", Help: "Messages that are on disk only"},
		{Name: "rabbitmq.queue.messages_persistent", Item: 50, Type: pcp.TypeU64, InDom: queues, Sem: instant, Key: "messages_persistent", Help: "Persistent messages"},
		{Name: "rabbitmq.queue.messages_ram", Item: 51, Type: pcp.TypeU64, InDom: queues, Sem: instant, Units: bytes, Key: "messages_ram", Help: "Messages in memory"},
		{Name: "rabbitmq.queue.messages_ready", Item: 52, Type: pcp.TypeU64, InDom: queues, Sem: instant, Units: count, Key: "messages_ready", Help: "Messages that are ready"},
		{Name: "rabbitmq.queue.messages_ready_details.rate", Item: 53, Type: pcp.TypeFloat, InDom: queues, Sem: instant, Key: "messages_ready_details.rate", Help: "Change of the ready messages a second"},
		{Name: "rabbitmq.queue.messages_ready_ram", Item: 54, Type: pcp.TypeU64, InDom: queues, Sem: instant, Units: count, Key: "messages_ready_ram", Help: "Ready messages in memory"},
		{Name: "rabbitmq.queue.messages_unacknowledged", Item: 55, Type: pcp.TypeU64, InDom: queues, Sem: instant, Units: count, Key: "messages_unacknowledged", Help: "Unacknowledged messages"},
		{Name: "rabbitmq.queue.arguments", Item: 56, Type: pcp.TypeString, InDom: queues, Sem: discrete, Key: "arguments", Help: "Arguments with which the queue was declared"},
	}
}
