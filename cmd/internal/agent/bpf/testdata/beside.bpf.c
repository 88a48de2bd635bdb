// The questions of runqlat and biolatency as a program for a C compiler: TestCostBesideC compares its cost with that of the agent's programs.
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;

#define SECTION(name) __attribute__((section(name), used))
#define FIELDS __attribute__((preserve_access_index))
#define NUMBER(name, value) int(*name)[value]
#define TYPE(name, type) type *name
#define MAP SECTION(".maps")

enum { BPF_HASH = 1, BPF_LRU_HASH = 9 };

static void *(*const lookup)(void *map, const void *key) = (void *)1;
static long (*const update)(void *map, const void *key, const void *value, u64 flags) = (void *)2;
static long (*const remove)(void *map, const void *key) = (void *)3;
static u64 (*const now)(void) = (void *)5;

struct kernfs_node { u64 id; } FIELDS;
struct cgroup { struct kernfs_node *kn; } FIELDS;
struct cgroup_subsys_state { struct cgroup *cgroup; } FIELDS;
struct css_set { struct cgroup *dfl_cgrp; } FIELDS;
struct task_struct { int pid; unsigned int __state; struct css_set *cgroups; } FIELDS;
struct blkcg { struct cgroup_subsys_state css; } FIELDS;
struct blkcg_gq { struct blkcg *blkcg; } FIELDS;
struct bio { struct blkcg_gq *bi_blkg; } FIELDS;
struct gendisk { int major, first_minor; } FIELDS;
struct request_queue { struct gendisk *disk; } FIELDS;
struct request { struct request_queue *q; unsigned int cmd_flags; struct bio *bio; } FIELDS;

struct histogram { u64 slots[64]; };

struct { NUMBER(type, BPF_HASH); NUMBER(max_entries, 16384); TYPE(key, u32); TYPE(value, u64); } woken MAP;
struct { NUMBER(type, BPF_LRU_HASH); NUMBER(max_entries, 1024); TYPE(key, u64); TYPE(value, struct histogram); } waits MAP;
struct { NUMBER(type, BPF_HASH); NUMBER(max_entries, 10240); TYPE(key, u64); TYPE(value, u64); } issued MAP;
struct by_device { u32 dev; u16 op, size; };
struct { NUMBER(type, BPF_LRU_HASH); NUMBER(max_entries, 1024); TYPE(key, struct by_device); TYPE(value, struct histogram); } devices MAP;
struct by_group { u64 group; u64 op; };
struct { NUMBER(type, BPF_LRU_HASH); NUMBER(max_entries, 1024); TYPE(key, struct by_group); TYPE(value, struct histogram); } groups MAP;

static const struct histogram none;

static inline __attribute__((always_inline)) u32 log2(u64 v)
{
	u32 n = 0, step;

	step = (v > 0xffffffff) << 5; v >>= step; n |= step;
	step = (v > 0xffff) << 4; v >>= step; n |= step;
	step = (v > 0xff) << 3; v >>= step; n |= step;
	step = (v > 0xf) << 2; v >>= step; n |= step;
	step = (v > 0x3) << 1; v >>= step; n |= step;
	return n | v >> 1;
}

static inline __attribute__((always_inline)) void count(void *map, const void *key, u64 v)
{
	struct histogram *h = lookup(map, key);

	if (!h) {
		update(map, key, &none, 1);
		h = lookup(map, key);
		if (!h)
			return;
	}
	__sync_fetch_and_add(&h->slots[log2(v) & 63], 1);
}

static inline __attribute__((always_inline)) int wakes(struct task_struct *task)
{
	u32 pid = task->pid;
	u64 at;

	if (!pid)
		return 0;
	at = now();
	update(&woken, &pid, &at, 0);
	return 0;
}

SECTION("tp_btf/sched_wakeup") int wakeup(u64 *ctx) { return wakes((void *)ctx[0]); }

SECTION("tp_btf/sched_wakeup_new") int wakeup_new(u64 *ctx) { return wakes((void *)ctx[0]); }

SECTION("tp_btf/sched_switch") int task_switch(u64 *ctx)
{
	struct task_struct *from = (void *)ctx[1], *to = (void *)ctx[2];
	u32 pid = to->pid;
	u64 group, *at, end;

	if (ctx[0] || !from->__state)
		wakes(from);
	at = lookup(&woken, &pid);
	if (!at)
		return 0;
	end = now();
	if (end >= *at) {
		group = to->cgroups->dfl_cgrp->kn->id;
		count(&waits, &group, end - *at);
	}
	remove(&woken, &pid);
	return 0;
}

SECTION("tp_btf/block_rq_issue") int rq_issue(u64 *ctx)
{
	u64 rq = ctx[0], at = now();

	update(&issued, &rq, &at, 0);
	return 0;
}

SECTION("tp_btf/block_rq_complete") int rq_complete(u64 *ctx)
{
	struct request *rq = (void *)ctx[0];
	u64 number = ctx[0], *at = lookup(&issued, &number), end, took;
	struct by_device device = {};
	struct by_group group = {};
	struct bio *bio;

	if (!at)
		return 0;
	end = now();
	if (end >= *at) {
		took = (end - *at) / 1000;
		device.dev = rq->q->disk->major << 20 | rq->q->disk->first_minor;
		device.op = rq->cmd_flags & 0xff;
		device.size = log2((u32)ctx[2]);
		count(&devices, &device, took);
		bio = rq->bio;
		if (bio) {
			group.op = device.op;
			group.group = bio->bi_blkg->blkcg->css.cgroup->kn->id;
			count(&groups, &group, took);
		}
	}
	remove(&issued, &number);
	return 0;
}

char beside_license[] SECTION("license") = "GPL";
